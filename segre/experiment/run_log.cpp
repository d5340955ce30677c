#include "segre/experiment/run_log.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "segre/core/error.h"
#include "segre/io/files.h"
#include "segre/io/tensorboard.h"

namespace segre {
namespace {

namespace fs = std::filesystem;

// Keeps the entries up to a step. The last line may be cut where a crash came while it was written.
void drop_later_entries(const fs::path& metrics, int64_t step) {
  std::istringstream lines(read_file(metrics));
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    const auto entry = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (entry.is_object() && entry.contains("step") && entry["step"].is_number_integer() &&
        entry["step"].get<int64_t>() <= step)
      kept += line + '\n';
  }
  write_file_whole(metrics, [&](std::ostream& out) { out << kept; });
}

}  // namespace

RunLog::RunLog(const fs::path& metrics, int64_t step, const fs::path& tensorboard) {
  if (fs::exists(metrics)) drop_later_entries(metrics, step);
  out_.open(metrics, std::ios::app);
  if (!out_) fail(metrics.string(), ": cannot be written");
  if (!tensorboard.empty()) tensorboard_ = std::make_unique<TensorBoardWriter>(tensorboard);
}

RunLog::~RunLog() = default;

void RunLog::add(const nlohmann::json& entry) {
  out_ << entry.dump() << std::endl;
  if (!tensorboard_) return;
  const auto step = entry.at("step").get<int64_t>();
  for (const auto& [key, value] : entry.items())
    if (key != "step" && value.is_number()) tensorboard_->scalar(key, step, value.get<double>());
  tensorboard_->flush();
}

void RunLog::picture(int64_t step, const std::string& png, int64_t height, int64_t width) {
  if (!tensorboard_) return;
  tensorboard_->image("samples", step, png, height, width);
  tensorboard_->flush();
}

}  // namespace segre
