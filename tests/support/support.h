#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "segre/core/error.h"
#include "segre/core/rng.h"
#include "segre/data/joint_table.h"
#include "segre/space/space.h"

// Shared test helpers: seeded noise, spaces and joints to try laws on, scratch folders, messages of exceptions.

namespace segre::test {

/// Seeded standard normals of any shape, float64 unless asked otherwise.
torch::Tensor noise(at::IntArrayRef shape, uint64_t seed = 1, torch::TensorOptions options = torch::kFloat64);

/// A space with 2, 3, 5, 3 and 7 labels: mixed, with a repeated count.
Space mixed_space();
/// Two parts: an image of 2 x 3 pixels with 2 labels, and a column "class" with 3.
Space image_with_class();
/// n binary variables.
Space binary_space(int64_t n);

/// A random strictly positive joint distribution on all labelings of a small space.
JointTable random_joint(const Space& space, uint64_t seed = 1);

/// Largest |x - y|.
double max_difference(const torch::Tensor& x, const torch::Tensor& y);

/// A fresh folder that is removed at the end of the test.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// Processor time of this thread: wall time would also count what else the machine does.
double thread_seconds();

/// Writes a text file.
void write_text(const std::filesystem::path& path, const std::string& text);

/// The message of the InputError that `action` throws; "" if it throws none.
template <class Action>
std::string input_error(Action&& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace segre::test
