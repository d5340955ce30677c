#pragma once  // internal

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "segre/io/files.h"

namespace segre {

/// Writes one TensorBoard event file to a directory (`tensorboard --logdir DIR` shows it). Each writer starts its own
/// file and only appends, so a resumed run adds a file and a killed one loses at most its last record.
class TensorBoardWriter {
 public:
  /// Creates the directory if missing, and in it `events.out.tfevents.TIME.HOST.PROCESS.NUMBER`. Error names the file
  /// and the reason if that fails.
  explicit TensorBoardWriter(const std::filesystem::path& directory);
  ~TensorBoardWriter();
  TensorBoardWriter(const TensorBoardWriter&) = delete;
  TensorBoardWriter& operator=(const TensorBoardWriter&) = delete;

  /// Adds one point to the curve `tag`.
  void scalar(std::string_view tag, int64_t step, double value);
  /// Adds one picture under `tag`: a whole PNG file in memory, of the given size in pixels.
  void image(std::string_view tag, int64_t step, std::string_view png, int64_t height, int64_t width);
  /// Hands everything written so far to the system, as whole records. Error names the file if that fails, as on a full
  /// disk; the records are kept for the next call unless there are too many.
  void flush();

  const std::filesystem::path& file() const { return file_->path(); }

 private:
  void append(std::string_view event);

  std::unique_ptr<AppendFile> file_;
  std::string pending_;  // records not yet in the file
};

/// The bytes an event file is made of: records of Event messages (protocol buffers).
namespace detail {

/// CRC-32C (Castagnoli polynomial), as TFRecord requires.
uint32_t crc32c(std::string_view bytes);
/// `data` framed as a TFRecord: length, checksum of the length, data, checksum of the data.
std::string tfrecord(std::string_view data);
/// Events; `wall_time` is in seconds since 1970.
std::string version_event(double wall_time);
std::string scalar_event(double wall_time, std::string_view tag, int64_t step, double value);
std::string image_event(double wall_time, std::string_view tag, int64_t step, std::string_view png, int64_t height,
                        int64_t width);

}  // namespace detail
}  // namespace segre
