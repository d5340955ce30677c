#pragma once  // internal

#include <c10/core/DeviceGuard.h>
#include <c10/core/Stream.h>

#include "segre/core/torch.h"

namespace segre {

/// Where a kernel of this library is launched. While it lives, `device` is this thread's current one, as LibTorch makes
/// it around its own kernels, and it converts to the current stream there:
///
///   fill_cuda(..., LaunchOn(x.device()));
///
/// The stream alone would not do: the default one of every GPU has the same null handle, which stands for that of the
/// current device.
class LaunchOn {
 public:
  explicit LaunchOn(torch::Device device)
      : guard_(device), stream_(c10::impl::getDeviceGuardImpl(device.type())->getStream(device).native_handle()) {}

  operator void*() const { return stream_; }  // NOLINT(google-explicit-constructor): an argument of a launcher

 private:
  c10::DeviceGuard guard_;
  void* stream_;
};

}  // namespace segre
