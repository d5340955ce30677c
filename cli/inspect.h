#pragma once

#include <cstdint>
#include <string>

namespace segre::cli {

struct InspectArguments {
  std::string source;
  std::string preview;  ///< FILE.png; empty: none
  std::string config;   ///< FILE.toml; empty: none
  std::string out;      ///< folder for both
  int64_t items = -1;   ///< looked at; 0: all, -1: as many as make sense
  bool json = false;
};

/// Prints what a source holds to stdout; writes the picture and the config where asked.
void inspect(const InspectArguments& arguments);

}  // namespace segre::cli
