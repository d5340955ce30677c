#include "segre/sources/relabel.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>

#include "segre/core/error.h"
#include "segre/core/utf8.h"
#include "segre/data/label_dictionary.h"
#include "segre/data/label_finder.h"
#include "segre/io/growing_buffer.h"
#include "segre/io/mapped_rows.h"
#include "segre/read/readers.h"
#include "segre/sources/source_kinds.h"
#include "segre/space/check_labels.h"

namespace segre {
namespace {

constexpr int64_t kValuesAtOnce = 1 << 22;  // relabelled at once: indices take eight bytes each

// A label that the other space does not have: its position and name.
struct Stranger {
  int64_t row;
  int64_t variable;
  std::string label;
};

std::vector<std::string> column_names(const Space& space) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < space.n_variables(); ++i) names.push_back(space.variable_name(i));
  return names;
}

// Those of `these` that are not in `others`.
std::vector<std::string> missing_in(const std::vector<std::string>& others, std::vector<std::string> these) {
  const std::unordered_set<std::string> there(others.begin(), others.end());  // a table may have a million columns
  std::erase_if(these, [&](const std::string& name) { return there.contains(name); });
  return these;
}

// The position of each column of the space in a table. InputError names the columns that the table lacks.
std::vector<int64_t> match_columns(const Space& space, const Space& from, const std::string& what) {
  const auto expected = column_names(space);
  const auto found = column_names(from);
  if (const auto lacking = missing_in(found, expected); !lacking.empty())
    fail_input(what, ": has no column ", list_labels(lacking), "; it has ", list_labels(found), ", and ",
               list_labels(expected), " were expected");
  std::unordered_map<std::string, int64_t> places;
  for (size_t i = 0; i < found.size(); ++i) places.emplace(found[i], static_cast<int64_t>(i));
  std::vector<int64_t> columns;
  for (const std::string& name : expected) columns.push_back(places.at(name));
  return columns;
}

void check_same_shape(const Space& space, const Space& from, const std::string& what) {
  const bool are_tables = space.is(PartKind::columns) && from.is(PartKind::columns);
  if (are_tables) {
    match_columns(space, from, what);
  } else if (!from.is_arranged_like(space)) {
    fail_input(what, ": ", from.describe(), ", expected ", space.describe());
  }
}

// Notes which variables of a source the space does not have.
void note_others(const Space& space, const Space& from, const std::string& what) {
  if (from.is(PartKind::columns)) note_ignored(what, missing_in(column_names(space), column_names(from)));
}

// "row 3, column 7" of an image, "position 5" of a sequence.
std::string place_within(const Space& space, int64_t variable) {
  if (!space.is(PartKind::image)) return concat("position ", variable);
  const int64_t width = space.image_part()->width();
  return concat("row ", variable / width, ", column ", variable % width);
}

[[noreturn]] void refuse(const Space& space, const Stranger& found, const std::string& what, const PlaceOfRow& place) {
  std::string where = place ? place(found.row) : "";
  if (where.empty()) where = concat(what, ": item ", found.row);
  if (space.is(PartKind::columns)) fail_input(where, ": ", unknown_label(space, found.variable, found.label));
  const bool named = !space.label_set().names.empty();
  fail_input(where, ": ", place_within(space, found.variable), ": label '", printable(found.label),
             "', which training never saw; it has ",
             named ? list_labels(label_names(space, 0)) : concat("0 to ", space.max_labels() - 1),
             " (if it can occur, train with the number of labels declared: labels=)");
}

// Whether labels are the same levels, whose names do not find them where several levels share a label.
bool have_same_levels(const Bins* bins, const Bins* others) {
  return bins != nullptr && others != nullptr && bins->are_levels && bins->to_json() == others->to_json();
}

// The new number of each label of a variable; -1 if the other space does not have it: [from.n_labels] int64.
torch::Tensor places(const Space& space, int64_t variable, const Space& from, int64_t from_variable) {
  if (have_same_levels(space.bins(variable), from.bins(from_variable)) &&
      space.n_labels(variable) == from.n_labels(from_variable))
    return torch::arange(space.n_labels(variable), torch::kInt64);
  const LabelFinder labels(space, variable);
  auto place = torch::empty({from.n_labels(from_variable)}, torch::kInt64);
  auto* at = place.data_ptr<int64_t>();
  for (int64_t label = 0; label < place.size(0); ++label)
    at[label] = labels.find(from.label_name(from_variable, label));
  return place;
}

