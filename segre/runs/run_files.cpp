#include "segre/runs/run_files.h"

#include <charconv>
#include <iomanip>
#include <sstream>

namespace segre::run_files {
namespace {

const std::string kStepPrefix = "step-";
constexpr size_t kStepDigits = 13;  // train.steps goes up to 1e12

}  // namespace

std::string step_name(int64_t step) {
  std::ostringstream name;
  name << kStepPrefix << std::setw(kStepDigits) << std::setfill('0') << step;
  return name.str();
}

bool is_step_name(const std::string& name) {
  return name.starts_with(kStepPrefix) && name.size() == kStepPrefix.size() + kStepDigits &&
         name.find_first_not_of("0123456789", kStepPrefix.size()) == std::string::npos;
}

std::optional<int64_t> step_in_name(const std::filesystem::path& checkpoint) {
  const std::string name = checkpoint.filename().string();
  if (!name.starts_with(kStepPrefix)) return std::nullopt;
  const char* const begin = name.data() + kStepPrefix.size();
  const char* const end = name.data() + name.size();
  int64_t step = -1;
  const auto [stop, error] = std::from_chars(begin, end, step);
  if (error != std::errc() || stop != end || step < 0) return std::nullopt;
  return step;
}

}  // namespace segre::run_files
