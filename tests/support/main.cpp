// Runs the tests.

#include <gtest/gtest.h>

#include <iostream>

#include "segre/core/log.h"
#include "segre/core/torch.h"
#include "segre/core/tuning.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  at::set_num_threads(1);  // CTest runs two at a time; tests about threads ask for more (support/threads.h)
  segre::avoid_hidden_tiles();
  segre::send_log_to(&std::cerr);
  return RUN_ALL_TESTS();
}
