#include "segre/ood/measures.h"

#include <cmath>

#include "segre/core/parallel.h"
#include "segre/data/label_counts.h"
#include "segre/io/gzip.h"

namespace segre {
namespace {

constexpr double kNatsPerByte = 8.0 * 0.6931471805599453;
constexpr int64_t kByteLabels = 256;

torch::Tensor per_variable(const Space& space, const torch::Tensor& counts) {
  return counts.view({space.n_variables(), space.max_labels()});
}

Measure independent(const Space& space, const torch::Tensor& counts) {
  return {"independent", "independent variables",
          [space, nats = label_nats(space, counts)](const torch::Tensor& labels) {
            return sum_of_entries(space, nats, labels);
          }};
}

Measure shared(const Space& space, const torch::Tensor& counts) {
  const auto smoothed = per_variable(space, counts).sum(0).to(torch::kFloat64) + kAddedCount;
  const auto nats = -(smoothed / smoothed.sum()).log();
  return {"shared", "one shared label frequency", [nats](const torch::Tensor& labels) {
            return nats.index_select(0, labels.flatten()).view(labels.sizes()).sum(1);
          }};
}

// How often each label occurs in each item: [N, c] float64.
torch::Tensor item_histograms(const torch::Tensor& labels, int64_t n_labels) {
  return torch::zeros({labels.size(0), n_labels}, torch::kFloat64)
      .scatter_add_(1, labels, torch::ones(labels.sizes(), torch::kFloat64));
}

Measure own(const Space& space) {
  return {"own", "the item's own label frequency", [c = space.max_labels()](const torch::Tensor& labels) {
            const auto counts = item_histograms(labels, c);
            const auto n = static_cast<double>(labels.size(1));
            return -torch::xlogy(counts, counts / n).sum(1);
          }};
}

std::string packed(const int64_t* labels, int64_t n, int64_t most_labels) {
  std::string bytes;
  if (most_labels <= 2) {
    bytes.assign(static_cast<size_t>((n + 7) / 8), '\0');
    for (int64_t i = 0; i < n; ++i)
      if (labels[i] != 0) bytes[static_cast<size_t>(i / 8)] |= static_cast<char>(0x80 >> (i % 8));
    return bytes;
  }
  for (int64_t i = 0; i < n; ++i) {
    bytes += static_cast<char>(labels[i] & 0xff);
    if (most_labels > kByteLabels) bytes += static_cast<char>(labels[i] >> 8);
  }
  return bytes;
}

Measure compressed(const Space& space) {
  return {"compressed", "compressed size", [most = space.max_labels()](const torch::Tensor& labels) {
            const auto here = labels.contiguous();
            const int64_t n = here.size(1);
            auto nats = torch::empty({here.size(0)}, torch::kFloat64);
            parallel_for(0, here.size(0), /*grain_size=*/64, [&](int64_t begin, int64_t end) {
              for (int64_t k = begin; k < end; ++k)
                nats.data_ptr<double>()[k] =
                    kNatsPerByte *
                    static_cast<double>(deflated_size(packed(here.data_ptr<int64_t>() + k * n, n, most)));
            });
            return nats;
          }};
}

Measure foreground(const Space& space, const torch::Tensor& counts) {
  auto outside = torch::ones({space.n_coordinates()}, torch::kFloat64);
  if (shares_labels(space)) {
    const auto table = per_variable(space, counts);
    outside.view(table.sizes()).select(1, table.sum(0).argmax().item<int64_t>()).zero_();
  } else {
    for (int64_t i = 0; i < space.n_variables(); ++i) {
      const auto own_counts = counts.slice(0, space.offset(i), space.offset(i) + space.n_labels(i));
      outside[space.offset(i) + own_counts.argmax().item<int64_t>()] = 0.0;
    }
  }
  const bool table = space.is(PartKind::columns);
  return {table ? "uncommon" : "foreground",
          table ? "labels other than their column's most common" : "number of non-background labels",
          [space, outside](const torch::Tensor& labels) { return sum_of_entries(space, outside, labels); }};
}

torch::Tensor changes_along(const torch::Tensor& grid, int64_t axis) {
  const int64_t length = grid.size(axis);
  return (grid.slice(axis, 1, length) != grid.slice(axis, 0, length - 1)).flatten(1).sum(1).to(torch::kFloat64);
}

Measure image_boundary(const Space& space, const Measure& foreground) {
  return {"boundary", "boundary length per foreground", [space, foreground](const torch::Tensor& labels) {
            const Part& image = *space.image_part();
            const auto grid = labels.view({labels.size(0), image.height(), image.width()});
            return (changes_along(grid, 1) + changes_along(grid, 2)) / foreground.of(labels).clamp_min(1.0);
          }};
}

}  // namespace

std::vector<Measure> simple_models(const Space& space, const torch::Tensor& counts) {
  std::vector<Measure> out{independent(space, counts)};
  if (shares_labels(space)) {
    out.push_back(shared(space, counts));
    out.push_back(own(space));
  }
  if (!space.is(PartKind::columns)) out.push_back(compressed(space));
  return out;
}

std::vector<Measure> baselines(const Space& space, const torch::Tensor& counts) {
  std::vector<Measure> out{foreground(space, counts)};
  if (space.is(PartKind::columns)) {
    out.push_back(independent(space, counts));
    return out;
  }
  out.push_back(compressed(space));
  if (space.is(PartKind::image)) out.push_back(image_boundary(space, out[0]));
  if (space.is(PartKind::sequence))
    out.push_back(
        {"boundary", "neighbours that differ", [](const torch::Tensor& labels) { return changes_along(labels, 1); }});
  return out;
}

}  // namespace segre
