#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace segre::cli {

/// Adds --set key=value to a command; `example` is an assignment for the help. Several may follow one --set, see
/// with_set_before_each.
void add_set_option(CLI::App& command, std::vector<std::string>& set, const std::string& example);

/// The arguments after the program's name in reverse order, as CLI11 expects them. After "--set a=1", further
/// assignments b=2 c=3 each get their own --set; CLI11 would take them for file names.
std::vector<std::string> with_set_before_each(int argc, const char* const* argv);

}  // namespace segre::cli
