#include "segre/core/tuning.h"

#include <malloc.h>

#include "segre/core/torch.h"

namespace segre {

void tune_process() {
  constexpr int kKeepBelow = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kKeepBelow);
  mallopt(M_TRIM_THRESHOLD, kKeepBelow);
  at::globalContext().setFlushDenormal(true);
  at::globalContext().setAllowTF32CuDNN(false);  // float32 is float32 in convolutions too; bfloat16 is asked for
}

}  // namespace segre
