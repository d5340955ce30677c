#include "segre/runs/run_log.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "segre/core/log.h"
#include "segre/io/files.h"
#include "segre/io/tensorboard.h"

namespace segre {
namespace {

namespace fs = std::filesystem;

// Bytes of lines buffered while the disk is full; beyond this they are dropped.
constexpr size_t kMostPending = size_t{4} << 20U;

using Numbers = std::map<std::string, double>;

// Keeps the entries up to a step. Returns the numbers of that step, and the last ones under each key. A crash may have
// truncated the last line.
std::pair<Numbers, Numbers> drop_later_entries(const fs::path& metrics, int64_t step) {
  Numbers numbers;
  Numbers latest;
  std::istringstream lines(read_file(metrics));
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    const auto entry = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!entry.is_object() || !entry.contains("step") || !entry["step"].is_number_integer() ||
        entry["step"].get<int64_t>() > step)
      continue;
    kept += line + '\n';
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_number()) continue;
      latest[key] = value.get<double>();
      if (entry["step"].get<int64_t>() == step) numbers[key] = value.get<double>();
    }
  }
  write_file_whole(metrics, [&](std::ostream& out) { out << kept; });
  return {numbers, latest};
}

std::optional<double> find(const Numbers& numbers, const std::string& key) {
  const auto found = numbers.find(key);
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

RunLog::RunLog(const fs::path& metrics, int64_t step, const fs::path& tensorboard) {
  if (fs::exists(metrics)) std::tie(at_start_, latest_) = drop_later_entries(metrics, step);
  lines_ = std::make_unique<AppendFile>(metrics);
  if (!tensorboard.empty()) tensorboard_ = std::make_unique<TensorBoardWriter>(tensorboard);
}

RunLog::~RunLog() = default;

void RunLog::flush_lines() {
  try {
    // A partial line that could not be removed becomes a separate line, which readers skip.
    lines_->append(lines_->torn() ? "\n" + pending_ : pending_);
    pending_.clear();
  } catch (const FileError& error) {
    warn(error.what());
  }
}

void RunLog::add(const nlohmann::json& entry) {
  if (pending_.size() < kMostPending) pending_ += entry.dump() + '\n';
  flush_lines();
  if (!tensorboard_) return;
  const auto step = entry.at("step").get<int64_t>();
  for (const auto& [key, value] : entry.items())
    if (key != "step" && value.is_number()) tensorboard_->scalar(key, step, value.get<double>());
  flush_tensorboard();
}

void RunLog::picture(int64_t step, const std::string& png, int64_t height, int64_t width) {
  if (!tensorboard_) return;
  tensorboard_->image("samples", step, png, height, width);
  flush_tensorboard();
}

void RunLog::flush_tensorboard() {
  try {
    tensorboard_->flush();
  } catch (const FileError& error) {
    warn(error.what());
  }
}

void RunLog::warn(const std::string& trouble) {
  if (!warned_) log_stream() << "warning: " << trouble << "; training continues, but its log has gaps until fixed\n";
  warned_ = true;
}

std::optional<double> RunLog::at_start(const std::string& key) const { return find(at_start_, key); }

std::optional<double> RunLog::latest(const std::string& key) const { return find(latest_, key); }

}  // namespace segre
