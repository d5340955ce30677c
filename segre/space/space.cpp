#include "segre/space/space.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "segre/core/error.h"
#include "segre/core/json_number.h"
#include "segre/core/text.h"
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

void check_label_count(int64_t n_labels, const std::string& what) {
  if (n_labels < 1 || n_labels > kMaxLabels)
    fail_input(what, "a variable has 1 to ", kMaxLabels, " labels, found ", n_labels);
}

// Sizes may come from a file, so each product is checked before it is computed.
void check_shape(const std::vector<int64_t>& shape, int64_t n_labels) {
  int64_t count = 1;
  for (const int64_t extent : shape) {
    if (extent < 1) fail_input("a space needs at least one variable along each axis, found ", extent);
    if (extent > kMaxCoordinates / n_labels / count)
      fail_input("a space of shape ", at::IntArrayRef(shape), " with ", n_labels, " labels each, at most ",
                 kMaxCoordinates, " variables times labels were expected");
    count *= extent;
  }
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

void check_columns(const std::vector<Variable>& columns) {
  if (columns.empty()) fail_input("a table needs at least one variable");
  for (const Variable& v : columns) {
    check_label_count(v.n_labels, concat("variable ", v.name, ": "));
    if (!v.label_names.empty() && static_cast<int64_t>(v.label_names.size()) != v.n_labels)
      fail_input("variable ", v.name, ": ", v.label_names.size(), " label names for ", v.n_labels, " labels");
    if (const auto* name = find_repeated(v.label_names))
      fail_input("variable ", printable(v.name), ": two labels are named '", printable(*name), "'");
    if (v.bins) check_bins(v);
  }
}

// Variables of a sequence or an image.
void check_shared(const Part& part) {
  const size_t axes = part.kind == PartKind::image ? 2 : 1;
  if (part.shape.size() != axes)
    fail_input("a space of layout ", words_of(part.kind).name, " has ", axes, " axes, not ", part.shape.size());
  check_label_count(part.n_labels, "");
  for (const size_t count : {part.labels.names.size(), part.labels.colours.size()})
    if (count != 0 && static_cast<int64_t>(count) != part.n_labels)
      fail_input("a label set of ", count, " names or colours for ", part.n_labels, " labels");
  if (const auto* name = find_repeated(part.labels.names)) fail_input("two labels are named '", printable(*name), "'");
  check_shape(part.shape, part.n_labels);
}

// Checks a part and fills in the shape of a table.
void settle(Part& part) {
  if (part.kind != PartKind::columns) return check_shared(part);
  check_columns(part.columns);
  part.shape = {static_cast<int64_t>(part.columns.size())};
}

void check_part_names(const std::vector<Part>& parts) {
  std::vector<std::string> names;
  for (const Part& part : parts) names.push_back(part.name);
  if (parts.size() < 2) return;
  for (const std::string& name : names)
    if (name.empty()) fail_input("a part of a space with several parts needs a name");
  if (const auto* name = find_repeated(names)) fail_input("two parts are named '", printable(*name), "'");
}

// Whether a table says more of its variables than how many labels they have.
bool is_named(const Part& part) {
  return std::any_of(part.columns.begin(), part.columns.end(), [](const Variable& v) {
    return !v.name.empty() || !v.label_names.empty() || v.bins || !v.column.empty();
  });
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

PartKind kind_named(const std::string& name) {
  for (const PartKind kind : {PartKind::columns, PartKind::sequence, PartKind::image})
    if (name == words_of(kind).name) return kind;
  fail_input("a space of unknown layout '", name, "'");
}

Part part_from(const nlohmann::json& json) {
  Part part{.kind = kind_named(json.at("layout").get<std::string>()), .name = json.value("name", std::string())};
  if (part.kind != PartKind::columns) {
    part.shape = json_integers(json.at("shape"), "the space's shape");
    part.n_labels = json_integer(json.at("labels"), "the space's number of labels");
    part.labels = {names_in(json, "label_names"), colours_in(json)};
    return part;
  }
  for (const auto& entry : json.at("variables"))
    part.columns.push_back({entry.at("name").get<std::string>(),
                            json_integer(entry.at("labels"), "a variable's number of labels"),
                            names_in(entry, "label_names"),
                            entry.contains("bins") ? std::optional(Bins::from_json(entry.at("bins"))) : std::nullopt,
                            missing_text_in(entry), entry.value("column", std::string())});
  return part;
}

// "table of 4 variables with 2 to 7 labels".
std::string describe_part(const Part& part) {
  int64_t least = part.n_labels;
  int64_t most = part.n_labels;
  for (const Variable& v : part.columns) {
    least = least == 0 ? v.n_labels : std::min(least, v.n_labels);
    most = std::max(most, v.n_labels);
  }
  const std::string labels = least == most ? concat(most, " labels each") : concat(least, " to ", most, " labels");
  const std::string extent = part.kind == PartKind::image ? concat(part.height(), "x", part.width())
                                                          : std::to_string(part.size());
  return concat(words_of(part.kind).name, " of ", extent, " variables with ", labels);
}

}  // namespace

const PartWords& words_of(PartKind kind) {
  // In the order of PartKind.
  static constexpr PartWords kWords[] = {{"table", "a", "column", "columns"},
                                         {"sequence", "a", "position", "positions"},
                                         {"image", "an", "pixel", "pixels"}};
  return kWords[static_cast<int>(kind)];
}

int64_t Part::size() const {
  int64_t n = 1;
  for (const int64_t extent : shape) n *= extent;
  return n;
}

struct Space::Contents {
  // Index tensors of one device, built on first use: a large uniform space never needs most of them.
  struct DeviceIndex {
    std::vector<Block> blocks;
    torch::Tensor coordinates_from_blocks;
    torch::Tensor variables_from_blocks;
    torch::Tensor variable_of_coordinate;
    torch::Tensor starts;
  };

  std::vector<Part> parts;
  int64_t n_variables = 0;
  int64_t uniform_labels = 0;     // c if all are equal, else 0
  std::vector<int64_t> n_labels;  // per variable; empty if uniform
  int64_t n_coordinates = 0;
  std::vector<int64_t> item_shape;

  mutable std::mutex mutex;
  mutable std::map<std::string, DeviceIndex> indices;
  mutable torch::Tensor offsets;

  int64_t labels_of(int64_t variable) const { return uniform_labels > 0 ? uniform_labels : n_labels[variable]; }

  // Appends a part's variables.
  void add(Part part) {
    settle(part);
    part.first = n_variables;
    n_variables += part.size();
    for (const Variable& v : part.columns) n_coordinates += v.n_labels;
    if (part.kind != PartKind::columns) n_coordinates += part.size() * part.n_labels;
    if (n_coordinates > kMaxCoordinates)
      fail_input(words_of(part.kind).article, " ", words_of(part.kind).name, " of ", part.size(),
                 " variables has more than ", kMaxCoordinates, " labels in total");
    parts.push_back(std::move(part));
  }

  // Finds out whether all variables have the same number of labels, and lists the numbers if not.
  void count_labels() {
    std::vector<int64_t> found;  // one per part that is not a table, one per column
    for (const Part& part : parts) {
      for (const Variable& v : part.columns) found.push_back(v.n_labels);
      if (part.kind != PartKind::columns) found.push_back(part.n_labels);
    }
    if (std::all_of(found.begin(), found.end(), [&](int64_t c) { return c == found.front(); })) {
      uniform_labels = found.front();
      return;
    }
    for (const Part& part : parts) {
      for (const Variable& v : part.columns) n_labels.push_back(v.n_labels);
      if (part.kind != PartKind::columns) n_labels.insert(n_labels.end(), part.size(), part.n_labels);
    }
  }

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

Space Space::table(std::vector<Variable> columns) {
  return of_parts({{.kind = PartKind::columns, .columns = std::move(columns)}});
}

Space Space::sequence(int64_t length, int64_t n_labels, LabelSet labels) {
  return of_parts(
      {{.kind = PartKind::sequence, .shape = {length}, .n_labels = n_labels, .labels = std::move(labels)}});
}

Space Space::image(int64_t height, int64_t width, int64_t n_labels, LabelSet labels) {
  return of_parts(
      {{.kind = PartKind::image, .shape = {height, width}, .n_labels = n_labels, .labels = std::move(labels)}});
}

Space Space::of_parts(std::vector<Part> parts) {
  if (parts.empty()) fail_input("a space needs at least one part");
  check_part_names(parts);
  auto contents = std::make_shared<Contents>();
  for (Part& part : parts) contents->add(std::move(part));
  contents->count_labels();
  contents->item_shape = parts.size() == 1 ? contents->parts.front().shape : std::vector{contents->n_variables};
  Space space(std::move(contents));
  std::vector<std::string> names;
  for (const Part& part : space.parts())
    for (int64_t i = part.first; is_named(part) && i < part.first + part.size(); ++i)
      names.push_back(space.variable_name(i));
  if (const auto* name = find_repeated(names)) fail_input("two variables are named '", printable(*name), "'");
  return space;
}

const std::vector<Part>& Space::parts() const { return contents_->parts; }

const Part* Space::image_part() const {
  for (const Part& part : parts())
    if (part.kind == PartKind::image) return &part;
  return nullptr;
}

const Part& Space::part_of(int64_t variable) const {
  for (const Part& part : parts())
    if (part.holds(variable)) return part;
  fail("the space has no variable ", variable);
}

Space Space::alone(const Part& part) const { return parts().size() == 1 ? *this : of_parts({part}); }

torch::Tensor Space::labels_of(const Part& part, const torch::Tensor& labels) const {
  return parts().size() == 1 ? labels : labels.narrow(1, part.first, part.size());
}

std::vector<Column> Space::columns() const {
  std::vector<Column> out;
  for (const Part& part : parts()) {
    for (int64_t i = 0; i < static_cast<int64_t>(part.columns.size()); ++i) {
      const std::string& column = part.columns[i].column;
      if (i > 0 && !column.empty() && column == part.columns[i - 1].column) {
        ++out.back().n_variables;
      } else {
        out.push_back({column.empty() ? variable_name(part.first + i) : column, part.first + i});
      }
    }
  }
  return out;
}

std::vector<Column> Space::columns_and_variables() const {
  std::vector<Column> out;
  const auto of_tables = columns();
  auto next = of_tables.begin();
  for (int64_t i = 0; i < n_variables(); i += out.back().n_variables) {
    if (next != of_tables.end() && next->first == i) {
      out.push_back(*next++);
    } else {
      out.push_back({variable_name(i), i});
    }
  }
  return out;
}

Column Space::column_of(int64_t variable) const {
  if (described(variable) == nullptr) return {variable_name(variable), variable};
  for (const Column& column : columns())
    if (variable < column.first + column.n_variables) return column;
  fail("the space has no variable ", variable);
}

const std::vector<int64_t>& Space::item_shape() const { return contents_->item_shape; }

bool Space::is_arranged_like(const Space& other) const {
  const auto alike = [](const Part& a, const Part& b) {
    return a.kind == b.kind && a.name == b.name && a.shape == b.shape;
  };
  return std::equal(parts().begin(), parts().end(), other.parts().begin(), other.parts().end(), alike);
}

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

// The description of a column; nullptr of a pixel or a position.
const Variable* Space::described(int64_t variable) const {
  const Part& part = part_of(variable);
  return part.kind == PartKind::columns ? &part.columns[variable - part.first] : nullptr;
}

std::string Space::variable_name(int64_t variable) const {
  const Variable* described_as = described(variable);
  if (described_as != nullptr && !described_as->name.empty()) return described_as->name;
  const Part& part = part_of(variable);
  if (described_as != nullptr || parts().size() == 1) return concat("x", variable + 1);
  return concat(part.name, ".x", variable - part.first + 1);
}

std::string Space::label_name(int64_t variable, int64_t label) const {
  const Part& part = part_of(variable);
  const auto& names =
      part.kind == PartKind::columns ? part.columns[variable - part.first].label_names : part.labels.names;
  return names.empty() ? std::to_string(label) : names[label];
}

const Bins* Space::bins(int64_t variable) const {
  const Variable* described_as = described(variable);
  return described_as != nullptr && described_as->bins ? &*described_as->bins : nullptr;
}

const std::optional<std::string>& Space::missing_text(int64_t variable) const {
  static const std::optional<std::string> kUnset;
  const Variable* described_as = described(variable);
  return described_as != nullptr ? described_as->missing_text : kUnset;
}

const LabelSet& Space::label_set() const {
  static const LabelSet kNone;
  return parts().size() == 1 ? parts().front().labels : kNone;
}

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
  if (parts().size() == 1) return part_json(parts().front());
  nlohmann::json json;
  for (const Part& part : parts()) json["parts"].push_back(part_json(part));
  return json;
}

nlohmann::json Space::part_json(const Part& part) const {
  nlohmann::json json{{"layout", words_of(part.kind).name}, {"shape", part.shape}};
  if (!part.name.empty()) json["name"] = part.name;
  if (part.kind != PartKind::columns) {
    json["labels"] = part.n_labels;
    if (!part.labels.names.empty()) json["label_names"] = part.labels.names;
    if (!part.labels.colours.empty()) json["label_colours"] = part.labels.colours;
    return json;
  }
  for (int64_t i = 0; i < part.size(); ++i) {
    const Variable& v = part.columns[i];
    nlohmann::json variable{{"name", variable_name(part.first + i)}, {"labels", v.n_labels}};
    if (!v.label_names.empty()) variable["label_names"] = v.label_names;
    if (v.bins) variable["bins"] = v.bins->to_json();
    if (v.missing_text) variable["missing_text"] = *v.missing_text;
    if (!v.column.empty()) variable["column"] = v.column;
    json["variables"].push_back(std::move(variable));
  }
  return json;
}

Space Space::from_json(const nlohmann::json& json) {
  std::vector<Part> parts;
  if (json.contains("parts")) {
    for (const auto& part : json.at("parts")) parts.push_back(part_from(part));
  } else {
    parts.push_back(part_from(json));
  }
  return of_parts(std::move(parts));
}

std::string Space::describe() const {
  std::vector<std::string> described_as;
  for (const Part& part : parts()) {
    const std::string text = describe_part(part);
    described_as.push_back(parts().size() == 1 ? text : concat(part.name, ": ", text));
  }
  return join(described_as, "; ");
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
