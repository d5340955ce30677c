#pragma once

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <atomic>
#include <map>
#include <vector>

#include "segre/core/torch.h"

namespace segre::test {

/// While alive, LibTorch sets these numbers wherever it would set CUDA's current device and streams, so that a machine
/// with one GPU, or none, can show what happens with several.
class StandInGpus final : public c10::impl::DeviceGuardImplInterface {
 public:
  StandInGpus() : before_(registered().exchange(this)) {}
  ~StandInGpus() override { registered() = before_; }
  StandInGpus(const StandInGpus&) = delete;
  StandInGpus& operator=(const StandInGpus&) = delete;

  int current() const { return current_; }
  /// Every device that was made the current one, in order.
  const std::vector<int>& changes() const { return changes_; }
  /// A stream other than the default one, whose handle is null as CUDA's is, becomes the current stream of a device.
  void use_stream(int device, int64_t id) { streams_[device] = id; }
  static void* handle(int64_t id) { return reinterpret_cast<void*>(id); }

  c10::DeviceType type() const override { return torch::kCUDA; }
  c10::Device getDevice() const override { return device(current_); }
  void setDevice(c10::Device to) const override { uncheckedSetDevice(to); }
  void uncheckedSetDevice(c10::Device to) const noexcept override {
    if (to.index() != current_) changes_.push_back(to.index());
    current_ = to.index();
  }
  c10::Device exchangeDevice(c10::Device to) const override {
    const auto before = getDevice();
    setDevice(to);
    return before;
  }
  c10::Stream getStream(c10::Device of) const override {
    return c10::Stream(c10::Stream::UNSAFE, of, streams_[of.index()]);
  }
  c10::Stream exchangeStream(c10::Stream to) const override {
    const auto before = getStream(to.device());
    streams_[to.device_index()] = to.id();
    return before;
  }
  void* getStreamNativeHandle(const c10::Stream stream) const override { return handle(stream.id()); }
  c10::DeviceIndex deviceCount() const noexcept override { return 4; }

 private:
  using Registered = std::atomic<const c10::impl::DeviceGuardImplInterface*>;
  static Registered& registered() { return c10::impl::device_guard_impl_registry[static_cast<size_t>(torch::kCUDA)]; }
  static c10::Device device(int index) { return {torch::kCUDA, static_cast<c10::DeviceIndex>(index)}; }

  const c10::impl::DeviceGuardImplInterface* before_;
  mutable int current_ = 0;
  mutable std::vector<int> changes_;
  mutable std::map<int, int64_t> streams_;
};

}  // namespace segre::test
