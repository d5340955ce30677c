#pragma once

#include <filesystem>
#include <ostream>

#include "segre/space/space.h"

namespace segre {

/// Bytes per label in an NPY file of this space: 1 up to 256 labels, else 2 (unsigned; 65,536 labels fit).
int64_t npy_label_bytes(const Space& space);

/// Writes the header of an NPY file (version 1.0, unsigned little-endian) of shape [count, *space.item_shape()].
void write_npy_header(std::ostream& out, const Space& space, int64_t count);

/// Writes labels [B, n] int64 as the file's values; call it once per batch. InputError as in check_labels.
void write_npy_labels(std::ostream& out, const Space& space, const torch::Tensor& labels);

/// Reads an array of integers or booleans (format versions 1 to 3, either byte order, C or Fortran order, plain or
/// gzip) onto the CPU, in its own shape and in the narrowest type that holds the file's. InputError names a file that
/// is not an NPY file, is cut short or too long, holds other values, or has an invalid shape.
torch::Tensor read_npy(const std::filesystem::path& path);

/// The smallest array that map_npy maps. Reading less takes no time, and the file may change afterwards.
inline constexpr int64_t kLeastMapped = int64_t{64} << 20;

/// As read_npy, but an array of at least `least_mapped` bytes is a view of a MappedFile if its values are stored as a
/// tensor stores them: in a plain file, in C order, little-endian, and not as uint16, uint32 or uint64. Such a tensor
/// cannot be written, and the file must not be changed while it is used.
torch::Tensor map_npy(const std::filesystem::path& path, int64_t least_mapped = kLeastMapped);

/// The same as read_npy for an array of floating-point numbers, as float32 or, if the file has them, float64.
torch::Tensor read_npy_numbers(const std::filesystem::path& path);

/// Writes numbers of any shape as float32.
void write_npy_numbers(std::ostream& out, const torch::Tensor& numbers);

}  // namespace segre