// The new numbers of labels [K]; kUnknown stays.
torch::Tensor renumbered(const torch::Tensor& places, const torch::Tensor& labels) {
  const auto numbers = places.index_select(0, labels.clamp_min(0));
  return torch::where(labels < 0, torch::full_like(numbers, kUnknown), numbers);
}

// Of the relabelled labels: unsigned ones cannot be unknown.
torch::ScalarType type_for(const Space& space, const torch::Tensor& labels) {
  bool some_unknown = false;
  if (c10::isSignedType(labels.scalar_type()))
    for_each_part(labels, [&](const torch::Tensor& part, int64_t) {
      some_unknown = some_unknown || (part < 0).any().item<bool>();
    });
  return label_type(space, some_unknown ? Unknowns::allow : Unknowns::refuse);
}

// check_integer_labels, part by part if the labels are mapped.
void check_parts(const Space& space, const torch::Tensor& labels) {
  if (!is_mapped(labels)) return check_integer_labels(space, labels, Unknowns::allow);
  for_each_part(labels,
                [&](const torch::Tensor& part, int64_t) { check_integer_labels(space, part, Unknowns::allow); });
}

// Relabels rows first ... of the source, [B, n] int64: returns their labels in the other space, or throws.
using RelabelRows = std::function<torch::Tensor(const torch::Tensor& rows, int64_t first)>;

// All labels relabelled, some rows at a time, as label_type(space).
torch::Tensor relabel_rows(const Space& space, const torch::Tensor& labels, torch::ScalarType type,
                           const RelabelRows& relabelled) {
  auto out = large_tensor({labels.size(0), space.n_variables()}, type);
  const int64_t rows_at_once = std::max<int64_t>(1, kValuesAtOnce / std::max<int64_t>(1, labels.size(1)));
  for (int64_t first = 0; first < labels.size(0); first += rows_at_once) {
    const auto rows = copy_rows(labels, first, rows_at_once).to(torch::kInt64).contiguous();
    const auto to = out.slice(0, first, first + rows.size(0));
    to.copy_(relabelled(rows, first));
    release_pages(to);
  }
  return out;
}

// Whether labels without names meet names that are not numbers, such as the categories of streets: an array of samples
// is read back this way. Names like "0", "1", "ignore" are matched.
bool goes_by_number(const Space& space, const Space& from) {
  return from.label_set().names.empty() && LabelFinder(space, 0).find("0") < 0;
}

// The same number for each label; -1 beyond those of the space.
torch::Tensor same_numbers(const Space& space, const Space& from) {
  const auto number = torch::arange(from.max_labels(), torch::kInt64);
  return torch::where(number < space.max_labels(), number, torch::full({1}, -1, torch::kInt64));
}

// Whether every label keeps its number.
bool is_identity(const torch::Tensor& place) {
  return torch::equal(place, torch::arange(place.size(0), torch::kInt64));
}

// Where the columns of a space are in a table, and the new numbers of their labels.
struct MatchedColumns {
  std::vector<int64_t> at;       // by column of the space
  std::vector<int64_t> start;    // of its labels in `numbers`
  std::vector<int64_t> numbers;  // see places(), one column after another
};

MatchedColumns match_labels(const Space& space, const Space& from, const std::string& what) {
  MatchedColumns matched{match_columns(space, from, what), {}, {}};
  for (const int64_t at : matched.at) {
    const auto place = places(space, static_cast<int64_t>(matched.start.size()), from, at);
    matched.start.push_back(static_cast<int64_t>(matched.numbers.size()));
    matched.numbers.insert(matched.numbers.end(), place.data_ptr<int64_t>(), place.data_ptr<int64_t>() + place.numel());
  }
  return matched;
}

