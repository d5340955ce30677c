#include "segre/core/tuning.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif
#include <fenv.h>
#include <malloc.h>

#include <cstdlib>
#include <mutex>

#include "segre/core/one_thread.h"
#include "segre/core/parallel.h"
#include "segre/core/torch.h"

namespace segre {
namespace {

#ifdef SEGRE_CUDA
std::mutex g_mutex;
int g_tuned = 0;             // how many TunedThreads live
bool g_tf32_before = false;  // what the process had before the first

void enter_tf32() {
  const std::lock_guard lock(g_mutex);
  if (g_tuned++ > 0) return;
  g_tf32_before = at::globalContext().allowTF32CuDNN();
  at::globalContext().setAllowTF32CuDNN(false);
}

void leave_tf32() {
  const std::lock_guard lock(g_mutex);
  if (--g_tuned == 0) at::globalContext().setAllowTF32CuDNN(g_tf32_before);
}
#else
void enter_tf32() {}
void leave_tf32() {}
#endif

}  // namespace

void keep_freed_memory() {
  constexpr int kKeepBelow = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kKeepBelow);
  mallopt(M_TRIM_THRESHOLD, kKeepBelow);
}

bool hides_tiles() {
#ifdef __x86_64__
  constexpr unsigned kTiles = 1U << 24;  // of leaf 7, register EDX: AMX-TILE
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kTiles) == 0) return false;
  return __get_cpuid_count(0x1D, 0, &a, &b, &c, &d) == 0 || a == 0;  // EAX: the number of ways to use them
#else
  return false;
#endif
}

void avoid_hidden_tiles() {
  if (hides_tiles()) ::setenv("ONEDNN_MAX_CPU_ISA", "AVX10_1_512", /*overwrite=*/0);
}

void tune_process() {
  keep_freed_memory();
  avoid_hidden_tiles();
  at::globalContext().setFlushDenormal(true);
  set_threads(at::get_num_threads());
  at::set_num_threads(1);
  at::globalContext().setAllowTF32CuDNN(false);  // float32 means float32 in convolutions too; reduced precision is
                                                 // opt-in
}

struct TunedThread::Before {
  OneThread one_thread{};
  fenv_t floating_point{};
};

TunedThread::TunedThread() {
  // Before at::get_num_threads() returns 1: later it would be taken for the number of the machine.
  n_threads();
  before_ = std::make_unique<Before>();
  fegetenv(&before_->floating_point);
  at::globalContext().setFlushDenormal(true);
  enter_tf32();
}

TunedThread::~TunedThread() {
  fesetenv(&before_->floating_point);
  leave_tf32();
}

}  // namespace segre
