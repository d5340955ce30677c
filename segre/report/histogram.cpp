#include "segre/report/histogram.h"

#include <algorithm>

#include "segre/core/error.h"
#include "segre/report/picture.h"

namespace segre {
namespace {

constexpr int64_t kSide = 30;  // a picture of fewer labels is enlarged to about this, before the grid enlarges it
constexpr int64_t kShades = 256;
constexpr Rgb kMost{8, 36, 74};

// From white to the darkest.
std::vector<Rgb> shades() {
  std::vector<Rgb> colours;
  for (int64_t k = 0; k < kShades; ++k) {
    Rgb colour{};
    for (size_t channel = 0; channel < 3; ++channel)
      colour[channel] = static_cast<uint8_t>(255 - (255 - kMost[channel]) * k / (kShades - 1));
    colours.push_back(colour);
  }
  return colours;
}

}  // namespace

bool PairHistogram::serves(const Space& space) { return space.n_variables() == 2 && space.max_labels() <= kMostLabels; }

PairHistogram::PairHistogram(const Space& space) : space_(space) {
  if (!serves(space))
    fail_input("a histogram needs two variables with at most ", kMostLabels, " labels; this is a ", space.describe());
  counts_ = torch::zeros({space.n_labels(1), space.n_labels(0)}, torch::kInt64);
}

void PairHistogram::add(const torch::Tensor& labels) {
  check_labels(space_, labels.to(torch::kInt64));
  const auto here = labels.to(torch::kCPU, torch::kInt64);
  const auto place = here.select(1, 1) * counts_.size(1) + here.select(1, 0);
  counts_.view({-1}).index_add_(0, place, torch::ones_like(place));
}

torch::Tensor PairHistogram::depths() const {
  const auto most = std::max<int64_t>(1, counts_.max().item<int64_t>());
  // The depth goes with the square root of a count, so that rare pairs are seen.
  const auto depth =
      (counts_.to(torch::kFloat64) / static_cast<double>(most)).sqrt() * static_cast<double>(kShades - 1);
  const int64_t scale = std::max<int64_t>(1, kSide / std::max(counts_.size(0), counts_.size(1)));
  return depth.round().to(torch::kInt64).flip(0).repeat_interleave(scale, 0).repeat_interleave(scale, 1);
}

std::string PairHistogram::png() const {
  const auto cells = depths();
  const Space image =
      Space::image(cells.size(0), cells.size(1), kShades, {.names = {}, .colours = shades()});
  return label_grid_png(image, cells.reshape({1, -1}), 1);
}

}  // namespace segre
