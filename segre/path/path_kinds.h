#pragma once

#include <functional>

#include "segre/config/kinds.h"
#include "segre/config/schema.h"
#include "segre/path/path.h"

namespace segre {

/// The kind of path. Each kind has its own struct of options: options.of<EGeodesicOptions>().
struct PathOptions : OptionSet {
  std::string kind = "e-geodesic";  ///< see path_kinds()
};

/// A kind of path: everything that the rest of segre knows about it. To add one, define it in a new file and list it in
/// path_kinds.cpp; docs/extending.md has a worked example.
struct PathKind {
  std::string name;  ///< the value of path.kind
  std::string help;  ///< a few words
  std::function<std::shared_ptr<const Path>(const PathOptions& options)> make;
  /// Declares its config keys, "path.something", bound to its struct in the options.
  std::function<void(ConfigSchema& schema, PathOptions& options)> declare{};
};

/// All kinds of paths.
const std::vector<PathKind>& path_kinds();

/// Declares path.kind and the keys of every kind.
void declare_path_keys(ConfigSchema& schema, PathOptions& options);

/// Builds the path. InputError lists the kinds if the name is unknown.
std::shared_ptr<const Path> make_path(const PathOptions& options);

}  // namespace segre
