#pragma once

#include <cstdint>
#include <string>

namespace segre::cli {

struct InspectArguments {
  std::string source;
  std::string preview;  ///< FILE.png; empty: none
  std::string config;   ///< FILE.toml; empty: none
  std::string out;      ///< folder for both
  int64_t items = -1;   ///< examined; 0: all, -1: a sensible number
  bool json = false;
};

/// Prints a description of a source to stdout; writes the picture and the config if requested.
void inspect(const InspectArguments& arguments);

}  // namespace segre::cli
