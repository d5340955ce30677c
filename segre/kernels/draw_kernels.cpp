#include "segre/kernels/draw_kernels.h"

#include "segre/core/error.h"
#include "segre/kernels/draw_kernels_parts.h"
#include "segre/kernels/launch_parts.h"

namespace segre::kernels {
namespace {

void require(bool fits, const char* what, const torch::Tensor& found) {
  if (fits) return;
  if (!found.defined()) fail("a draw for training: expected ", what, ", found none");
  fail("a draw for training: expected ", what, ", found ", found.sizes(), " of ", found.dtype(), " on ",
       found.device());
}

bool is_like(const torch::Tensor& x, torch::ScalarType type, at::IntArrayRef sizes, torch::Device device) {
  return x.defined() && x.scalar_type() == type && x.sizes() == sizes && x.device() == device && x.is_contiguous();
}

void check_times(const TimeBins& law, const torch::Tensor& u) {
  require(draws_serve(u) && u.dim() == 1 && u.is_contiguous(), "quantiles [B] in float32 on CUDA", u);
  for (const auto& bins : {law.sum, law.mass})
    require(is_like(bins, torch::kFloat64, {detail::kTimeBins}, u.device()), "64 bins in float64 on CUDA", bins);
}

void check_evidence(const EvidencePlan& plan, const torch::Tensor& labels, const torch::Tensor& t,
                    const torch::Tensor& numbers, const torch::Tensor& first_cell) {
  require(evidence_serves(plan, t) && t.dim() == 1 && t.is_contiguous(), "times [B] in float32 on CUDA", t);
  require(is_like(labels, torch::kInt64, {t.size(0), plan.variables}, t.device()),
          "labels [B, n] in int64 on CUDA", labels);
  if (!plan.tells) return;
  require(is_like(numbers, torch::kFloat32, {t.size(0), detail::kItemNumbers}, t.device()),
          "an item's numbers [B, 11] in float32 on CUDA", numbers);
  require(is_like(first_cell, torch::kInt64, {1}, t.device()), "the first cell [1] in int64 on CUDA", first_cell);
}

#ifdef SEGRE_CUDA
detail::EvidenceAt pointers_of(const EvidencePlan& plan, const torch::Tensor& labels, const torch::Tensor& t,
                               const torch::Tensor& numbers, const torch::Tensor& first_cell,
                               const DrawnEvidence& out) {
  return {.labels = labels.data_ptr<int64_t>(),
          .t = t.data_ptr<float>(),
          .numbers = plan.tells ? numbers.data_ptr<float>() : nullptr,
          .first_cell = plan.tells ? first_cell.data_ptr<int64_t>() : nullptr,
          .items = labels.size(0),
          .variables = labels.size(1),
          .known = static_cast<float>(plan.known),
          .own_times = static_cast<float>(plan.own_times),
          .erased = static_cast<float>(plan.erased),
          .has_own_times = plan.has_own_times,
          .has_boxes = plan.grid.has_boxes,
          .is_image = plan.grid.is_image,
          .first = plan.grid.first,
          .height = plan.grid.height,
          .width = plan.grid.width,
          .seed = plan.seed,
          .known_stream = RandomStream(plan.seed, Purpose::known_cells).stream,
          .own_stream = RandomStream(plan.seed, Purpose::own_times).stream,
          .unknown = kUnknown,
          .left_out = plan.left_out,
          .marks = out.marks.data_ptr<int64_t>(),
          .times = plan.tells ? out.t.data_ptr<float>() : nullptr,
          .plain = plan.tells ? out.plain.data_ptr<bool>() : nullptr};
}
#endif

}  // namespace

bool draws_serve([[maybe_unused]] const torch::Tensor& x) {
#ifdef SEGRE_CUDA
  return x.defined() && x.is_cuda() && x.scalar_type() == torch::kFloat32;
#else
  return false;
#endif
}

DrawnTimes draw_times(const TimeBins& law, const torch::Tensor& u) {
  check_times(law, u);
  DrawnTimes out{torch::empty_like(u), torch::empty_like(u)};
#ifdef SEGRE_CUDA
  detail::draw_times_cuda(
      {law.sum.data_ptr<double>(), law.mass.data_ptr<double>(), law.t_max, law.uniform_share, law.least, law.reweight},
      u.data_ptr<float>(), out.t.data_ptr<float>(), out.weight.data_ptr<float>(), u.size(0), stream_of(u));
#endif
  return out;
}

bool evidence_serves(const EvidencePlan& plan, const torch::Tensor& t) {
  constexpr int64_t kExact = 1 << 24;  // whole numbers below it are exact in float32
  return draws_serve(t) && !plan.grid.has_wide_columns &&
         (!plan.grid.has_boxes || plan.grid.height * plan.grid.width < kExact);
}

DrawnEvidence draw_evidence(const EvidencePlan& plan, const torch::Tensor& labels, const torch::Tensor& t,
                            const torch::Tensor& numbers, const torch::Tensor& first_cell) {
  check_evidence(plan, labels, t, numbers, first_cell);
  DrawnEvidence out{torch::empty_like(labels), t, {}};
  if (plan.tells) {
    out.t = plan.has_own_times ? torch::empty(labels.sizes(), t.options()) : torch::empty_like(t);
    out.plain = torch::empty(t.sizes(), t.options().dtype(torch::kBool));
  }
#ifdef SEGRE_CUDA
  detail::draw_evidence_cuda(pointers_of(plan, labels, t, numbers, first_cell, out), stream_of(t));
#endif
  return out;
}

}  // namespace segre::kernels
