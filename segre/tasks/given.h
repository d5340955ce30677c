#pragma once  // internal

#include <optional>

#include "segre/runs/load_run.h"

namespace segre {

/// Which variables a user names, [n] bool: columns of a table or positions of a sequence or image ("2,5-9", counted
/// from 1), separated by commas (one within a name is %2C, or the name is in double quotes); upper, lower, left or
/// right half of an image; or a mask, FILE.png or FILE.npy in the shape of an item, whose pixels other than 0 are
/// meant. `option` starts messages.
torch::Tensor parse_variables(const Space& space, const std::string& text, const std::string& option);

/// The column or variable with this name. The second throws InputError, starting with `option`, if there is none.
std::optional<Column> find_column(const Space& space, const std::string& name);
Column column_named(const Space& space, const std::string& name, const std::string& option);

/// The pieces between commas. A piece, or what follows its equals sign or a bar, may be quoted as in CSV: "a, b",c.
/// Outside quotes %2C is a comma, as in the name of a source.
std::vector<std::string> split_list(const std::string& text, const std::string& option);

/// Notes once that a model was not trained with known labels, if so.
void note_untold(const LoadedRun& run);

}  // namespace segre
