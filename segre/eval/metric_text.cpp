#include "segre/eval/metric_text.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>

#include "segre/core/error.h"
#include "segre/io/csv.h"

namespace segre {
namespace {

std::string fixed(double value, int digits) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(digits) << value;
  return out.str();
}

// All digits; "" for NaN.
std::string exact_number(double value) {
  if (std::isnan(value)) return "";
  std::ostringstream out;
  out << std::setprecision(10) << value;
  return out.str();
}

}  // namespace

std::string short_number(double value) {
  if (std::isnan(value)) return "";
  const double size = std::abs(value);
  if (size == 0.0) return "0";
  if (size < 1e-4) {
    std::ostringstream out;
    out << std::setprecision(2) << value;
    return out.str();
  }
  const int before = static_cast<int>(std::floor(std::log10(size))) + 1;  // digits before the point, or -zeros after it
  return fixed(value, std::clamp(3 - before, 0, 6));
}

std::string percent_text(double share) { return concat(fixed(100.0 * share, share < 0.1 ? 2 : 1), "%"); }

std::string variable_text(const Space& space, int64_t variable) {
  const Part& part = space.part_of(variable);
  if (part.kind != PartKind::image) return space.variable_name(variable);
  const int64_t place = variable - part.first;
  return concat("pixel (", place / part.width(), ", ", place % part.width(), ")");
}

std::string label_text(const Space& space, int64_t variable, int64_t label) {
  return concat(variable_text(space, variable), " = ", space.label_name(variable, label));
}

std::string better_text(Better better) { return better == Better::lower ? "lower" : "as reference"; }

std::string estimate_text(const Estimate& estimate) {
  if (std::isnan(estimate.low) || std::isnan(estimate.high)) return short_number(estimate.value);
  return concat(short_number(estimate.value), " (", short_number(estimate.low), " to ", short_number(estimate.high),
                ")");
}

std::string reference_text(const Metric& metric) {
  const Estimate& reference = metric.reference;
  if (!std::isnan(reference.low)) return estimate_text(reference);
  if (std::isnan(reference.high)) return short_number(reference.value);
  return concat(short_number(reference.value), " (up to ", short_number(reference.high), ")");
}

std::string differs_text(const Metric& metric) {
  if (!metric.differs) return "";
  return *metric.differs ? "yes" : "no";
}

void write_metrics_csv(std::ostream& out, const std::vector<Metric>& metrics) {
  out << "group,metric,value,low,high,reference,reference_low,reference_high,better,differs,note,training,"
         "independent\n";
  for (const Metric& m : metrics) {
    out << csv_field(m.group) << ',' << csv_field(m.name);
    for (const Estimate& e : {m.value, m.reference})
      out << ',' << exact_number(e.value) << ',' << exact_number(e.low) << ',' << exact_number(e.high);
    out << ',' << better_text(m.better) << ',' << differs_text(m) << ',' << csv_field(m.note);
    for (const auto& other : {m.training, m.independent}) out << ',' << (other ? exact_number(other->value) : "");
    out << '\n';
  }
}

void print_metrics(std::ostream& out, const std::vector<Metric>& metrics) {
  const bool has_others =
      std::any_of(metrics.begin(), metrics.end(), [](const Metric& m) { return m.training || m.independent; });
  std::vector<std::vector<std::string>> rows{{"metric", "samples (95%)", "reference", "better", "differs"}};
  if (has_others) rows[0] = {"metric", "samples (95%)", "reference", "training", "independent", "better", "differs"};
  std::vector<std::string> groups{""};
  for (const Metric& m : metrics) {
    rows.push_back({"  " + m.name, estimate_text(m.value), reference_text(m)});
    if (has_others)
      for (const auto& other : {m.training, m.independent})
        rows.back().push_back(other ? short_number(other->value) : "");
    rows.back().push_back(better_text(m.better));
    rows.back().push_back(differs_text(m));
    groups.push_back(m.group);
  }
  std::vector<size_t> width(rows[0].size(), 0);
  for (const auto& row : rows)
    for (size_t k = 0; k < row.size(); ++k) width[k] = std::max(width[k], row[k].size());
  for (size_t r = 0; r < rows.size(); ++r) {
    if (r > 0 && groups[r] != groups[r - 1]) out << groups[r] << '\n';
    for (size_t k = 0; k < rows[r].size(); ++k)
      out << (k == 0 ? std::left : std::right) << std::setw(static_cast<int>(width[k])) << rows[r][k]
          << (k + 1 < rows[r].size() ? "  " : "\n");
  }
}

}  // namespace segre
