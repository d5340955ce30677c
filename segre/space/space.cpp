#include "segre/space/space.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "segre/core/error.h"
#include "segre/core/json_number.h"
#include "segre/core/utf8.h"

namespace segre {
namespace {

torch::Tensor to_tensor(const std::vector<int64_t>& values) { return torch::tensor(values, torch::kInt64); }

// The permutation that undoes `order`.
torch::Tensor inverse_permutation(const torch::Tensor& order) {
  auto inverse = torch::empty_like(order);
  inverse.index_copy_(0, order, torch::arange(order.numel(), torch::kInt64));
  return inverse;
}

// The first name that occurs twice. Names identify labels and columns, so they must be unique.
const std::string* find_repeated(const std::vector<std::string>& names) {
  std::unordered_set<std::string_view> seen;
  for (const std::string& name : names)
    if (!seen.insert(name).second) return &name;
  return nullptr;
}

const char* const kLayoutNames[] = {"sequence", "image", "table"};

// Number of variables of a shape. Sizes may come from a file, so each product is checked before it is computed.
int64_t count_variables(const std::vector<int64_t>& shape, int64_t n_labels) {
  int64_t count = 1;
  for (const int64_t extent : shape) {
    if (extent < 1) fail_input("a space needs at least one variable along each axis, found ", extent);
    if (extent > kMaxCoordinates / n_labels / count)
      fail_input("a space of shape ", at::IntArrayRef(shape), " with ", n_labels, " labels each, at most ",
                 kMaxCoordinates, " variables times labels were expected");
    count *= extent;
  }
  return count;
}

// The names under `key`; none if it is absent.
std::vector<std::string> names_in(const nlohmann::json& json, const char* key) {
  return json.value(key, std::vector<std::string>{});
}

std::optional<std::string> missing_text_in(const nlohmann::json& json) {
  return json.contains("missing_text") ? std::optional(json.at("missing_text").get<std::string>()) : std::nullopt;
}

void check_bins(const Variable& variable) {
  const std::string what = concat("variable ", printable(variable.name));
  variable.bins->check(what);
  const int64_t n_bins = variable.bins->size();
  if (variable.n_labels != n_bins && variable.n_labels != n_bins + 1)
    fail_input(what, ": ", n_bins, " bins for ", variable.n_labels, " labels");
}

std::vector<std::array<uint8_t, 3>> colours_in(const nlohmann::json& json) {
  std::vector<std::array<uint8_t, 3>> colours;
  if (!json.contains("label_colours")) return colours;
  for (const auto& entry : json.at("label_colours")) {
    const auto parts = json_integers(entry, "a label's colour");
    const bool good = parts.size() == 3 &&
                      std::all_of(parts.begin(), parts.end(), [](int64_t part) { return part >= 0 && part <= 255; });
    if (!good)
      fail_input("a label's colour is ", at::IntArrayRef(parts), ", three numbers from 0 to 255 were expected");
    colours.push_back({static_cast<uint8_t>(parts[0]), static_cast<uint8_t>(parts[1]), static_cast<uint8_t>(parts[2])});
  }
  return colours;
}

}  // namespace

struct Space::Contents {
  // Index tensors of one device, built on first use: a large uniform space never needs most of them.
  struct DeviceIndex {
    std::vector<Block> blocks;
    torch::Tensor coordinates_from_blocks;
    torch::Tensor variables_from_blocks;
    torch::Tensor variable_of_coordinate;
    torch::Tensor starts;
  };

  Layout layout = Layout::table;
  std::vector<int64_t> shape;
  int64_t n_variables = 0;
  int64_t uniform_labels = 0;     // c if all are equal, else 0
  std::vector<int64_t> n_labels;  // per variable; empty if uniform
  std::vector<Variable> names;    // empty if nothing is named
  LabelSet label_set;             // for sequences and images
  int64_t n_coordinates = 0;

  mutable std::mutex mutex;
  mutable std::map<std::string, DeviceIndex> indices;
  mutable torch::Tensor offsets;

