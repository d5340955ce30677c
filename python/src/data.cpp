// Spaces and sources of data.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "bindings.h"
#include "segre/core/error.h"
#include "segre/core/log.h"
#include "segre/io/csv.h"
#include "segre/read/frame.h"
#include "segre/read/readers.h"
#include "segre/sources/relabel.h"
#include "segre/sources/source_kinds.h"
#include "segre/space/check_labels.h"
#include "work.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace segre::python {
namespace {

using SharedSource = std::shared_ptr<DataSource>;

std::string layout_name(const Space& space) {
  return space.parts().size() == 1 ? words_of(space.parts().front().kind).name : "parts";
}

// Columns by name, each with its number of labels or with their names.
Space table_space(const nb::object& columns) {
  std::vector<Variable> variables;
  for (nb::handle item : nb::iter(columns.attr("items")())) {
    const nb::object labels = item[1];
    Variable variable{nb::cast<std::string>(nb::str(item[0])), 0, {}};
    if (PyLong_Check(labels.ptr())) {
      variable.n_labels = nb::cast<int64_t>(labels);
    } else {
      for (nb::handle label : nb::iter(labels)) variable.label_names.push_back(nb::cast<std::string>(nb::str(label)));
      variable.n_labels = static_cast<int64_t>(variable.label_names.size());
    }
    variables.push_back(std::move(variable));
  }
  return Space::table(std::move(variables));
}

std::vector<std::string> variable_names(const Space& space) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < space.n_variables(); ++i) names.push_back(space.variable_name(i));
  return names;
}

std::vector<std::string> label_names(const Space& space, int64_t variable) {
  std::vector<std::string> names;
  for (int64_t j = 0; j < space.n_labels(variable); ++j) names.push_back(space.label_name(variable, j));
  return names;
}

// The columns of a table, or the variables of another space: name, first variable, how many.
std::vector<std::tuple<std::string, int64_t, int64_t>> columns(const Space& space) {
  std::vector<std::tuple<std::string, int64_t, int64_t>> found;
  for (const Column& column : space.columns_and_variables())
    found.emplace_back(column.name, column.first, column.n_variables);
  return found;
}

// How a variable's labels are to be read: "label", or what its bins are: "number", "day", "minute", "second" (dates
// written down to it), "zoned" (the same with an offset from UTC), "time" (of day) or "duration".
std::string unit_of(const Space& space, int64_t variable) {
  const Bins* bins = space.bins(variable);
  if (bins == nullptr) return "label";
  const std::string called = bins->called();
  if (called == "time of day") return "time";
  if (called != "date") return called;
  if (bins->has_zone()) return "zoned";
  return bins->unit == Bins::Unit::day ? "day" : bins->unit == Bins::Unit::minute ? "minute" : "second";
}

// The cells of a column from the labels [N, 1 or 2] of its variables; numbers are those that `segre` draws with this
// seed. If they are to be plain, dates are written as YYYY-MM-DD HH:MM:SS, in UTC where they have an offset.
std::vector<std::string> texts(const Space& space, int64_t variable, const torch::Tensor& labels, uint64_t seed,
                               int64_t draw, bool middle, bool plain) {
  const BinValues values{.random = RandomStream(seed, Purpose::bin_values).part(draw)};
  const auto all = labels.to(torch::kCPU, torch::kInt64).contiguous();
  const Column column{"", variable, all.size(1)};
  std::optional<Bins> dates;
  if (const Bins* bins = space.bins(variable); plain && bins != nullptr && bins->called() == std::string_view("date")) {
    dates = *bins;
    dates->pattern = bins->has_zone() ? "%Y-%m-%d %TZ" : "";
  }
  const auto* label = all.const_data_ptr<int64_t>();
  std::vector<std::string> found;
  for (int64_t row = 0; row < all.size(0); ++row, label += column.n_variables) {
    const double within = middle ? kMiddle : values.within(space, row, variable);
    const bool is_date = dates && label[0] < dates->size();
    found.push_back(is_date ? dates->draw({label[0], column.n_variables == 2 ? label[1] : 0}, within)
                            : cell_text(space, column, label, within));
  }
  return found;
}

