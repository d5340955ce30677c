#pragma once

#include <string>

namespace segre {

/// Release, as in CMakeLists.txt: "0.1.0".
std::string release();
/// Git revision of the sources, "-dirty" if they differ from it; "release" if they came without git.
std::string revision();

}  // namespace segre
