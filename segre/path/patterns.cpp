#include "segre/path/patterns.h"

#include "segre/kernels/draw_kernels_parts.h"

namespace segre {
namespace {

// The CUDA twin, kernels::draw_evidence, reads the same numbers.
using kernels::detail::kBordersShare;
using kernels::detail::kCellsShare;
using kernels::detail::kHalvesShare;
using kernels::detail::kWholeShare;
using kernels::detail::Number;
using enum kernels::detail::Number;
static_assert(KnownPatterns::kNumbers == kPatternNumbers);

torch::Tensor number(const torch::Tensor& shape, Number which) { return shape.select(1, which).unsqueeze(1); }

// Whether u is in [from, to).
torch::Tensor between(const torch::Tensor& u, double from, double to) { return (u >= from).logical_and(u < to); }

// An interval of [0, length) with random ends in whole numbers, never empty: {from, to}.
std::pair<torch::Tensor, torch::Tensor> interval(const torch::Tensor& a, const torch::Tensor& b, int64_t length) {
  const auto one = ((static_cast<double>(length) + 1.0) * a).floor();
  const auto other = (static_cast<double>(length) * b).floor();
  const auto second = torch::where(other >= one, other + 1.0, other);
  return {torch::minimum(one, second), torch::maximum(one, second)};
}

// The first variable of each variable's column: [n] int64. Undefined if all columns are single variables.
torch::Tensor heads_of(const Space& space) {
  if (!space.is(PartKind::columns)) return {};
  std::vector<int64_t> heads;
  for (const Column& column : space.columns()) heads.insert(heads.end(), column.n_variables, column.first);
  const auto found = torch::tensor(heads, torch::kInt64);
  return found.equal(torch::arange(space.n_variables(), torch::kInt64)) ? torch::Tensor() : found;
}

}  // namespace

PatternGrid pattern_grid(const Space& space) {
  for (const PartKind kind : {PartKind::image, PartKind::sequence})
    for (const Part& part : space.parts())
      if (part.kind == kind)
        return {.has_boxes = true,
                .is_image = kind == PartKind::image,
                .first = part.first,
                .height = kind == PartKind::image ? part.height() : 1,
                .width = part.shape.back()};
  return {.has_wide_columns = heads_of(space).defined(), .width = space.n_variables()};
}

KnownPatterns::KnownPatterns(const Space& space, torch::Device device) : grid_(pattern_grid(space)) {
  const auto place = torch::arange(grid_.height * grid_.width, torch::kFloat32);
  row_ = place.div(static_cast<double>(grid_.width), "floor").to(device);
  column_ = place.remainder(static_cast<double>(grid_.width)).to(device);
  if (grid_.has_wide_columns) head_ = heads_of(space).to(device);
}

// A rectangle, half or border per item; a sequence is an image of one row. [B, cells of the grid].
torch::Tensor KnownPatterns::boxes(const torch::Tensor& shape) const {
  auto [top, bottom] = interval(number(shape, kTop), number(shape, kBottom), grid_.height);
  auto [left, right] = interval(number(shape, kLeft), number(shape, kRight), grid_.width);
  if (grid_.is_image) {
    const auto H = torch::full_like(top, static_cast<double>(grid_.height));
    const auto W = torch::full_like(top, static_cast<double>(grid_.width));
    const auto zero = torch::zeros_like(top);
    // The kind's number, rescaled to [0, 1) among those that are not cells.
    const auto kind = (number(shape, kKind) - kCellsShare) / (1.0 - kCellsShare);
    const auto half = kind < kHalvesShare;
    const auto side = number(shape, kSide);
    const auto rows = half.logical_and(between(side, 0.0, 0.5));
    const auto columns = half.logical_and(side >= 0.5);
    top = torch::where(half, zero, top);
    bottom = torch::where(rows, (H * number(shape, kBottom)).floor() + 1.0, torch::where(columns, H, bottom));
    left = torch::where(half, zero, left);
    right = torch::where(columns, (W * number(shape, kRight)).floor() + 1.0, torch::where(rows, W, right));
    const auto border = between(kind, kHalvesShare, kHalvesShare + kBordersShare);
    const auto margin = (torch::minimum(H, W) / 2.0 * number(shape, kTop)).floor();
    top = torch::where(border, margin, top);
    bottom = torch::where(border, H - margin, bottom);
    left = torch::where(border, margin, left);
    right = torch::where(border, W - margin, right);
  }
  return (row_ >= top).logical_and(row_ < bottom).logical_and(column_ >= left).logical_and(column_ < right);
}

torch::Tensor KnownPatterns::operator()(const torch::Tensor& shape, const torch::Tensor& cells) const {
  auto some = cells < number(shape, kShare);
  if (head_.defined()) some = torch::where(number(shape, kInside) < kWholeShare, some.index_select(1, head_), some);
  if (!grid_.has_boxes) return some;
  const auto inside = boxes(shape) == (number(shape, kInside) < 0.5);
  const int64_t end = grid_.first + inside.size(1);
  const auto on_grid = torch::where(number(shape, kKind) < kCellsShare, some.slice(1, grid_.first, end), inside);
  if (inside.size(1) == some.size(1)) return on_grid;
  return torch::cat({some.slice(1, 0, grid_.first), on_grid, some.slice(1, end)}, 1);
}

}  // namespace segre
