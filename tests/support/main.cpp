// Runs the tests. Those whose names end in _CUDA are skipped, and say so, where there is no GPU.

#include <gtest/gtest.h>

#include "segre/core/torch.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  at::set_num_threads(2);
  return RUN_ALL_TESTS();
}
