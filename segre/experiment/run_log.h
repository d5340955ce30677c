#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json_fwd.hpp>

namespace segre {

class TensorBoardWriter;

/// What a run tells about itself while it goes: a line of JSON per entry in metrics.jsonl and, on request, the same
/// numbers as TensorBoard events.
class RunLog {
 public:
  /// Continues the log in `metrics` after `step`: entries of later steps, written before a crash, are dropped.
  RunLog(const std::filesystem::path& metrics, int64_t step, const std::filesystem::path& tensorboard);
  ~RunLog();

  /// Adds an entry; its numbers appear in TensorBoard under their keys. `entry` has "step".
  void add(const nlohmann::json& entry);
  /// Adds a picture to TensorBoard, where it is written.
  void picture(int64_t step, const std::string& png, int64_t height, int64_t width);

 private:
  std::ofstream out_;
  std::unique_ptr<TensorBoardWriter> tensorboard_;
};

}  // namespace segre
