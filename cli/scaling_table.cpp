#include "cli/scaling_table.h"

#include <algorithm>
#include <iomanip>
#include <iostream>

#include "segre/core/error.h"
#include "segre/core/memory.h"
#include "segre/core/text.h"

namespace segre::cli {
namespace {

constexpr size_t kLine = 106;  // characters after the first column of `segre describe`

std::string ms(double seconds) { return plain_digits(1e3 * seconds, 3); }
std::string one_decimal(double share) { return fixed(100.0 * share, 1) + "%"; }
std::string bytes(double count) { return format_bytes(static_cast<int64_t>(count)); }

// A paragraph whose first line starts with `name`, the others below its text.
void print_part(std::ostream& out, const std::string& name, const std::string& text) {
  std::string first = name;
  for (const std::string& line : split(wrap(text, kLine), '\n')) {
    out << std::left << std::setw(13) << first << line << '\n' << std::right;
    first.clear();
  }
}

void print_row(std::ostream& out, const std::vector<std::string>& cells) {
  static constexpr int kWidths[] = {7, 8, 9, 9, 9, 9, 9, 9, 8, 8, 10};
  for (size_t k = 0; k < std::size(kWidths); ++k) out << std::setw(kWidths[k]) << cells[k];
  out << "  " << cells.back() << '\n';
}

void print_row(std::ostream& out, const ScalingRow& row) {
  print_row(out, {std::to_string(row.ranks), std::to_string(row.items), ms(row.compute), ms(row.in_node),
                  ms(row.between_nodes), ms(row.exposed), ms(row.step), plain_digits(row.items_per_second, 3),
                  one_decimal(row.strong), one_decimal(row.weak), bytes(row.memory), name_of(row.bound)});
}

// As --assume takes them.
std::string assumptions(Machine& machine) {
  ConfigSchema schema;
  declare_machine_keys(schema, machine);
  std::string text;
  for (const std::string& line : split(schema.to_toml(/*with_help=*/false), '\n')) {
    if (line.empty()) continue;
    const size_t sign = line.find(" = ");
    text += concat(text.empty() ? "" : ", ", line.substr(0, sign), "=", line.substr(sign + 3));
  }
  return text;
}

std::string meaning(Bound bound, const StepWork& work, const Machine& machine) {
  switch (bound) {
    case Bound::few_items:
      return "few items: the fixed cost of a step; a larger train.batch scales better";
    case Bound::latency:
      return "latency: starting messages between ranks takes longer than sending them";
    case Bound::bandwidth:
      return "bandwidth: sending gradients and weights takes longer than the backward pass can hide";
    case Bound::shards:
      return concat("shards: a batch of ", work.batch, " divides into ", work.n_shards,
                    " parts; ranks beyond those have nothing to do");
    case Bound::memory:
      return concat("memory: more than ", bytes(machine.memory), " per rank; choose more ranks or a smaller batch");
    default:
      return "compute: at least nine tenths of a step";
  }
}

}  // namespace

void print_scaling(std::ostream& out, const StepWork& work, Machine machine, const std::string& share_source,
                   const std::vector<int64_t>& ranks) {
  const auto parameters = static_cast<double>(work.cost.n_parameters);
  print_part(out, "scaling",
             concat("a model, not a measurement; times in ms per step of ", work.batch, " items in all; ",
                    bytes(work.sent_bytes_per_number * parameters), " of gradients and ",
                    bytes(work.bytes_per_number * parameters),
                    " of weights are exchanged; strong: this batch is divided, weak: every rank has one"));
  print_row(out, {"ranks", "items", "compute", "in node", "between", "exposed", "step", "items/s", "strong", "weak",
                  "memory", "bound by"});
  std::vector<Bound> bounds;
  for (const int64_t count : ranks) {
    const ScalingRow row = plan_scaling(work, machine, count);
    print_row(out, row);
    if (std::find(bounds.begin(), bounds.end(), row.bound) == bounds.end()) bounds.push_back(row.bound);
  }
  print_part(out, "assumed", assumptions(machine));
  if (!share_source.empty()) print_part(out, "share", share_source);
  std::string name = "bound by";
  for (const Bound bound : bounds) {
    print_part(out, name, meaning(bound, work, machine));
    name.clear();
  }
}

}  // namespace segre::cli
