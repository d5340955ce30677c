#pragma once  // internal

#include <ostream>
#include <string>

#include "segre/eval/evaluation.h"

// How tables of metrics write numbers and places.

namespace segre {

/// Three significant digits, without an exponent if that stays short: "0.0312", "104", "1.2e-05"; "" for NaN.
std::string short_number(double value);
/// 0.3125 -> "31.2%".
std::string percent_text(double share);
/// "pixel (3, 17)", row and column counted from 0, or the variable's name.
std::string variable_text(const Space& space, int64_t variable);
/// "pixel (3, 17) = 1".
std::string label_text(const Space& space, int64_t variable, int64_t label);

/// "lower" or "as reference": which values are better.
std::string better_text(Better better);
/// The reference, with its interval or with the value that 95 of 100 exact samples do not exceed.
std::string reference_text(const Metric& metric);
/// "0.0312 (0.0290 to 0.0334)" with digits as in short_number; without the interval if it is unknown.
std::string estimate_text(const Estimate& estimate);
/// Metric::differs: "yes", "no" or "".
std::string differs_text(const Metric& metric);

/// The metrics as CSV: group, metric, value, low, high, reference, reference_low, reference_high, better, differs,
/// note, training, independent.
void write_metrics_csv(std::ostream& out, const std::vector<Metric>& metrics);
/// The metrics as a readable table.
void print_metrics(std::ostream& out, const std::vector<Metric>& metrics);

}  // namespace segre
