#include "segre/tasks/item_stream.h"

#include <algorithm>

#include "segre/core/error.h"
#include "segre/sources/relabel.h"
#include "segre/tasks/table_stream.h"

namespace segre {

ItemsInMemory::ItemsInMemory(ItemBatch all) : all_(std::move(all)) {
  for (int64_t k = 1; all_.rows.size() < static_cast<size_t>(count()); ++k) all_.rows.push_back(k);
}

ItemBatch ItemsInMemory::next(int64_t most) {
  const int64_t first = first_;
  first_ = std::min(count(), first + most);
  const auto part = [&](const auto& list) {
    using List = std::decay_t<decltype(list)>;
    return list.empty() ? List() : List(list.begin() + first, list.begin() + first_);
  };
  return {.labels = all_.labels.slice(0, first, first_),
          .soft = all_.soft.defined() ? all_.soft.slice(0, first, first_) : all_.soft,
          .rows = part(all_.rows),
          .texts = part(all_.texts)};
}

std::unique_ptr<ItemStream> stream_csv(const SourceName& name, const Space& space, const std::string& what,
                                       const std::string& quietly) {
  return std::make_unique<TableStream>(name, space, what, /*keeps_fields=*/true, quietly);
}

std::unique_ptr<ItemStream> stream_source(const std::string& name, const Space& space, int64_t most,
                                          const std::string& what) {
  auto [labels, file_rows] = numbered_items(space, name, most, what, Unknowns::allow);
  for (int64_t& row : file_rows) ++row;
  return std::make_unique<ItemsInMemory>(ItemBatch{.labels = std::move(labels), .rows = std::move(file_rows)});
}

torch::Tensor check_evidence(const Space& space, const torch::Tensor& soft, const std::vector<int64_t>& rows,
                             const std::string& what) {
  const int64_t n_rows = rows.empty() ? 0 : rows.back() + 1;
  const int64_t S = space.n_coordinates();
  std::vector<int64_t> shaped = space.item_shape();
  shaped.push_back(space.max_labels());
  const auto row = soft.dim() > 0 ? soft.sizes().slice(1).vec() : std::vector<int64_t>();
  const bool by_variable =
      space.is_uniform() && (row == std::vector<int64_t>{space.n_variables(), space.max_labels()} || row == shaped);
  if ((row != std::vector<int64_t>{S} && !by_variable) || soft.size(0) < n_rows)
    fail_input(
        what, ": has shape ", soft.sizes(), ", expected [", n_rows, ", ", S, "]",
        space.is_uniform() ? concat(" or [", n_rows, ", ", space.n_variables(), ", ", space.max_labels(), "]") : "",
        ": log-likelihoods of every label of every row");
  if (soft.isnan().any().item<bool>())
    fail_input(what, ": holds a value that is not a number, log-likelihoods were expected");
  return soft.reshape({soft.size(0), S}).index_select(0, torch::tensor(rows, torch::kInt64));
}

}  // namespace segre
