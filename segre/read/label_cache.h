#pragma once  // internal

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "segre/data/dataset.h"
#include "segre/data/source_name.h"

// The labels of a source packed into one file beside the data, so that they are mapped instead of read again:
//
//   segre-cache, SHA-256 of the header and its length, one line each
//   the header, JSON: format, key, space, unknowns, items, runs (their number)
//   zeros up to a page
//   the labels [items, n] of label_type(space, unknowns), zeros up to a multiple of 8
//   the runs of ItemNumbers, two int64 each

namespace segre {

/// Where a source's cache is: t.csv.segre-cache beside t.csv, .segre-cache in a folder.
std::filesystem::path cache_of(const std::filesystem::path& data);

/// Identifies what labels are read from, and how: SHA-256 of this release, the kind of source, the options that change
/// labels, and of each input file its path relative to the target, its size and the time of its last change. nullopt
/// if one of them is not a regular file.
std::optional<std::string> cache_key(const SourceName& name, const std::vector<std::filesystem::path>& inputs);

/// Writes a cache, complete or not at all. FileError names it if that fails.
void write_cache(const std::filesystem::path& cache, const std::string& key, const Dataset& dataset);

/// What a cache holds.
struct CachedLabels {
  Space space;
  torch::Tensor labels;  ///< mapped; not checked
  Unknowns unknowns;
  ItemNumbers numbers;  ///< of the items' origin
};

/// What was found at the place of a cache.
struct FoundCache {
  std::optional<CachedLabels> labels;
  std::string problem;  ///< why there are none; empty if there is no file
};

/// Opens a cache; its labels are still to be checked.
FoundCache read_cache(const std::filesystem::path& cache, const std::string& key);

}  // namespace segre
