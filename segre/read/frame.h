#pragma once

#include <memory>
#include <string>
#include <vector>

#include "segre/data/dataset.h"
#include "segre/data/source_name.h"
#include "segre/read/lacking.h"

namespace segre {

class TableRows;

/// A column of a table in memory: its different values as texts and, for each row, which of them it has.
struct FrameColumn {
  std::string name;                ///< empty: "x" and the position, counted from 1
  std::vector<std::string> texts;  ///< UTF-8; may hold equal texts; a text that is_missing() is a missing value
  torch::Tensor codes;             ///< [N] int32: index into texts; -1: missing
  bool declared = false;           ///< the texts are the column's labels, whether or not they occur (a category type)
};

/// A table in memory, such as a DataFrame. Rows are counted from 0: "DataFrame: row 17".
struct Frame {
  std::vector<FrameColumn> columns;
  int64_t n_rows = 0;
  std::string called = "DataFrame";  ///< for messages
};

/// read_csv_table for a table in memory, by the same rules. `options` are those of csv: in its name
/// ("csv:DataFrame?bins=age:8") except those of files: delimiter, encoding, header, dictionary. Advice in messages is
/// given as arguments in Python: bins="auto". InputError also for other options, a table without rows or columns, two
/// columns of one name, a text that is not UTF-8, and codes of another type or length or that are out of range.
Dataset read_frame(const Frame& frame, const SourceName& options);

/// read_csv_table_for, likewise.
Dataset read_frame_for(const Frame& frame, const SourceName& options, const Space& space, const std::string& what,
                       Unknowns unknowns, Lacking lacking = Lacking::refuse);

/// The rows of a table in memory, which must stay while they are read; the same options and errors.
std::unique_ptr<TableRows> frame_rows(const Frame& frame, const SourceName& options);

}  // namespace segre
