#include "segre/data/source.h"

#include <algorithm>

#include "segre/core/error.h"
#include "segre/data/split.h"
#include "segre/io/growing_buffer.h"
#include "segre/io/mapped_rows.h"
#include "segre/space/check_labels.h"

namespace segre {
namespace {

constexpr int64_t kValuesAtOnce = 1 << 22;  // labels of items read at once: eight bytes each

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

// Checks all labels, part by part if they are mapped. Returns whether some are unknown.
bool check_all(const Dataset& dataset) {
  if (!is_mapped(dataset.labels)) check_integer_labels(dataset.space, dataset.labels, dataset.unknowns);
  bool some_unknown = false;
  try {
    for_each_part(dataset.labels, [&](const torch::Tensor& part, int64_t) {
      if (is_mapped(dataset.labels)) check_integer_labels(dataset.space, part, dataset.unknowns);
      some_unknown = some_unknown || (dataset.unknowns == Unknowns::allow && (part < 0).any().item<bool>());
    });
  } catch (const InputError&) {
    check_integer_labels(dataset.space, dataset.labels, dataset.unknowns);  // fails with the item's number in the whole
    throw;
  }
  return some_unknown;
}

// A dataset that training can trust: it indexes memory with the labels.
Dataset checked(Dataset dataset) {
  // Without unknown labels, a dataset that may have them is like any other.
  dataset.unknowns = check_all(dataset) ? Unknowns::allow : Unknowns::refuse;
  if (dataset.labels.size(0) == 0) fail_input("a dataset of the ", dataset.space.describe(), " has no items");
  if (dataset.mirror && !dataset.space.is(PartKind::image))
    fail_input("a dataset of the ", dataset.space.describe(), " cannot be mirrored, only images can");
  dataset.labels = converted(dataset.labels.to(torch::kCPU), label_type(dataset.space, dataset.unknowns));
  return dataset;
}

class DatasetSource final : public DataSource {
 public:
  explicit DatasetSource(Dataset dataset) : dataset_(checked(std::move(dataset))) {}
  const Space& space() const override { return dataset_.space; }
  int64_t n_items() const override { return dataset_.labels.size(0); }
  torch::Tensor rows(int64_t first, int64_t count) const override {
    return copy_rows(dataset_.labels, first, count).to(torch::kInt64);
  }
  torch::Tensor items(const RandomStream& random, uint64_t first_item, int64_t count) const override {
    return gather_items(dataset_, dataset_.labels, stream_rows(random, first_item, count, n_items(), dataset_.mirror));
  }
  torch::Tensor take(const torch::Tensor& numbers) const override {
    return take_rows(dataset_.labels, numbers).to(torch::kInt64);
  }
  std::string place(int64_t item) const override { return dataset_.origin.place(item); }
  int64_t file_row(int64_t item) const override {
    return dataset_.file_rows.size() > 0 ? dataset_.file_rows[item] : item;
  }
  bool has_unknowns() const override { return dataset_.unknowns == Unknowns::allow; }
  const Dataset* dataset() const override { return &dataset_; }

 private:
  Dataset dataset_;
};

// Calls use(rows, first) for all items of a finite source, some at a time: rows [B, n] int64.
template <class Use>
void for_each_item(const DataSource& source, Use&& use) {
  const int64_t step = std::max<int64_t>(1, kValuesAtOnce / source.space().n_variables());
  for (int64_t first = 0; first < source.n_items(); first += step)
    use(source.rows(first, std::min(step, source.n_items() - first)), first);
}

Unknowns unknowns_of(const DataSource& source) { return source.has_unknowns() ? Unknowns::allow : Unknowns::refuse; }

torch::ScalarType type_of(const DataSource& source) { return label_type(source.space(), unknowns_of(source)); }

[[noreturn]] void refuse_unknown(const DataSource& source, const std::string& what, int64_t item, int64_t variable) {
  const std::string place = source.place(item);
  fail_input(place.empty() ? concat(what, ": item ", item) : place, ": ", source.space().variable_name(variable),
             " is unknown, but complete items are needed here; 'segre complete' fills such cells in");
}

}  // namespace

torch::Tensor DataSource::take(const torch::Tensor& numbers) const {
  std::vector<torch::Tensor> taken{torch::empty({0, space().n_variables()}, torch::kInt64)};
  for (int64_t k = 0; k < numbers.numel(); ++k) taken.push_back(rows(numbers[k].item<int64_t>(), 1));
  return torch::cat(taken);
}

torch::ScalarType label_type(const Space& space, Unknowns unknowns) {
  if (unknowns == Unknowns::allow) return space.max_labels() <= 32'767 ? torch::kInt16 : torch::kInt32;
  return space.max_labels() <= 256 ? torch::kUInt8 : torch::kInt32;
}

torch::Tensor all_labels(const DataSource& source) {
  if (const Dataset* dataset = source.dataset()) return dataset->labels;
  auto labels = large_tensor({source.n_items(), source.space().n_variables()}, type_of(source));
  for_each_item(source, [&](const torch::Tensor& rows, int64_t first) {
    const auto to = labels.slice(0, first, first + rows.size(0));
    to.copy_(rows);
    release_pages(to);
  });
  return labels;
}

torch::Tensor labels_on(const DataSource& source, torch::Device device, int64_t most_bytes) {
  const auto type = type_of(source);
  const int64_t n = source.space().n_variables();
  const auto bytes = static_cast<double>(source.n_items()) * static_cast<double>(n * c10::elementSize(type));
  if (!source.is_stored() || bytes >= static_cast<double>(most_bytes)) return {};
  auto labels = torch::empty({source.n_items(), n}, torch::TensorOptions(type).device(device));
  for_each_item(source, [&](const torch::Tensor& rows, int64_t first) {
    check_labels(source.space(), rows, unknowns_of(source));  // the source may be the user's own
    labels.slice(0, first, first + rows.size(0)).copy_(rows.to(type));
  });
  return labels;
}

void require_complete(const DataSource& source, const std::string& what) {
  if (!source.has_unknowns()) return;
  for_each_item(source, [&](const torch::Tensor& rows, int64_t first) {
    const auto unknown = rows < 0;
    if (!unknown.any().item<bool>()) return;
    const auto row = unknown.any(1).to(torch::kInt8).argmax().item<int64_t>();
    refuse_unknown(source, what, first + row, unknown[row].to(torch::kInt8).argmax().item<int64_t>());
  });
  fail_input(what, ": some labels are unknown, but complete items are needed here");
}

std::vector<int64_t> file_rows_of(const DataSource& source, int64_t count) {
  std::vector<int64_t> rows;
  for (int64_t item = 0; item < count; ++item) rows.push_back(source.file_row(item));
  return rows;
}

torch::Tensor gather_items(const Dataset& dataset, const torch::Tensor& labels, const torch::Tensor& rows) {
  return gather_items(dataset.space, dataset.mirror, labels, rows);
}

torch::Tensor gather_items(const Space& space, bool mirror, const torch::Tensor& labels, const torch::Tensor& rows) {
  if (!mirror) return take_rows(labels, rows).to(torch::kInt64);
  const auto mirrored = rows < 0;
  const auto plain = take_rows(labels, torch::where(mirrored, -1 - rows, rows)).to(torch::kInt64);
  const auto& shape = space.item_shape();
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
