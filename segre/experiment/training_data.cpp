#include "segre/experiment/training_data.h"

#include <nlohmann/json.hpp>

#include "segre/core/error.h"
#include "segre/data/split.h"

namespace segre {
namespace {

// Below this many items a validation would say little and training would miss what it lost.
constexpr int64_t kFewestHeldOut = 8;

torch::Tensor items_of(const DataSource& source, int64_t count) {
  return source.rows(0, source.n_items() == 0 ? count : std::min(count, source.n_items()));
}

}  // namespace

TrainingData open_training_data(const Experiment& experiment, std::shared_ptr<DataSource> source) {
  TrainingData data;
  data.source = source ? std::move(source) : std::shared_ptr<DataSource>(open_source(experiment.data));
  const int64_t wanted = experiment.watch.items;
  if (!experiment.validation.empty()) {
    const auto other = open_source(experiment.validation);
    if (other->space().shape() != data.source->space().shape() ||
        !torch::equal(other->space().offsets(), data.source->space().offsets()))
      fail_input("data.validation = ", experiment.validation, " is a ", other->space().describe(),
                 ", data.source is a ", data.source->space().describe());
    data.held_out = items_of(*other, wanted);
    return data;
  }
  const Dataset* dataset = data.source->dataset();
  if (dataset == nullptr) {
    data.held_out = items_of(*data.source, wanted);  // drawn from a stream of its own
    return data;
  }
  const auto n = static_cast<double>(data.source->n_items());
  const int64_t count = std::min(wanted, static_cast<int64_t>(experiment.holdout * n));
  if (count < kFewestHeldOut) return data;
  auto [rest, held_out] = split_off(*dataset, count);
  data.held_out = held_out.labels.to(torch::kInt64);
  data.source = make_dataset_source(std::move(rest));
  return data;
}

}  // namespace segre
