#include <cstdlib>
#include <filesystem>

#include "cli/commands.h"
#include "segre/core/error.h"

namespace segre::cli {

std::string share_folder() {
  namespace fs = std::filesystem;
  if (const char* named = std::getenv("SEGRE_SHARE")) return named;
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& candidate : {program / "share" / "segre", program.parent_path() / "share" / "segre"})
    if (fs::is_directory(candidate)) return candidate;
  fail("no share/segre folder next to ", program.string(), "; rebuild, or set SEGRE_SHARE");
}

std::filesystem::path plotly_file() {
  const auto file = std::filesystem::path(share_folder()) / "plotly.min.js";
  if (!std::filesystem::exists(file)) fail(file.string(), ": plotly.js is missing; 'make build' installs it");
  return file;
}

}  // namespace segre::cli
