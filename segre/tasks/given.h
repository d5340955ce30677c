#pragma once  // internal

#include "segre/runs/load_run.h"

namespace segre {

/// Which variables a user names, [n] bool: columns of a table or positions of a sequence or image ("2,5-9", counted
/// from 1), separated by commas (one within a name is %2C, or the name is in double quotes); upper, lower, left or
/// right half of an image; or a mask, FILE.png or FILE.npy in the shape of an item, whose pixels other than 0 are
/// meant. `option` starts messages.
torch::Tensor parse_variables(const Space& space, const std::string& text, const std::string& option);

/// Labels that a user states, [1, n] int64 with kUnknown for the others: "colour=red,size=m", with commas within names
/// and labels as above, or the first item of a source (a SOURCE, FILE.csv or FILE.npy) whose missing values are not
/// stated.
torch::Tensor parse_labels(const Space& space, const std::string& text, const std::string& option);

/// The same from pairs of a variable's name and a label's.
torch::Tensor labels_named(const Space& space, const std::vector<std::pair<std::string, std::string>>& pairs,
                           const std::string& option);

/// Notes once that a model was not trained with known labels, if so.
void note_untold(const LoadedRun& run);

}  // namespace segre
