#include "segre/data/relabel.h"

#include <unordered_map>

#include "segre/core/error.h"

namespace segre {
namespace {

void check_same_shape(const Space& space, const Space& from, const std::string& what) {
  if (from.layout() != space.layout() || from.shape() != space.shape())
    fail_input(what, ": ", from.describe(), ", expected ", space.describe());
}

// Where each label of a column goes; -1 where the other space has none of its name.
torch::Tensor places(const Space& space, const Space& from, int64_t variable) {
  std::unordered_map<std::string, int64_t> numbers;
  for (int64_t label = 0; label < space.n_labels(variable); ++label)
    numbers.emplace(space.label_name(variable, label), label);
  auto place = torch::full({from.n_labels(variable)}, -1, torch::kInt64);
  for (int64_t label = 0; label < from.n_labels(variable); ++label)
    if (const auto at = numbers.find(from.label_name(variable, label)); at != numbers.end()) place[label] = at->second;
  return place;
}

}  // namespace

torch::Tensor relabel(const Space& space, const Space& from, const torch::Tensor& labels, const std::string& what) {
  check_same_shape(space, from, what);
  if (space.layout() != Layout::table) {
    // Unnamed labels are their numbers: another number of them is another thing.
    if (from.max_labels() != space.max_labels() || from.label_set().names != space.label_set().names)
      fail_input(what, ": ", from.describe(), ", expected ", space.describe(), " with the same names");
    return labels.to(label_type(space));
  }
  auto out = torch::empty({labels.size(0), space.n_variables()}, label_type(space));
  for (int64_t i = 0; i < space.n_variables(); ++i) {
    if (from.variable_name(i) != space.variable_name(i))
      fail_input(what, ": column ", i + 1, " is '", from.variable_name(i), "', '", space.variable_name(i),
                 "' was expected");
    const auto column = labels.select(1, i).to(torch::kInt64);
    const auto numbers = places(space, from, i).index_select(0, column);
    if ((numbers < 0).any().item<bool>()) {
      const int64_t row = (numbers < 0).nonzero()[0][0].item<int64_t>();
      fail_input(what, ": column ", from.variable_name(i), " has the label '",
                 from.label_name(i, column[row].item<int64_t>()), "', which is none of the ", space.n_labels(i),
                 " the model knows");
    }
    out.select(1, i).copy_(numbers);
  }
  return out;
}

torch::Tensor first_items(const Space& space, const DataSource& source, int64_t most, const std::string& what) {
  const int64_t n = source.n_items();
  if (n == 0 && most == 0) fail_input(what, ": has no end; say how many items with --items");
  const int64_t count = n == 0 ? most : most == 0 ? n : std::min(most, n);
  return relabel(space, source.space(), source.rows(0, count), what).to(torch::kInt64);
}

}  // namespace segre
