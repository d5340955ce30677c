#pragma once

#include <filesystem>

#include "segre/core/utf8.h"
#include "segre/data/dataset.h"
#include "segre/data/joint_table.h"
#include "segre/data/label_dictionary.h"
#include "segre/data/source_name.h"

// From files to labels. Every reader takes the name of a source, reads its options (source_kinds() lists them) and
// fails with one line that names file, place, value and what was expected. `limit=N` takes the first N items; sources
// without items are refused.

namespace segre {

/// csv:FILE: a table. Numbers and dates become levels (choose_levels), or intervals at quantiles of the file where
/// BinsOption requests them; other columns have labels, numbered in sorted order: those found, or those of
/// DeclaredLabels. Missing values have their own label, kMissingName, the last of the column, or are kUnknown with
/// missing=unknown. Columns that look like identifiers or free text, or have no values, are left out with a note;
/// InputError if none is left.
Dataset read_csv_table(const SourceName& name);

/// csv:FILE read for a model: matches columns and labels with those of the space by name, and puts numbers and dates
/// into the bins of its variables. Other columns are ignored, with a note. At most `most` items, 0: all. InputError
/// names missing columns, starting with `what`, or a label that the space does not have, starting with file and line,
/// unless unseen= allows it. With `unknowns`, or missing=unknown, missing values are kUnknown.
Dataset read_csv_table_for(const SourceName& name, const Space& space, const std::string& what, int64_t most,
                           Unknowns unknowns);

/// Prints a note about columns of a file that are not in the model, if any.
void note_ignored(const std::string& file, const std::vector<std::string>& columns);

/// encoding=utf8|latin1 of a table.
TextEncoding encoding_of(const SourceName& name);

/// Prints a note if the text of a table in Latin-1 is about to be written, which is always in UTF-8.
void note_encoding(const SourceName& name);

/// Reads `joint:FILE.csv` (plain or gzip): a header of variable names followed by `p`; one row per labeling; labels are
/// any text, numbered in sorted order (numerically if all are integers). A row with p = 0 declares its labels and is
/// dropped. InputError names file, line, value and expectation for: no `p` column, a p that is not a number in [0, 1],
/// a labeling given twice, an empty label, text not in the encoding, a sum more than 1e-6 from 1.
JointTable read_joint_csv(const std::filesystem::path& path, TextEncoding encoding = TextEncoding::utf8);

/// idx:FILE: IDX images of bytes (MNIST), 1 if a byte exceeds the threshold. Binary only: for grey levels as labels,
/// use png: or npy:.
Dataset read_idx(const SourceName& name);

/// Whether to refuse values so rare and so far above all others that they must be mistakes: see find_strays.
enum class Strays { refuse, keep };

/// npy:FILE: integers [N, length] are sequences, [N, height, width] images; -1 is kUnknown. A large file is mapped: see
/// map_npy.
Dataset read_npy_labels(const SourceName& name, Strays strays = Strays::refuse);

/// The same for an array in memory of any integer type or bool, on the CPU; `options` are those of npy:, and its target
/// is what messages call the array.
Dataset read_array(torch::Tensor values, const SourceName& options, Strays strays = Strays::refuse);

/// omniglot:ZIP: drawings, strokes are 1. A pixel of the resized drawing is 1 if ink covers more than half of its area
/// (or the given percentage). This preserves the share of ink and keeps nearly every stroke whole at 28 x 28; picking
/// single pixels would break them. A lower percentage thickens them.
Dataset read_omniglot(const SourceName& name);

/// png:DIR: label maps with palette indices or grey values as labels, resized by nearest_pixels. The palette of the
/// first file gives the labels their colours. The value of unknown= is kUnknown.
Dataset read_png_folder(const SourceName& name, Strays strays = Strays::refuse);

/// cityscapes:DIR: the label maps of gtFine in its eight categories.
Dataset read_cityscapes(const SourceName& name);

}  // namespace segre
