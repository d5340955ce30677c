#pragma once

#include <functional>
#include <string>

#include "segre/data/source.h"

// Every file that is read for a model, or for the data it learns from, passes here: what a label is called decides what
// it means, never the number that one file or another happens to give it.

namespace segre {

/// Where the item of a row was read, for messages; "" if nothing is known.
using PlaceOfRow = std::function<std::string(int64_t row)>;

/// The labels [B, n] of a source in the numbering of another space, as label_type(space), matched by name. A table
/// numbers the labels that occur in it, so a small one may lack some of the model's; its columns may stand in any
/// order, and others among them; numbers and dates find the bins of the space. Labels without names are called by their
/// numbers, so of sequences and images 3 is 3, however many labels the file has. InputError, starting with `what` (the
/// source's name), if the shapes differ or a column is missing; starting with the place of the item, if a label occurs
/// that `space` does not have.
torch::Tensor relabel(const Space& space, const Space& from, const torch::Tensor& labels, const std::string& what,
                      const PlaceOfRow& place = {});

/// A source in the numbering of another space: all it gives has passed relabel. Of items in memory and of a known
/// distribution everything is looked at here and now, so that a strange label does not depend on which items are drawn.
/// Of a known distribution, the variables that the space lacks are summed over.
std::shared_ptr<DataSource> relabel(const Space& space, std::shared_ptr<DataSource> source, const std::string& what);

/// Opens a source for a model: its items in the numbering of the model's space. What a model does not know, such as
/// other columns of a table, is left out with a note and not judged. `what` starts messages: the option and the name.
std::shared_ptr<DataSource> open_source_for(const Space& space, const std::string& name, const std::string& what);

/// The first `most` items of a source relabelled, all of them where it has fewer or `most` is 0: [count, n] int64.
/// InputError where `most` is 0 and there is no end to them.
torch::Tensor first_items(const Space& space, const DataSource& source, int64_t most, const std::string& what);

/// The same of a source that is opened for it.
torch::Tensor first_items(const Space& space, const std::string& name, int64_t most, const std::string& what);

}  // namespace segre