// Whether a table has the columns of the space in their order, and every label keeps its number.
bool is_same_table(const Space& from, const MatchedColumns& matched) {
  if (from.n_variables() != static_cast<int64_t>(matched.at.size())) return false;
  for (size_t i = 0; i < matched.at.size(); ++i) {
    if (matched.at[i] != static_cast<int64_t>(i)) return false;
    for (int64_t label = 0; label < from.n_labels(matched.at[i]); ++label)
      if (matched.numbers[matched.start[i] + label] != label) return false;
  }
  return true;
}

torch::Tensor relabel_table(const Space& space, const Space& from, const torch::Tensor& labels, const std::string& what,
                            const PlaceOfRow& place) {
  const MatchedColumns matched = match_labels(space, from, what);
  const auto type = type_for(space, labels);
  if (is_same_table(from, matched)) return converted(labels, type);
  const auto n = static_cast<int64_t>(matched.at.size());
  return relabel_rows(space, labels, type, [&](const torch::Tensor& rows, int64_t first) {
    auto out = torch::empty({rows.size(0), n}, torch::kInt64);
    auto* number = out.data_ptr<int64_t>();
    const auto* row = rows.const_data_ptr<int64_t>();
    for (int64_t r = 0; r < rows.size(0); ++r, row += rows.size(1), number += n)
      for (int64_t i = 0; i < n; ++i) {
        const int64_t label = row[matched.at[i]];
        number[i] = label < 0 ? kUnknown : matched.numbers[matched.start[i] + label];
        if (number[i] < 0 && label >= 0)
          refuse(space, {first + r, i, from.label_name(matched.at[i], label)}, what, place);
      }
    return out;
  });
}

// Sequences and images: all variables share their labels.
torch::Tensor relabel_shared(const Space& space, const Space& from, const torch::Tensor& labels,
                             const std::string& what, const PlaceOfRow& place) {
  const auto numbers_of = goes_by_number(space, from) ? same_numbers(space, from) : places(space, 0, from, 0);
  const auto type = type_for(space, labels);
  if (is_identity(numbers_of)) return converted(labels, type);
  return relabel_rows(space, labels, type, [&](const torch::Tensor& rows, int64_t first) {
    auto numbers = renumbered(numbers_of, rows.reshape(-1)).view_as(rows);
    const auto strange = (numbers < 0).logical_and(rows >= 0).nonzero();
    if (strange.size(0) == 0) return numbers;
    const int64_t row = strange[0][0].item<int64_t>();
    const int64_t variable = strange[0][1].item<int64_t>();
    const std::string label = from.label_name(variable, rows[row][variable].item<int64_t>());
    refuse(space, {first + row, variable, label}, what, place);
  });
}

// A source without a dataset or a known distribution, relabelled as its items come.
class RelabelledSource final : public DataSource {
 public:
  RelabelledSource(const Space& space, std::shared_ptr<DataSource> source, std::string what)
      : space_(space), source_(std::move(source)), what_(std::move(what)) {}
  const Space& space() const override { return space_; }
  int64_t n_items() const override { return source_->n_items(); }
  torch::Tensor rows(int64_t first, int64_t count) const override { return aligned(source_->rows(first, count)); }
  torch::Tensor items(const RandomStream& random, uint64_t first_item, int64_t count) const override {
    return aligned(source_->items(random, first_item, count));
  }
  torch::Tensor take(const torch::Tensor& numbers) const override { return aligned(source_->take(numbers)); }
  std::string place(int64_t item) const override { return source_->place(item); }
  int64_t file_row(int64_t item) const override { return source_->file_row(item); }
  bool has_unknowns() const override { return source_->has_unknowns(); }
  bool mirrors() const override { return source_->mirrors(); }

 private:
  torch::Tensor aligned(const torch::Tensor& labels) const {
    return relabel(space_, source_->space(), labels, what_).to(torch::kInt64);
  }
  Space space_;
  std::shared_ptr<DataSource> source_;
  std::string what_;
};

