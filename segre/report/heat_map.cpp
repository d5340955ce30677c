#include "segre/report/heat_map.h"

#include <algorithm>
#include <cmath>

namespace segre {
namespace {

constexpr int64_t kLevels = 64;
constexpr int64_t kMostImages = 256;
constexpr double kHighest = 0.999;  // quantile of the values that is white

std::vector<Rgb> heat_colours() {
  std::vector<Rgb> colours;
  for (int64_t k = 0; k < kLevels; ++k) {
    const double x = 3.0 * static_cast<double>(k) / static_cast<double>(kLevels - 1);
    const auto channel = [x](double from) { return static_cast<uint8_t>(255.0 * std::clamp(x - from, 0.0, 1.0)); };
    colours.push_back({channel(0.0), channel(1.0), channel(2.0)});
  }
  return colours;
}

}  // namespace

HeatMap heat_map(const Space& space, const torch::Tensor& values) {
  const auto here = values.to(torch::kCPU, torch::kFloat64).clamp_min(0.0);
  const auto sorted = std::get<0>(here.flatten().sort());
  const auto last = static_cast<int64_t>(kHighest * static_cast<double>(sorted.numel() - 1));
  const double white = std::max(1e-12, sorted[last].item<double>());
  const auto level = (here * (static_cast<double>(kLevels) / white)).clamp_max(kLevels - 1).to(torch::kInt64);
  const Part& image = *space.image_part();
  return {Space::image(image.height(), image.width(), kLevels, {.names = {}, .colours = heat_colours()}), level};
}

std::string heat_grid_png(const Space& space, const torch::Tensor& values) {
  const HeatMap map = heat_map(space, values.slice(0, 0, kMostImages));
  const auto columns = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(map.labels.size(0)))));
  return label_grid_png(map.space, map.labels, columns);
}

}  // namespace segre