  int64_t labels_of(int64_t variable) const { return uniform_labels > 0 ? uniform_labels : n_labels[variable]; }

  const torch::Tensor& offsets_locked() const {
    if (!offsets.defined()) {
      offsets = torch::empty({n_variables + 1}, torch::kInt64);
      auto* at = offsets.data_ptr<int64_t>();
      at[0] = 0;
      for (int64_t i = 0; i < n_variables; ++i) at[i + 1] = at[i] + labels_of(i);
    }
    return offsets;
  }

  std::vector<Block> build_blocks(DeviceIndex& index, torch::Device device) const {
    std::vector<Block> blocks;
    if (uniform_labels > 0) {
      blocks.push_back({uniform_labels, n_variables, {}});
      return blocks;
    }
    std::map<int64_t, std::vector<int64_t>> groups;
    for (int64_t i = 0; i < n_variables; ++i) groups[n_labels[i]].push_back(i);
    const auto* at = offsets_locked().data_ptr<int64_t>();
    std::vector<torch::Tensor> coordinates;
    std::vector<torch::Tensor> variables;
    for (const auto& [c, members] : groups) {
      std::vector<int64_t> places;
      places.reserve(members.size() * c);
      for (const int64_t i : members)
        for (int64_t j = 0; j < c; ++j) places.push_back(at[i] + j);
      coordinates.push_back(to_tensor(places));
      variables.push_back(to_tensor(members));
      blocks.push_back({c, static_cast<int64_t>(members.size()), coordinates.back().to(device)});
    }
    index.coordinates_from_blocks = inverse_permutation(torch::cat(coordinates)).to(device);
    index.variables_from_blocks = inverse_permutation(torch::cat(variables)).to(device);
    return blocks;
  }

