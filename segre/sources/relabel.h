#pragma once

#include <functional>
#include <string>

#include "segre/data/source.h"
#include "segre/read/lacking.h"

// Every file read for a model, or for the data it learns from, goes through here: the name of a label decides what it
// means, never the number that a file happens to give it.

namespace segre {

/// Where the item of a row was read, for messages; "" if unknown.
using PlaceOfRow = std::function<std::string(int64_t row)>;

/// The labels [B, n] of a source in the numbering of another space, as label_type(space), matched by name. A table
/// numbers the labels that occur in it, so a small one may lack some of the model's; its columns may be in any order,
/// with others among them; numbers and dates go into the bins of the space. Labels without names go by their numbers,
/// so in sequences and images 3 is 3, however many labels the file has. InputError starts with `what` (the source's
/// name) if the shapes differ or a column is missing, with the place of the item if `space` does not have its label.
torch::Tensor relabel(const Space& space, const Space& from, const torch::Tensor& labels, const std::string& what,
                      const PlaceOfRow& place = {});

/// A source in the numbering of another space: everything it returns has passed relabel. Items in memory and known
/// distributions are checked completely right here, so that unknown labels are found whichever items are drawn. Sums a
/// known distribution over the variables that the space lacks.
std::shared_ptr<DataSource> relabel(const Space& space, std::shared_ptr<DataSource> source, const std::string& what);

/// Opens a source for a model, with items in the numbering of the model's space. What the model does not know, such as
/// other columns of a table, is ignored with a note and not checked. `what` starts messages: the option and the name.
/// With `unknowns`, missing values of a table are kUnknown, whatever missing= is; with `lacking`, columns that it
/// lacks.
std::shared_ptr<DataSource> open_source_for(const Space& space, const std::string& name, const std::string& what,
                                            Unknowns unknowns = Unknowns::refuse, Lacking lacking = Lacking::refuse);

/// The first `most` items of a source, relabelled; all if it has fewer or `most` is 0: [count, n] int64. InputError if
/// `most` is 0 and the source is endless, or if labels are unknown, unless that is allowed.
torch::Tensor first_items(const Space& space, const DataSource& source, int64_t most, const std::string& what,
                          Unknowns unknowns = Unknowns::refuse);

/// Items and where they are in their file.
struct NumberedItems {
  torch::Tensor labels;            ///< [N, n] int64
  std::vector<int64_t> file_rows;  ///< DataSource::file_row of each
};

/// The same for a source that it opens by name. If labels may be unknown, so may columns that a table lacks.
NumberedItems numbered_items(const Space& space, const std::string& name, int64_t most, const std::string& what,
                             Unknowns unknowns = Unknowns::refuse);
torch::Tensor first_items(const Space& space, const std::string& name, int64_t most, const std::string& what,
                          Unknowns unknowns = Unknowns::refuse);

}  // namespace segre
