#pragma once  // internal

#include <array>

#include "segre/tasks/complete.h"

// The answers about columns of numbers and dates, Bins::is_measured: not labels, but what their distributions are.

namespace segre {

/// What a prediction of a number or date consists of, in this order.
inline constexpr std::array kNumberSummary = {"median", "mean", "q05", "q25", "q75", "q95"};

/// kNumberSummary of a measured column in rows of which `known` is known, [B, 6] float64; dates in seconds. `marginals`
/// [B, S] are Completer::probabilities of the same rows. Missing values are no answer.
///
/// If the column has two variables, the first one's marginal says in which range a quantile lies. Where within that
/// range depends on the row, too: the network is asked again with the range as known. So are ranges that have much of
/// the mass; within others all intervals count as equally likely, as they are over all rows, which moves the mean by
/// little.
torch::Tensor summarise_numbers(const Completer& completer, const Known& known, const Column& column,
                                const torch::Tensor& marginals);

/// The medians alone: [B] float64.
torch::Tensor medians(const Completer& completer, const Known& known, const Column& column,
                      const torch::Tensor& marginals);

/// Whether the answers about a column are numbers.
bool is_measured(const Space& space, const Column& column);

/// A number as a value that the data could have: on their grid, with their digits.
std::string answer_text(const Bins& bins, double value);

/// What is known of rows once their unknown cells are filled in.
struct FilledRows {
  torch::Tensor labels;  ///< [B, n] int64
  /// [B, n] float64: the values of the numbers and dates filled in, each at the first variable of its column; NaN
  /// elsewhere. Undefined if the space has no measured column.
  torch::Tensor numbers{};
};

/// Every unknown cell on its own: the most likely label, and of numbers and dates the median. A row of such cells need
/// not be a likely one, or even a possible one.
FilledRows fill_cells(const Completer& completer, const Known& known, const torch::Tensor& marginals);

/// A likely row: the cell whose label is most certain is filled first, then all others are asked about again. Numbers
/// and dates take their median given what is known and filled before. As many evaluations as there are unknown cells,
/// and one more for each column of two variables.
FilledRows fill_rows(const Completer& completer, const Known& known, const torch::Tensor& marginals);

}  // namespace segre
