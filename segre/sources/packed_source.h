#pragma once  // internal

#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "segre/data/source.h"
#include "segre/data/source_name.h"

// Sources of many files, or of text, whose labels are packed into a cache beside the data (label_cache.h) and mapped
// from then on: option cache=auto|yes|no. One process packs while the others wait for it.

namespace segre {

/// cache=auto packs labels of more bytes than this: what is read in seconds needs no file beside it.
inline constexpr int64_t kLeastPacked = int64_t{256} << 20;

/// What a source is read from.
struct PackedInputs {
  std::vector<std::filesystem::path> files;   ///< all that its labels depend on
  std::function<int64_t()> likely_most;       ///< bytes that its labels hardly exceed: whether to lock before reading
  std::function<Origin(ItemNumbers)> origin;  ///< of items with these numbers
};

/// Of csv:FILE: the table and its dictionary.
PackedInputs table_inputs(const SourceName& name);
/// Of png:DIR and cityscapes:DIR: the label maps. InputError as find_files.
PackedInputs png_inputs(const SourceName& name);
PackedInputs cityscapes_inputs(const SourceName& name);

/// Opens a source from its cache, or else as `read` reads it and, as cache= says, packed for the next time. A cache
/// made of other files or with other options, or damaged, is made again; a folder that cannot be written is left as it
/// is, each with a note.
std::unique_ptr<DataSource> open_packed(const SourceName& name, PackedInputs (*inputs)(const SourceName&),
                                        const std::function<Dataset()>& read);

/// Opens a source for a model from its cache, if there is one; else nullptr. Its space is the model's, shared, if both
/// have equal contents.
std::unique_ptr<DataSource> open_packed_for(const SourceName& name, PackedInputs (*inputs)(const SourceName&),
                                            const Space& space);

}  // namespace segre
