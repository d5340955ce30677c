#pragma once

#include <filesystem>

#include "cli/commands.h"
#include "segre/report/page.h"

namespace segre::cli {

/// The part of the demo about a table with holes: writes one of days and their weather, trains on it for `seconds`,
/// fills the holes in and shows the result on the page.
void show_table_with_holes(Page& page, const std::filesystem::path& out, double seconds, uint64_t seed,
                           const Context& context);

}  // namespace segre::cli
