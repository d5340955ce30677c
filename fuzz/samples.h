#pragma once

#include <string>

#include "fuzz/support.h"

// Small valid files of every format, from which the seeds are made.

namespace segre::fuzz {

std::string sample_csv();
std::string sample_joint();
std::string sample_npy();
std::string sample_idx();
std::string sample_png();
/// A zip archive with two drawings.
std::string sample_zip();

/// The PNG with the checksums of all its chunks corrected.
std::string sealed(std::string png);

/// A file or folder that a source of this kind opens, created on first use; "" for kinds that open none.
std::string sample_target(const std::string& kind, Folder& folder);

}  // namespace segre::fuzz
