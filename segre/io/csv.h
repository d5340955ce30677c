#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "segre/core/rng.h"
#include "segre/core/utf8.h"
#include "segre/space/space.h"
#include "segre/space/value_set.h"

namespace segre {

/// One line of a CSV file: its number, counted from 1, and its fields.
struct CsvRow {
  int64_t line = 0;
  std::vector<std::string> fields;
};

/// All rows of a comma-separated file, read and checked by CsvReader; InputError if there are none.
std::vector<CsvRow> read_csv(const std::filesystem::path& path, TextEncoding encoding = TextEncoding::utf8);

/// Quotes a field if necessary.
std::string csv_field(const std::string& text, char delimiter = ',');

/// How binned labels become numbers and dates again: each is drawn within its bin, from the stream at item number
/// `first_item` + row, so that it does not depend on how many rows are written together.
struct BinValues {
  RandomStream random;
  uint64_t first_item = 0;
  bool names_of_bins = false;                  ///< write the names of bins; levels are values all the same
  std::shared_ptr<const GivenValues> given{};  ///< values that all cells of a column have, or sets that they lie in

  /// Where in its interval the cell of this row is drawn, uniform on [0, 1): of the column whose first variable it is.
  double within(const Space& space, int64_t row, int64_t variable) const {
    const auto n = static_cast<uint64_t>(space.n_variables());
    return uniform_double(random, (first_item + static_cast<uint64_t>(row)) * n + static_cast<uint64_t>(variable));
  }
};

/// The middle of an interval, see cell_text.
inline constexpr double kMiddle = 0.5;

/// The text of a cell from the labels of its column's variables: their name or, in a column of numbers or dates, a
/// value that lies `within` [0, 1) of its interval or, if something is `given` about the column, of what that leaves of
/// the interval. Without it, the name of a bin and the middle of a level.
std::string cell_text(const Space& space, const Column& column, const int64_t* labels, std::optional<double> within,
                      const GivenValues* given = nullptr);

/// Writes labels [B, n] int64 as rows of cells, after a header of the columns' names if `with_header`. Without
/// `values`, bins are written by name and levels as the value in their middle. Missing values are written as in the
/// data: Space::missing_text. InputError as in check_labels.
void write_labels_csv(std::ostream& out, const Space& space, const torch::Tensor& labels, bool with_header,
                      const std::optional<BinValues>& values = std::nullopt);

}  // namespace segre