// name, texts, codes, whether the texts are all labels
using FrameSpec = std::tuple<std::string, std::vector<std::string>, torch::Tensor, bool>;

Frame frame_of(const std::vector<FrameSpec>& columns, int64_t n_rows, const std::string& called) {
  Frame frame{.columns = {}, .n_rows = n_rows, .called = called};
  for (const auto& [name, column_texts, codes, declared] : columns)
    frame.columns.push_back({name, column_texts, codes, declared});
  return frame;
}

// A source for a model, and what the user should know about it.
using Opened = std::pair<SharedSource, std::vector<std::string>>;

template <class Open>
Opened with_notes(const Open& open) {
  NoteCollector notes;
  SharedSource source = open();
  return {std::move(source), notes.take()};
}

Opened named_source(const std::string& name) {
  return with_notes([&]() -> SharedSource { return open_source(name); });
}

Opened frame_source(const std::vector<FrameSpec>& columns, int64_t n_rows, const std::string& options) {
  return with_notes([&]() -> SharedSource {
    const SourceName name = parse_source_name(options);
    return make_dataset_source(read_frame(frame_of(columns, n_rows, name.target()), name));
  });
}

Opened named_source_for(const Space& space, const std::string& name, bool unknowns) {
  return with_notes([&] { return open_source_for(space, name, name, unknowns ? Unknowns::allow : Unknowns::refuse); });
}

Opened frame_source_for(const std::vector<FrameSpec>& columns, int64_t n_rows, const std::string& options,
                        const Space& space, bool unknowns) {
  return with_notes([&]() -> SharedSource {
    const SourceName name = parse_source_name(options);
    return make_dataset_source(read_frame_for(frame_of(columns, n_rows, name.target()), name, space, name.target(),
                                              unknowns ? Unknowns::allow : Unknowns::refuse));
  });
}

SharedSource array_source(const torch::Tensor& values, const std::string& options) {
  return make_dataset_source(read_array(values.to(torch::kCPU), parse_source_name(options)));
}

// Label numbers of a model's own; for a table one column per variable.
SharedSource array_for(const torch::Tensor& values, const std::string& options, const Space& space) {
  const SourceName name = parse_source_name(options);
  const bool is_number = c10::isIntegralType(values.scalar_type(), /*includeBool=*/true);
  // Items of which nothing is known say nothing about labels, so they need none.
  const bool fits = values.dim() > 1 && values.sizes().slice(1) == at::IntArrayRef(space.item_shape());
  if (is_number && fits && (values < 0).all().item<bool>() && values.size(0) > 0)
    return make_dataset_source({space, values.to(torch::kCPU).flatten(1), false, {}, Unknowns::allow});
  if (!space.is(PartKind::columns)) {
    const SharedSource source = make_dataset_source(read_array(values.to(torch::kCPU), name, Strays::keep));
    return relabel(space, source, name.target());
  }
  if (!is_number)
    fail_input(name.target(), ": holds values of type ", c10::toString(values.scalar_type()),
               ", integers were expected");
  return make_dataset_source({space, values.to(torch::kCPU), false, {}, Unknowns::allow});
}

Opened array_source_for(const torch::Tensor& values, const std::string& options, const Space& space) {
  return with_notes([&] { return array_for(values, options, space); });
}

torch::Tensor rows(const DataSource& source, int64_t first, int64_t count) {
  const auto labels = source.rows(first, count);
  return labels.to(label_type(source.space(), source.has_unknowns() ? Unknowns::allow : Unknowns::refuse));
}

// The row of each item in its table, counted from 0: [N] int64.
torch::Tensor table_rows(const DataSource& source) {
  auto numbers = torch::empty({source.n_items()}, torch::kInt64);
  auto* number = numbers.data_ptr<int64_t>();
  for (int64_t item = 0; item < source.n_items(); ++item) number[item] = source.file_row(item);
  return numbers;
}

}  // namespace

