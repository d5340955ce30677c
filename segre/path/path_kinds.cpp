#include "segre/path/path_kinds.h"

#include "segre/config/kinds.h"
#include "segre/path/e_geodesic.h"
#include "segre/path/ray.h"

namespace segre {

const std::vector<PathKind>& path_kinds() {
  static const std::vector<PathKind> all{
      e_geodesic_kind(),
      ray_kind(),
  };
  return all;
}

void declare_path_keys(ConfigSchema& schema, PathOptions& options) {
  declare_kind_key(schema, "path.kind", &options.kind, path_kinds(), Later::fixed, "the path from noise to labels");
  for (const PathKind& kind : path_kinds())
    if (kind.declare) kind.declare(schema, options);
}

std::shared_ptr<const Path> make_path(const PathOptions& options) {
  return find_kind(path_kinds(), options.kind, "path.kind").make(options);
}

}  // namespace segre
