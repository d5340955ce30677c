#pragma once

#include <string>

#include "fuzz/support.h"

// Small good files of every format: what the seeds start from.

namespace segre::fuzz {

std::string sample_csv();
std::string sample_joint();
std::string sample_npy();
std::string sample_idx();
std::string sample_png();
/// A zip archive with two drawings.
std::string sample_zip();

/// A PNG whose chunks all have the checksum that their bytes ask for.
std::string sealed(std::string png);

/// A file or folder that a source of this kind opens, made when first asked for; "" for kinds that are none.
std::string sample_target(const std::string& kind, Folder& folder);

}  // namespace segre::fuzz
