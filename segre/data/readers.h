#pragma once

#include "segre/core/utf8.h"
#include "segre/data/dataset.h"
#include "segre/data/missing.h"
#include "segre/data/source_name.h"

// From files to labels. Every reader takes the name of a source, reads its options (source_kinds() lists them) and
// fails with one line that names file, place, value and what was expected. `limit=N` takes the first N items; sources
// without items are refused.

namespace segre {

/// csv:FILE: a table of categorical columns, each with its own labels, numbered in sorted order: those found, or those
/// that DeclaredLabels says; or intervals of numbers or dates that BinsOption asks for, by the quantiles of the file.
/// Missing values are a label of their own, kMissingName, the last of their column. All columns that look like
/// identifiers, measurements or dates are refused together, with advice.
Dataset read_csv_table(const SourceName& name);

/// csv:FILE read for a model: the columns and labels of the space by their names, numbers and dates in the bins of its
/// variables. Other columns are not looked at; a note names them. At most `most` items, 0: all. InputError, starting
/// with `what`, names columns that are missing; starting with file and line, a label that the space does not have,
/// unless unseen= says otherwise.
Dataset read_csv_table_for(const SourceName& name, const Space& space, const std::string& what, int64_t most);

/// Prints a note about columns of a file that are not a model's; nothing where there are none.
void note_ignored(const std::string& file, const std::vector<std::string>& columns);

/// encoding=utf8|latin1 of a table.
TextEncoding encoding_of(const SourceName& name);

/// idx:FILE: IDX images of bytes (MNIST), 1 where a byte exceeds the threshold. Binary only: grey levels as labels are
/// for png: or npy:.
Dataset read_idx(const SourceName& name);

/// Whether values far above all others, and so rare that they are mistakes, are refused: see find_strays.
enum class Strays { refuse, keep };

/// npy:FILE: integers [N, length] are sequences, [N, height, width] images.
Dataset read_npy_labels(const SourceName& name, Strays strays = Strays::refuse);

/// omniglot:ZIP: drawings, strokes are 1. A pixel of the resized drawing is 1 where ink covers more than half of its
/// area (or the percentage given): that keeps the share of ink, and nearly every stroke whole at 28 x 28, where taking
/// single pixels would break them. A lower percentage thickens them.
Dataset read_omniglot(const SourceName& name);

/// png:DIR: label maps, palette indices or grey values are the labels, resized by nearest_pixels. The palette of the
/// first file gives the labels their colours.
Dataset read_png_folder(const SourceName& name, Strays strays = Strays::refuse);

/// cityscapes:DIR: the label maps of gtFine in its eight categories.
Dataset read_cityscapes(const SourceName& name);

}  // namespace segre
