#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace segre::cli {

/// Adds --set key=value to a command; `example` is an assignment for the help. Several may follow one --set, see
/// with_set_before_each.
void add_set_option(CLI::App& command, std::vector<std::string>& set, const std::string& example);

/// The arguments behind the program's name, last one first, as CLI11 takes them. Behind "--set a=1" further assignments
/// b=2 c=3 get a --set of their own: they are no file names, for which CLI11 would take them.
std::vector<std::string> with_set_before_each(int argc, const char* const* argv);

}  // namespace segre::cli