  DeviceIndex& index_of(torch::Device device) const {
    const std::scoped_lock lock(mutex);
    auto [at, inserted] = indices.try_emplace(device.str());
    if (inserted) at->second.blocks = build_blocks(at->second, device);
    return at->second;
  }
};

Space Space::uniform(Layout layout, std::vector<int64_t> shape, int64_t n_labels, LabelSet labels) {
  const size_t axes = layout == Layout::image ? 2 : 1;
  if (shape.size() != axes)
    fail_input("a space of layout ", kLayoutNames[static_cast<int>(layout)], " has ", axes, " axes, not ",
               shape.size());
  if (n_labels < 1 || n_labels > kMaxLabels)
    fail_input("a variable has 1 to ", kMaxLabels, " labels, found ", n_labels);
  for (const size_t count : {labels.names.size(), labels.colours.size()})
    if (count != 0 && static_cast<int64_t>(count) != n_labels)
      fail_input("a label set of ", count, " names or colours for ", n_labels, " labels");
  if (const auto* name = find_repeated(labels.names)) fail_input("two labels are named '", printable(*name), "'");
  auto contents = std::make_shared<Contents>();
  contents->label_set = std::move(labels);
  contents->layout = layout;
  contents->n_variables = count_variables(shape, n_labels);
  contents->shape = std::move(shape);
  contents->uniform_labels = n_labels;
  contents->n_coordinates = contents->n_variables * n_labels;
  return Space(std::move(contents));
}

Space Space::table(std::vector<Variable> variables) {
  if (variables.empty()) fail_input("a table needs at least one variable");
  auto contents = std::make_shared<Contents>();
  contents->layout = Layout::table;
  contents->n_variables = static_cast<int64_t>(variables.size());
  contents->shape = {contents->n_variables};
  bool named = false;
  for (const Variable& v : variables) {
    if (v.n_labels < 1 || v.n_labels > kMaxLabels)
      fail_input("variable ", v.name, ": a variable has 1 to ", kMaxLabels, " labels, found ", v.n_labels);
    if (!v.label_names.empty() && static_cast<int64_t>(v.label_names.size()) != v.n_labels)
      fail_input("variable ", v.name, ": ", v.label_names.size(), " label names for ", v.n_labels, " labels");
    if (const auto* name = find_repeated(v.label_names))
      fail_input("variable ", printable(v.name), ": two labels are named '", printable(*name), "'");
    if (v.bins) check_bins(v);
    contents->n_labels.push_back(v.n_labels);
    contents->n_coordinates += v.n_labels;
    if (contents->n_coordinates > kMaxCoordinates)
      fail_input("a table of ", variables.size(), " variables has more than ", kMaxCoordinates, " labels in total");
    named = named || !v.name.empty() || !v.label_names.empty() || v.bins;
  }
  const auto& counts = contents->n_labels;
  if (std::all_of(counts.begin(), counts.end(), [&](int64_t c) { return c == counts.front(); })) {
    contents->uniform_labels = counts.front();
    contents->n_labels.clear();
  }
  if (named) contents->names = std::move(variables);
  Space space(std::move(contents));
  std::vector<std::string> names;
  for (int64_t i = 0; named && i < space.n_variables(); ++i) names.push_back(space.variable_name(i));
  if (const auto* name = find_repeated(names)) fail_input("two variables are named '", printable(*name), "'");
  return space;
}

Layout Space::layout() const { return contents_->layout; }
const std::vector<int64_t>& Space::shape() const { return contents_->shape; }
int64_t Space::n_variables() const { return contents_->n_variables; }
int64_t Space::n_coordinates() const { return contents_->n_coordinates; }
int64_t Space::n_dims() const { return contents_->n_coordinates - contents_->n_variables; }
int64_t Space::n_labels(int64_t variable) const { return contents_->labels_of(variable); }
bool Space::is_uniform() const { return contents_->uniform_labels > 0; }

int64_t Space::max_labels() const {
  if (is_uniform()) return contents_->uniform_labels;
  return *std::max_element(contents_->n_labels.begin(), contents_->n_labels.end());
}

int64_t Space::offset(int64_t variable) const {
  if (is_uniform()) return variable * contents_->uniform_labels;
  return offsets()[variable].item<int64_t>();
}

std::string Space::variable_name(int64_t variable) const {
  if (!contents_->names.empty() && !contents_->names[variable].name.empty()) return contents_->names[variable].name;
  return concat("x", variable + 1);
}

std::string Space::label_name(int64_t variable, int64_t label) const {
  if (!contents_->names.empty() && !contents_->names[variable].label_names.empty())
    return contents_->names[variable].label_names[label];
  if (!contents_->label_set.names.empty()) return contents_->label_set.names[label];
  return std::to_string(label);
}

const Bins* Space::bins(int64_t variable) const {
  if (contents_->names.empty() || !contents_->names[variable].bins) return nullptr;
  return &*contents_->names[variable].bins;
}

const std::optional<std::string>& Space::missing_text(int64_t variable) const {
  static const std::optional<std::string> kUnset;
  return contents_->names.empty() ? kUnset : contents_->names[variable].missing_text;
}

const LabelSet& Space::label_set() const { return contents_->label_set; }

int64_t Space::n_labelings(int64_t limit) const {
  int64_t count = 1;
  for (int64_t i = 0; i < n_variables(); ++i) {
    const int64_t c = n_labels(i);
    if (count > limit / c) return limit + 1;
    count *= c;
    if (c == 1 && is_uniform()) break;
  }
  return count;
}

const std::vector<Block>& Space::blocks(torch::Device device) const { return contents_->index_of(device).blocks; }

const torch::Tensor& Space::coordinates_from_blocks(torch::Device device) const {
  return contents_->index_of(device).coordinates_from_blocks;
}

const torch::Tensor& Space::variables_from_blocks(torch::Device device) const {
  return contents_->index_of(device).variables_from_blocks;
}

const torch::Tensor& Space::variable_of_coordinate(torch::Device device) const {
  Contents::DeviceIndex& index = contents_->index_of(device);
  const torch::Tensor& at = offsets();
  const std::scoped_lock lock(contents_->mutex);
  if (!index.variable_of_coordinate.defined()) {
    const auto counts = at.slice(0, 1) - at.slice(0, 0, n_variables());
    index.variable_of_coordinate = torch::arange(n_variables(), torch::kInt64).repeat_interleave(counts).to(device);
  }
  return index.variable_of_coordinate;
}

const torch::Tensor& Space::starts(torch::Device device) const {
  auto& index = contents_->index_of(device);
  const std::scoped_lock lock(contents_->mutex);
  if (!index.starts.defined()) index.starts = contents_->offsets_locked().slice(0, 0, n_variables()).to(device);
  return index.starts;
}

const torch::Tensor& Space::offsets() const {
  const std::scoped_lock lock(contents_->mutex);
  return contents_->offsets_locked();
}

nlohmann::json Space::to_json() const {
  nlohmann::json json{{"layout", kLayoutNames[static_cast<int>(layout())]}, {"shape", shape()}};
  if (layout() != Layout::table) {
    json["labels"] = contents_->uniform_labels;
    if (!label_set().names.empty()) json["label_names"] = label_set().names;
    if (!label_set().colours.empty()) json["label_colours"] = label_set().colours;
    return json;
  }
  for (int64_t i = 0; i < n_variables(); ++i) {
    nlohmann::json variable{{"name", variable_name(i)}, {"labels", n_labels(i)}};
    if (!contents_->names.empty() && !contents_->names[i].label_names.empty())
      variable["label_names"] = contents_->names[i].label_names;
    if (const Bins* binned = bins(i)) variable["bins"] = binned->to_json();
    if (missing_text(i)) variable["missing_text"] = *missing_text(i);
    json["variables"].push_back(std::move(variable));
  }
  return json;
}

Space Space::from_json(const nlohmann::json& json) {
  const auto layout = json.at("layout").get<std::string>();
  if (layout != "table" && layout != "image" && layout != "sequence")
    fail_input("a space of unknown layout '", layout, "'");
  if (layout != "table")
    return uniform(layout == "image" ? Layout::image : Layout::sequence,
                   json_integers(json.at("shape"), "the space's shape"),
                   json_integer(json.at("labels"), "the space's number of labels"),
                   {names_in(json, "label_names"), colours_in(json)});
  std::vector<Variable> variables;
  for (const auto& entry : json.at("variables"))
    variables.push_back({entry.at("name").get<std::string>(),
                         json_integer(entry.at("labels"), "a variable's number of labels"),
                         names_in(entry, "label_names"),
                         entry.contains("bins") ? std::optional(Bins::from_json(entry.at("bins"))) : std::nullopt,
                         missing_text_in(entry)});
  return table(std::move(variables));
}

std::string Space::describe() const {
  std::string labels = std::to_string(max_labels()) + " labels";
  if (is_uniform()) {
    labels += " each";
  } else {
    const auto& counts = contents_->n_labels;
    labels = std::to_string(*std::min_element(counts.begin(), counts.end())) + " to " + labels;
  }
  const std::string where =
      layout() == Layout::image
          ? concat("image of ", shape()[0], "x", shape()[1], " variables with ")
          : concat(kLayoutNames[static_cast<int>(layout())], " of ", n_variables(), " variables with ");
  return where + labels;
}

torch::Tensor enumerate_labelings(const Space& space, int64_t limit) {
  const int64_t count = space.n_labelings(limit);
  if (count > limit)
    fail_input("the ", space.describe(), " has more than ", limit, " labelings: too many to list one by one");
  auto labelings = torch::empty({count, space.n_variables()}, torch::kInt64);
  int64_t run = count;  // how many consecutive rows share a label of variable i
  for (int64_t i = 0; i < space.n_variables(); ++i) {
    const int64_t c = space.n_labels(i);
    run /= c;
    labelings.select(1, i).copy_((torch::arange(count, torch::kInt64).div(run, "floor")).remainder(c));
  }
  return labelings;
}

}  // namespace segre
