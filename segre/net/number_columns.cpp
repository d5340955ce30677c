#include "segre/net/number_columns.h"

#include <algorithm>
#include <numbers>

#include "segre/data/label_counts.h"
#include "segre/net/layers.h"

namespace segre {

namespace {

// Where a single value lies among n intervals, from 0 to 1.
double place_of(const Bins& bins, double value) {
  const auto above = std::upper_bound(bins.edges.begin(), bins.edges.end(), value) - bins.edges.begin();
  return static_cast<double>(std::min<int64_t>(above, bins.n_intervals())) / static_cast<double>(bins.n_intervals());
}

// cos or sin of pi k x for k = 1 ... n: x [...] -> [..., n].
torch::Tensor angles(const torch::Tensor& x, int64_t n) {
  return x.unsqueeze(-1) * (std::numbers::pi * torch::arange(1, n + 1, x.options()));
}

}  // namespace

// A damaged checkpoint may have levels without the labels that they need.
std::vector<NumberColumns::Pair> NumberColumns::pairs_of(const Space& space) {
  std::vector<Pair> pairs;
  for (int64_t i = 0; i + 1 < space.n_variables(); ++i) {
    const Bins* const bins = space.bins(i);
    if (bins == nullptr || bins->n_variables() != 2 || bins->n_intervals() == 0) continue;
    if (space.n_labels(i) < bins->size() || space.n_labels(i + 1) < bins->fine) continue;
    pairs.push_back({bins, i, i + 1, space.n_labels(i), space.n_labels(i + 1)});
  }
  return pairs;
}

NumberColumns::Size NumberColumns::size_of(const Space& space) {
  Size size;
  for (const Pair& pair : pairs_of(space)) {
    ++size.pairs;
    size.coarse = std::max(size.coarse, pair.n_coarse);
    size.fine = std::max(size.fine, pair.n_fine);
  }
  return size;
}

NumberColumns::NumberColumns(const Space& space)
    : space_(space),
      pairs_(pairs_of(space_)),
      size_(size_of(space_)),
      m_(size_.pairs),
      C_(size_.coarse),
      F_(size_.fine) {
  for (const Pair& pair : pairs_) fine_.push_back(pair.fine);
  within_ = torch::zeros({m_, C_, F_});
  log_p_ = torch::zeros({m_, C_});
  auto U = within_.accessor<float, 3>();
  for (int64_t i = 0; i < m_; ++i)
    for (int64_t a = 0; a < pairs_[i].n_coarse; ++a) {
      const int64_t n = std::max<int64_t>(1, pairs_[i].n_intervals(a));
      for (int64_t b = 0; b < n; ++b) U[i][a][b] = 1.0f / static_cast<float>(n);
    }
  refresh();
}

// Counts pairs of coarse and fine labels; one more count per coarse label is spread over its intervals.
void NumberColumns::fit(const DataSource& source) {
  constexpr int64_t kRows = 1'000'000;
  constexpr int64_t kChunk = 65'536;
  auto counts = within_.to(torch::kCPU, torch::kFloat64).clone();
  counts /= counts.sum(2, /*keepdim=*/true).clamp_min(kLeastProbability);
  for_some_items(source, kRows, kChunk, [&](const torch::Tensor& labels) {
    for (int64_t i = 0; i < m_; ++i) {
      const auto both = labels.select(1, pairs_[i].coarse) * F_ + labels.select(1, pairs_[i].fine);
      const auto known = (labels.select(1, pairs_[i].coarse) >= 0).logical_and(labels.select(1, pairs_[i].fine) >= 0);
      counts[i] += torch::bincount(both.masked_select(known), {}, C_ * F_).view({C_, F_});
    }
  });
  const auto of_coarse = counts.sum(2, /*keepdim=*/true);
  for (int64_t i = 0; i < m_; ++i)
    if (pairs_[i].bins->are_points) within_[i].copy_(counts[i] / of_coarse[i].clamp_min(kLeastProbability));
  log_p_.copy_((of_coarse.squeeze(2).clamp_min(1.0) / of_coarse.sum(1)).log());
  refresh();
}

void NumberColumns::refresh() {
  const auto device = within_.device();
  // A captured step keeps reading these tensors, so they must stay where they are.
  if (!z_.defined() || z_.device() != device) lay_out(device);
  const auto U = within_.detach().to(torch::kFloat32);
  const auto z = z_ - (U * z_).sum(2, /*keepdim=*/true);
  rising_.copy_(U * z / z.abs().amax(2, /*keepdim=*/true).clamp_min(1.0));
}

// All that depends on the space alone.
void NumberColumns::lay_out(torch::Device device) {
  const int64_t S = space_.n_coordinates();
  std::vector<int64_t> coarse_at(m_ * C_, S), fine_at(m_ * F_, S), from(S, m_ * (C_ + F_)), above(m_ * C_),
      below(m_ * C_);
  auto half = torch::zeros({m_, C_});
  auto z = torch::zeros({m_, C_, F_});
  auto lower = torch::zeros({m_, C_});   // of intervals, from 0 to 1
  auto middle = torch::zeros({m_, C_});  // of intervals, or the single value
  auto within = torch::zeros({m_, F_});
  auto is_interval = torch::zeros({m_, C_, 1});
  auto is_number = torch::zeros({m_, C_, 1});
  for (int64_t i = 0; i < m_; ++i) {
    const Pair& pair = pairs_[i];
    const int64_t n_shared = pair.bins->n_shared();
    const auto n = static_cast<double>(pair.bins->n_intervals());
    for (int64_t a = 0; a < pair.n_coarse; ++a) {
      coarse_at[i * C_ + a] = space_.offset(pair.coarse) + a;
      from[space_.offset(pair.coarse) + a] = i * C_ + a;
      const int64_t cells = pair.n_intervals(a);
      const int64_t own = a - n_shared;
      const bool is_own = own >= 0 && own < static_cast<int64_t>(pair.bins->own.size());
      above[i * C_ + a] = i * C_ + (cells > 0 ? std::min(a + 1, n_shared - 1) : a);
      below[i * C_ + a] = i * C_ + (cells > 0 ? std::max<int64_t>(a - 1, 0) : a);
      half[i][a] = 0.5 / static_cast<double>(std::max<int64_t>(1, above[i * C_ + a] - below[i * C_ + a]));
      is_interval[i][a] = cells > 0 ? 1.0 : 0.0;
      is_number[i][a] = cells > 0 || is_own ? 1.0 : 0.0;
      lower[i][a] = static_cast<double>(a * pair.bins->fine) / n;
      middle[i][a] = cells > 0 ? (static_cast<double>(a * pair.bins->fine) + 0.5 * static_cast<double>(cells)) / n
                     : is_own  ? place_of(*pair.bins, pair.bins->own[own])
                               : 0.0;
      for (int64_t b = 0; b < cells; ++b)
        z[i][a][b] = (2.0 * static_cast<double>(b) + 1.0) / static_cast<double>(cells) - 1.0;
    }
    for (int64_t b = 0; b < pair.n_fine; ++b) {
      fine_at[i * F_ + b] = space_.offset(pair.fine) + b;
      from[space_.offset(pair.fine) + b] = m_ * C_ + i * F_ + b;
      within[i][b] = (static_cast<double>(b) + 0.5) / n;
    }
  }
  const auto indices = [&](const std::vector<int64_t>& x) { return torch::tensor(x, torch::kInt64).to(device); };
  coarse_at_ = indices(coarse_at);
  fine_at_ = indices(fine_at);
  from_pairs_ = indices(from);
  above_ = indices(above);
  below_ = indices(below);
  half_ = half.to(device);
  z_ = z.to(device);
  rising_ = torch::zeros_like(z_);
  base_cos_ = (angles(lower, kWaves).cos() * is_interval).to(device);
  base_sin_ = (angles(lower, kWaves).sin() * is_interval).to(device);
  part_cos_ = angles(within, kWaves).cos().to(device);
  part_sin_ = angles(within, kWaves).sin().to(device);
  all_cos_ = (angles(middle, kWaves).cos() * is_number).to(device);
  own_cos_ = all_cos_ * (1.0 - is_interval).to(device);
}

namespace {

torch::Tensor with_zero(const torch::Tensor& points) {
  return torch::cat({points, torch::zeros({points.size(0), 1}, points.options().requires_grad(false))}, 1);
}

// x [B, m, k] times y [m, k, l] of each pair: [B, m, l].
torch::Tensor times(const torch::Tensor& x, const torch::Tensor& y) {
  return torch::bmm(x.transpose(0, 1), y.to(x.scalar_type())).transpose(0, 1);
}

}  // namespace

// [B, S] -> [B, m, C] and [B, m, F], 0 for padding.
torch::Tensor NumberColumns::coarse(const torch::Tensor& points) const {
  return with_zero(points).index_select(1, coarse_at_).view({points.size(0), m_, C_});
}
torch::Tensor NumberColumns::fine(const torch::Tensor& points) const {
  return with_zero(points).index_select(1, fine_at_).view({points.size(0), m_, F_});
}

// And back: [B, S], 0 for other variables.
torch::Tensor NumberColumns::laid_out(const torch::Tensor& of_coarse, const torch::Tensor& of_fine) const {
  return with_zero(torch::cat({of_coarse.flatten(1), of_fine.flatten(1)}, 1)).index_select(1, from_pairs_);
}

torch::Tensor NumberColumns::features(const torch::Tensor& beliefs, const torch::Tensor& W,
                                      const torch::Tensor& standardised) const {
  constexpr double kStandard = 0.5;  // the sum over some ten labels
  const auto p = coarse(beliefs);
  const auto s = fine(W);
  const auto place =
      times(p, base_cos_) * times(s, part_cos_) - times(p, base_sin_) * times(s, part_sin_) + times(p, own_cos_);
  const auto direction = kStandard * times(coarse(standardised), all_cos_);
  return torch::cat({place.flatten(1), direction.flatten(1)}, 1);
}

torch::Tensor NumberColumns::waves(const torch::Tensor& amplitudes) const {
  const auto g = times(amplitudes.view({-1, m_, kWaves}), all_cos_.transpose(1, 2));
  return laid_out(g, torch::zeros({g.size(0), m_ * F_}, g.options().requires_grad(false)));
}

torch::Tensor NumberColumns::couple(const torch::Tensor& message, const torch::Tensor& W) const {
  const auto g = coarse(message);
  const auto s_coarse = coarse(W);
  const auto s_fine = fine(W);
  const auto U = within_.to(g.scalar_type());
  const auto lead = (g - log_p_.to(g.scalar_type())).reshape({g.size(0), m_ * C_});
  const auto slope = (lead.index_select(1, above_) - lead.index_select(1, below_)).view_as(g);
  const auto tau = (slope * half_.to(g.scalar_type())).tanh();
  const auto of_coarse =
      (times(s_fine, U.transpose(1, 2)) + tau * times(s_fine, rising_.transpose(1, 2)) + kLeastProbability).log();
  const auto r = (g + (s_coarse + kLeastProbability).log()).softmax(2);
  const auto of_fine = (times(r, U) + times(r * tau, rising_) + kLeastProbability).log();
  return message + laid_out(of_coarse, of_fine);
}

}  // namespace segre
