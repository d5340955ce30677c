#include "segre/core/error.h"
#include "segre/kernels/adam_kernel.h"

#ifdef SEGRE_CUDA
#include <c10/cuda/CUDAException.h>

#include "segre/kernels/adam_segments.h"
#include "segre/kernels/launch_parts.h"
#endif

namespace segre::kernels {

#ifdef SEGRE_CUDA
namespace {

void check(int error) { C10_CUDA_CHECK(static_cast<cudaError_t>(error)); }

SegmentPointers pointers_of(const AdamSegment& s) {
  const bool bf16 = s.gradient.scalar_type() == torch::kBFloat16;
  if (!bf16 && s.gradient.scalar_type() != torch::kFloat32) fail("Adam on CUDA needs float32 or bfloat16 gradients");
  return {s.weight.data_ptr<float>(),
          s.gradient.data_ptr(),
          s.m.data_ptr<float>(),
          s.v.data_ptr<float>(),
          s.average.data_ptr<float>(),
          s.shadow.defined() ? s.shadow.data_ptr() : nullptr,
          s.weight.numel(),
          bf16};
}

// Calls use(table) for each run of segments that fits into one launch.
template <class Use>
void for_each_table(const std::vector<AdamSegment>& segments, Use&& use) {
  for (size_t k = 0; k < segments.size();) {
    SegmentTable table{};
    for (; k < segments.size() && table.count < kSegments; ++k) {
      table.segment[table.count] = pointers_of(segments[k]);
      table.first_block[table.count++] = table.n_blocks;
      table.n_blocks += static_cast<int>((segments[k].weight.numel() + kElementsPerBlock - 1) / kElementsPerBlock);
    }
    use(table);
  }
}

}  // namespace

void adam_cuda_(const std::vector<AdamSegment>& segments, const torch::Tensor& numbers,
                const torch::Tensor& gradient_scale, const torch::Tensor& go) {
  for_each_table(segments, [&](const SegmentTable& table) {
    check(launch_adam(table, numbers.data_ptr<float>(), gradient_scale.data_ptr<float>(), go.data_ptr<float>(),
                      stream_of(numbers)));
  });
}

void squared_norm(const std::vector<AdamSegment>& segments, const torch::Tensor& total) {
  int n_blocks = 0;
  for_each_table(segments, [&](const SegmentTable& table) { n_blocks += table.n_blocks; });
  const auto partial = torch::empty({n_blocks}, total.options());
  float* at = partial.data_ptr<float>();
  for_each_table(segments, [&](const SegmentTable& table) {
    check(launch_squares(table, at, stream_of(partial)));
    at += table.n_blocks;
  });
  check(launch_total(partial.data_ptr<float>(), n_blocks, total.data_ptr<float>(), stream_of(partial)));
}

#else

void adam_cuda_(const std::vector<AdamSegment>& /*segments*/, const torch::Tensor& /*numbers*/,
                const torch::Tensor& /*gradient_scale*/, const torch::Tensor& /*go*/) {
  fail("this build of segre has no CUDA");
}

void squared_norm(const std::vector<AdamSegment>& /*segments*/, const torch::Tensor& /*total*/) {
  fail("this build of segre has no CUDA");
}

#endif

}  // namespace segre::kernels
