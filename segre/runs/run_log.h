#pragma once  // internal

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "segre/io/files.h"

namespace segre {

class TensorBoardWriter;

/// The log of a run: one line of JSON per entry in metrics.jsonl and, on request, the same numbers as TensorBoard
/// events. A log that cannot be written (full disk) does not stop the run: it warns once on log_stream() and buffers a
/// limited amount until there is space.
class RunLog {
 public:
  /// Continues the log in `metrics` after `step`: entries of later steps, written before a crash, are dropped.
  RunLog(const std::filesystem::path& metrics, int64_t step, const std::filesystem::path& tensorboard);
  ~RunLog();

  /// Adds an entry; its numbers appear in TensorBoard under their keys. `entry` has "step".
  void add(const nlohmann::json& entry);
  /// Adds a picture to TensorBoard, if enabled.
  void picture(int64_t step, const std::string& png, int64_t height, int64_t width);
  /// Warns on log_stream(), the first time only, that an auxiliary file could not be written.
  void warn(const std::string& trouble);
  /// The number under a key in the entries of the step that the log continues from, if any.
  std::optional<double> at_start(const std::string& key) const;
  /// The last number under a key up to the step that the log continues from, if any.
  std::optional<double> latest(const std::string& key) const;

 private:
  void flush_lines();
  void flush_tensorboard();

  std::map<std::string, double> at_start_;
  std::map<std::string, double> latest_;
  std::unique_ptr<AppendFile> lines_;
  std::string pending_;  // lines not yet in the file
  bool warned_ = false;
  std::unique_ptr<TensorBoardWriter> tensorboard_;
};

}  // namespace segre
