#pragma once  // internal

#include <optional>
#include <string>
#include <vector>

#include "segre/data/dataset.h"
#include "segre/data/source_name.h"

namespace segre {

/// What training does with a column of a table, and what it found there.
struct ColumnReport {
  /// Labels, levels or bins of numbers or dates, or nothing.
  enum class Use { labels, levels, bins, left_out };

  std::string name;
  Use use = Use::labels;
  std::string why{};            ///< why it is left out: "1000 different values in 1000 rows"
  std::string called{"label"};  ///< "label", or of levels and bins "number", "date", "time of day", "duration"
  int64_t n_different = 0;      ///< values, without those that are missing; of texts, 65,536 at most
  int64_t n_labels = 0;         ///< of its variable, or of its first one; 0 if it is left out
  double missing_share = 0.0;   ///< of the rows
  std::string missing_text{};   ///< how most missing values are written
  std::string least{}, most{};  ///< of numbers and dates
  std::string example{};        ///< the first value
  std::string common{};         ///< the most common label
  double common_share = 0.0;    ///< of the rows
};

/// A table as training would read it.
struct TableReport {
  std::vector<ColumnReport> columns;  ///< in the order of the table, those left out too
  int64_t n_rows = 0;
  std::optional<Dataset> data{};  ///< unset if nothing is left to learn
  std::string nothing{};          ///< why
};

/// Reads a table as read_csv_table does, but does not fail if nothing in it can be learned. Without notes about
/// columns.
TableReport report_csv_table(const SourceName& name);

/// "numbers", "dates", ...: what the values of a column are called.
std::string plural(const std::string& called);

}  // namespace segre
