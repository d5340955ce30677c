#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "segre/io/csv.h"
#include "segre/space/space.h"
#include "segre/tasks/item_stream.h"

namespace segre {

/// JSON whose objects keep their order, as columns have one.
using Json = nlohmann::ordered_json;

/// What a hole in a row is: null, a column that the row does not name, a text such as NA.
enum class Holes {
  unknown,     ///< kUnknown, to be filled in or left out
  as_trained,  ///< the label of missing values, for variables that have one; otherwise InputError
};

/// Rows as people have them, as labels of a model: an array of items.
///
///   a table      {"sky": "rain", "temperature": 12.5}: columns by name, in any order; numbers and dates go into the
///                intervals of their columns, and columns that the model does not have are ignored, with a note
///   a sequence   [0, 2, null, 1]: label numbers or names
///   an image     [[0, 1], [null, 1]]
///
/// `what` starts messages, in which rows are counted from 0; InputError names the row, what it has, and what was
/// expected.
ItemBatch items_of(const Space& space, const Json& rows, const std::string& what = "rows",
                   Holes holes = Holes::unknown);

/// The way back: labels [N, n] of any integer type as an array of such rows, null where a label is unknown or stands
/// for missing values. Numbers and dates are as in write_labels_csv.
Json rows_of(const Space& space, const torch::Tensor& labels, const std::optional<BinValues>& values = std::nullopt);

/// A value of a column as it is in such a row: its text, or the number if the column's labels are bins of numbers.
Json cell_of(const Space& space, int64_t variable, const std::string& text);

}  // namespace segre