// Merges equal labelings: adds their probabilities, in order of first occurrence.
JointTable merge_equal(const JointTable& joint) {
  const int64_t n = joint.space.n_variables();
  std::map<std::vector<int64_t>, int64_t> places;
  std::vector<int64_t> first_rows;
  std::vector<double> p;
  const auto* label = joint.labelings.data_ptr<int64_t>();
  const auto* weight = joint.p.data_ptr<double>();
  for (int64_t row = 0; row < joint.p.size(0); ++row, label += n) {
    const auto [at, is_new] =
        places.try_emplace(std::vector<int64_t>(label, label + n), static_cast<int64_t>(first_rows.size()));
    if (is_new) {
      first_rows.push_back(row);
      p.push_back(0.0);
    }
    p[at->second] += weight[row];
  }
  if (static_cast<int64_t>(p.size()) == joint.p.size(0)) return joint;
  const auto rows = torch::tensor(first_rows, torch::kInt64);
  return make_joint_table(joint.space, joint.labelings.index_select(0, rows), torch::tensor(p, torch::kFloat64),
                          joint.origin.select(rows));
}

JointTable relabel_joint(const Space& space, const JointTable& joint, const std::string& what) {
  const auto place = [&](int64_t row) { return joint.origin.place(row); };
  const auto labelings = relabel(space, joint.space, joint.labelings, what, place).to(torch::kInt64).contiguous();
  return merge_equal({space, labelings, joint.p, joint.origin});
}

}  // namespace

torch::Tensor relabel(const Space& space, const Space& from, const torch::Tensor& labels, const std::string& what,
                      const PlaceOfRow& place) {
  check_same_shape(space, from, what);
  check_parts(from, labels);
  return space.is(PartKind::columns) ? relabel_table(space, from, labels, what, place)
                                     : relabel_shared(space, from, labels, what, place);
}

std::shared_ptr<DataSource> relabel(const Space& space, std::shared_ptr<DataSource> source, const std::string& what) {
  if (source->space().shares_contents_of(space)) return source;
  if (const JointTable* joint = source->joint()) return make_joint_source(relabel_joint(space, *joint, what));
  if (const Dataset* dataset = source->dataset()) {
    const auto place = [&](int64_t row) { return dataset->origin.place(row); };
    return make_dataset_source({space, relabel(space, dataset->space, dataset->labels, what, place), dataset->mirror,
                                dataset->origin, dataset->unknowns, /*outside=*/{}, dataset->file_rows});
  }
  check_same_shape(space, source->space(), what);
  return std::make_shared<RelabelledSource>(space, std::move(source), what);
}

std::shared_ptr<DataSource> open_source_for(const Space& space, const std::string& name, const std::string& what,
                                            Unknowns unknowns) {
  const Wanted wanted{space, what, 0, unknowns};
  std::shared_ptr<DataSource> source = open_source(name, &wanted);
  auto relabelled = relabel(space, source, what);
  note_others(space, source->space(), what);
  return relabelled;
}

torch::Tensor first_items(const Space& space, const DataSource& source, int64_t most, const std::string& what,
                          Unknowns unknowns) {
  if (unknowns == Unknowns::refuse) require_complete(source, what);
  const int64_t n = source.n_items();
  if (n == 0 && most == 0) fail_input(what, ": is endless; give the number of items");
  const int64_t count = n == 0 ? most : most == 0 ? n : std::min(most, n);
  if (const JointTable* joint = source.joint()) relabel_joint(space, *joint, what);  // checks all of it
  const auto place = [&](int64_t row) { return source.place(row); };
  return relabel(space, source.space(), source.rows(0, count), what, place).to(torch::kInt64);
}

NumberedItems numbered_items(const Space& space, const std::string& name, int64_t most, const std::string& what,
                             Unknowns unknowns) {
  const Wanted wanted{space, what, most};
  const auto source = open_source(name, &wanted);
  NumberedItems items{first_items(space, *source, most, what, unknowns), {}};
  items.file_rows = file_rows_of(*source, items.labels.size(0));
  note_others(space, source->space(), what);
  return items;
}

torch::Tensor first_items(const Space& space, const std::string& name, int64_t most, const std::string& what,
                          Unknowns unknowns) {
  return numbered_items(space, name, most, what, unknowns).labels;
}

}  // namespace segre
