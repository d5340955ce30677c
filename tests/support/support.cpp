#include "tests/support/support.h"

#include <unistd.h>

#include <atomic>
#include <ctime>
#include <fstream>

namespace segre::test {

torch::Tensor noise(at::IntArrayRef shape, uint64_t seed, torch::TensorOptions options) {
  return fill_normal(torch::empty(shape, options), {seed, Purpose::probe}, 0);
}

Space mixed_space() { return Space::table({{"a", 2, {}}, {"b", 3, {}}, {"c", 5, {}}, {"d", 3, {}}, {"e", 7, {}}}); }

Space image_with_class() {
  return Space::of_parts({{.kind = PartKind::image, .name = "image", .shape = {2, 3}, .n_labels = 2},
                          {.kind = PartKind::columns, .name = "labels", .columns = {{"class", 3, {"bar", "dot", "ring"}}}}});
}

Space binary_space(int64_t n) { return Space::sequence(n, 2); }

JointTable random_joint(const Space& space, uint64_t seed) {
  const auto labelings = enumerate_labelings(space);
  // Log-normal weights with a spread of 1.5: a strongly uneven table with no zeros.
  return make_joint_table(space, labelings, (1.5 * noise({labelings.size(0)}, seed)).exp());
}

double max_difference(const torch::Tensor& x, const torch::Tensor& y) { return (x - y).abs().max().item<double>(); }

ScratchFolder::ScratchFolder() {
  static std::atomic<int> number{0};
  path_ = std::filesystem::temp_directory_path() / concat("segre-test-", ::getpid(), "-", number++);
  std::filesystem::create_directories(path_);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace segre::test
