// What is known of all rows of a request.

#include "segre/tasks/condition.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "bindings.h"
#include "labels.h"
#include "segre/core/log.h"
#include "work.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace segre::python {
namespace {

// A label, or the ends of a range and whether they belong to it.
using StatedSpec = std::tuple<std::string, std::optional<std::tuple<std::string, std::string, bool, bool>>>;
// A column, what it may be, and how messages call the statement.
using StatementSpec = std::tuple<std::string, std::vector<StatedSpec>, std::string>;

template <class Value>
using WithNotes = std::pair<Value, std::vector<std::string>>;

Stated stated_of(const StatedSpec& spec) {
  const auto& [text, range] = spec;
  Stated stated{.text = text};
  if (range) {
    const auto& [low, high, has_low, has_high] = *range;
    stated.range = Stated::Range{.low = low, .high = high, .has_low = has_low, .has_high = has_high};
  }
  return stated;
}

WithNotes<Condition> of_statements(const Space& space, const std::vector<StatementSpec>& specs) {
  NoteCollector notes;
  std::vector<Statement> statements;
  for (const auto& [column, any_of, text] : specs) {
    statements.push_back({.column = column, .any_of = {}, .text = text});
    for (const StatedSpec& spec : any_of) statements.back().any_of.push_back(stated_of(spec));
  }
  Condition condition(space, statements, "given");
  return {std::move(condition), notes.take()};
}

// Which variables the words name, and what they state.
using Terms = std::tuple<std::optional<torch::Tensor>, Condition, std::vector<std::string>>;

Terms parse(const Space& space, const std::vector<std::string>& words) {
  NoteCollector notes;
  GivenTerms terms = parse_given(space, words, "given");
  return {maybe(terms.variables), std::move(terms.condition), notes.take()};
}

}  // namespace

void bind_condition(nb::module_& m) {
  nb::class_<Condition>(m, "Condition")
      .def_prop_ro("text", &Condition::text)
      .def_prop_ro("is_empty", &Condition::empty)
      .def_static("of", &of_statements, "space"_a, "statements"_a)
      .def_static("parse", &parse, "space"_a, "words"_a)
      .def_static(
          "of_labels",
          [](const Space& space, const torch::Tensor& labels) {
            return Condition(
                checked_labels(space, labels, Unknowns::allow).to(torch::kCPU, torch::kInt64).contiguous());
          },
          "space"_a, "labels"_a);
}

}  // namespace segre::python
