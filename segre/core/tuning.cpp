#include "segre/core/tuning.h"

#include <malloc.h>

#include "segre/core/parallel.h"
#include "segre/core/torch.h"

namespace segre {

void tune_process() {
  constexpr int kKeepBelow = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kKeepBelow);
  mallopt(M_TRIM_THRESHOLD, kKeepBelow);
  at::globalContext().setFlushDenormal(true);
  set_threads(at::get_num_threads());
  at::set_num_threads(1);
  at::globalContext().setAllowTF32CuDNN(false);  // float32 means float32 in convolutions too; reduced precision is
                                                 // opt-in
}

}  // namespace segre