void bind_data(nb::module_& m) {
  nb::class_<Space>(
      m, "Space",
      "The variables, each with its own labels: the columns of a table, or the cells of sequences and images.")
      .def_static("table", &table_space, "columns"_a,
                  nb::sig("def table(columns: collections.abc.Mapping[str, object]) -> Space"),
                  "Columns by name, each with its number of labels or their names.")
      .def_static(
          "sequence", [](int64_t length, int64_t labels) { return Space::sequence(length, labels); }, "length"_a,
          "n_labels"_a, "Sequences of one length, whose positions share their labels.")
      .def_static(
          "image", [](int64_t height, int64_t width, int64_t labels) { return Space::image(height, width, labels); },
          "height"_a, "width"_a, "n_labels"_a, "Images of one size, whose pixels share their labels.")
      .def_prop_ro("layout", &layout_name, "table, sequence or image; parts if it has several.")
      .def_prop_ro("shape", &Space::item_shape, "[columns], [length] or [height, width].")
      .def_prop_ro("n_variables", &Space::n_variables, "n, the number of columns or cells.")
      .def_prop_ro("n_coordinates", &Space::n_coordinates, "S, the number of labels of all variables together.")
      .def_prop_ro("names", &variable_names, "The names of the variables.")
      .def("n_labels", &Space::n_labels, "variable"_a, "The number of labels of a variable.")
      .def("offset", &Space::offset, "variable"_a, "Where its labels start among the S coordinates.")
      .def("label_names", &label_names, "variable"_a, "The names of its labels.")
      .def_prop_ro("columns", &columns,
                   "The columns of a table as the user knows them, each with its first variable and how many it has: a "
                   "number may have two. Of other spaces, the variables.")
      .def("_unit", &unit_of, "variable"_a)
      .def(
          "_are_levels",
          [](const Space& space, int64_t variable) {
            const Bins* bins = space.bins(variable);
            return bins != nullptr && bins->are_levels;
          },
          "variable"_a)
      .def(
          "_is_measured",
          [](const Space& space, int64_t variable) {
            const Bins* bins = space.bins(variable);
            return bins != nullptr && bins->is_measured();
          },
          "variable"_a)
      .def("_texts", &texts, "variable"_a, "labels"_a, "seed"_a, "draw"_a = 0, "middle"_a = false, "plain"_a = false)
      .def(
          "_missing_text",
          [](const Space& space, int64_t variable) { return space.missing_text(variable).value_or(""); }, "variable"_a)
      .def("__str__", &Space::describe)
      .def("__repr__", [](const Space& space) { return "Space(" + space.describe() + ")"; });

  nb::class_<DataSource>(m, "Source")
      .def_prop_ro("space", &DataSource::space, nb::rv_policy::copy)
      .def_prop_ro("n_items", &DataSource::n_items)
      .def("rows", &rows, "first"_a, "count"_a, nb::call_guard<Work>())
      .def("_table_rows", &table_rows);
  m.def("open_source", &named_source, "name"_a, nb::call_guard<Work>());
  m.def("open_source_for", &named_source_for, "space"_a, "name"_a, "unknowns"_a, nb::call_guard<Work>());
  m.def("frame_source", &frame_source, "columns"_a, "n_rows"_a, "options"_a, nb::call_guard<Work>());
  m.def("frame_source_for", &frame_source_for, "columns"_a, "n_rows"_a, "options"_a, "space"_a, "unknowns"_a,
        nb::call_guard<Work>());
  m.def("array_source", &array_source, "values"_a, "options"_a, nb::call_guard<Work>());
  m.def("array_source_for", &array_source_for, "values"_a, "options"_a, "space"_a, nb::call_guard<Work>());
  m.def("escaped", &escaped, "word"_a);
}

}  // namespace segre::python
