#include "segre/data/source.h"

#include "segre/core/error.h"
#include "segre/data/shuffle.h"
#include "segre/space/check_labels.h"

namespace segre {
namespace {

class JointSource final : public DataSource {
 public:
  explicit JointSource(JointTable table) : table_(std::move(table)), sampler_(table_) {}
  const Space& space() const override { return table_.space; }
  int64_t n_items() const override { return 0; }
  torch::Tensor rows(int64_t first, int64_t count) const override {
    return sampler_.draw({0, Purpose::source_rows}, static_cast<uint64_t>(first), count);
  }
  torch::Tensor items(const RandomStream& random, uint64_t first_item, int64_t count) const override {
    return sampler_.draw(random, first_item, count);
  }
  const JointTable* joint() const override { return &table_; }

 private:
  JointTable table_;
  JointSampler sampler_;
};

// A dataset that training can trust: it indexes memory with the labels.
Dataset checked(Dataset dataset) {
  check_integer_labels(dataset.space, dataset.labels, dataset.unknowns);
  // Without unknown labels, a dataset that may have them is like any other.
  if (dataset.unknowns == Unknowns::allow && !(dataset.labels < 0).any().item<bool>())
    dataset.unknowns = Unknowns::refuse;
  if (dataset.labels.size(0) == 0) fail_input("a dataset of the ", dataset.space.describe(), " has no items");
  if (dataset.mirror && dataset.space.layout() != Layout::image)
    fail_input("a dataset of the ", dataset.space.describe(), " cannot be mirrored, only images can");
  dataset.labels = dataset.labels.to(torch::kCPU, label_type(dataset.space, dataset.unknowns)).contiguous();
  return dataset;
}

class DatasetSource final : public DataSource {
 public:
  explicit DatasetSource(Dataset dataset) : dataset_(checked(std::move(dataset))) {}
  const Space& space() const override { return dataset_.space; }
  int64_t n_items() const override { return dataset_.labels.size(0); }
  torch::Tensor rows(int64_t first, int64_t count) const override {
    return dataset_.labels.slice(0, first, first + count).to(torch::kInt64);
  }
  torch::Tensor items(const RandomStream& random, uint64_t first_item, int64_t count) const override {
    return gather_items(dataset_, dataset_.labels, stream_rows(random, first_item, count, n_items(), dataset_.mirror));
  }
  std::string place(int64_t item) const override { return dataset_.origin.place(item); }
  bool has_unknowns() const override { return dataset_.unknowns == Unknowns::allow; }
  const Dataset* dataset() const override { return &dataset_; }

 private:
  Dataset dataset_;
};

}  // namespace

torch::ScalarType label_type(const Space& space, Unknowns unknowns) {
  if (unknowns == Unknowns::allow) return space.max_labels() <= 32'767 ? torch::kInt16 : torch::kInt32;
  return space.max_labels() <= 256 ? torch::kUInt8 : torch::kInt32;
}

void require_complete(const DataSource& source, const std::string& what) {
  if (!source.has_unknowns()) return;
  const Dataset* dataset = source.dataset();
  if (dataset == nullptr) fail_input(what, ": some labels are unknown, but complete items are needed here");
  const auto unknown = dataset->labels < 0;
  const auto item = unknown.any(1).to(torch::kInt8).argmax().item<int64_t>();
  const auto variable = unknown[item].to(torch::kInt8).argmax().item<int64_t>();
  const std::string place = source.place(item);
  fail_input(place.empty() ? concat(what, ": item ", item) : place, ": ", source.space().variable_name(variable),
             " is unknown, but complete items are needed here; 'segre complete' fills such cells in");
}

torch::Tensor gather_items(const Dataset& dataset, const torch::Tensor& labels, const torch::Tensor& rows) {
  if (!dataset.mirror) return labels.index_select(0, rows).to(torch::kInt64);
  const auto mirrored = rows < 0;
  const auto plain = labels.index_select(0, torch::where(mirrored, -1 - rows, rows)).to(torch::kInt64);
  const auto& shape = dataset.space.shape();
  const auto flipped = plain.view({-1, shape[0], shape[1]}).flip({2}).view_as(plain);
  return torch::where(mirrored.unsqueeze(1), flipped, plain);
}

torch::Tensor stream_rows(const RandomStream& random, uint64_t first_item, int64_t count, int64_t n_rows, bool mirror) {
  auto rows = torch::empty({count}, torch::kInt64);
  auto* at = rows.data_ptr<int64_t>();
  for (int64_t k = 0; k < count; ++k) {
    const uint64_t item = first_item + static_cast<uint64_t>(k);
    const auto epoch = item / static_cast<uint64_t>(n_rows);
    at[k] = shuffled(random, epoch, static_cast<int64_t>(item % static_cast<uint64_t>(n_rows)), n_rows);
    if (mirror && uniform_double({random.seed, Purpose::mirror}, item) < 0.5) at[k] = -1 - at[k];
  }
  return rows;
}

std::unique_ptr<DataSource> make_joint_source(JointTable table) {
  return std::make_unique<JointSource>(std::move(table));
}

std::unique_ptr<DataSource> make_dataset_source(Dataset dataset) {
  return std::make_unique<DatasetSource>(std::move(dataset));
}

}  // namespace segre
