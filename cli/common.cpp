#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "cli/commands.h"
#include "segre/core/error.h"

namespace segre::cli {

double parse_duration(const std::string& option, const std::string& text) {
  size_t used = 0;
  double value = -1.0;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  const std::string unit = text.substr(used);
  const double factor = unit.empty() || unit == "s" ? 1.0 : unit == "m" ? 60.0 : unit == "h" ? 3600.0 : 0.0;
  constexpr double kLongest = 1e9;  // thirty years
  if (used == 0 || factor == 0.0 || !(value > 0.0) || !(value * factor <= kLongest))
    fail_input(option, " ", text, ": expected a time such as 60s, 5m or 1h");
  return value * factor;
}

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
