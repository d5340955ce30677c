#pragma once

#include <filesystem>

#include "segre/core/torch.h"

namespace segre {

/// Writes a safetensors file (8-byte little-endian header length, JSON header, raw little-endian data), whole or not
/// at all. Python's safetensors reads it. float32, float64, int64, int32 and uint8 tensors.
void write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors);

/// Reads such a file onto the CPU. InputError names the file and what is wrong with it.
NamedTensors read_safetensors(const std::filesystem::path& path);

}  // namespace segre
