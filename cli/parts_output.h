#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "segre/io/csv.h"
#include "segre/io/output.h"
#include "segre/ranks/ranks.h"
#include "segre/space/space.h"

namespace segre::cli {

/// A folder of items that all ranks write together, each its own parts: a label map per item for images, else CSV files
/// of many rows and index.csv, which lists them in order. Rank 0 makes the folder, and moves it into place at the end.
class PartsOutput {
 public:
  PartsOutput(std::shared_ptr<Ranks> ranks, const std::string& option, const std::string& name);

  /// Blocks of rows per part, see draw_parts.
  static int64_t blocks_per_part(const Space& space);
  /// Calls `fill` with a function that takes parts of this rank; everything is in place afterwards. `numbers`: see
  /// write_labels_csv.
  using Add = std::function<void(const torch::Tensor& labels, int64_t first)>;
  void write(const Space& space, const std::function<void(const Add&)>& fill,
             const std::optional<BinValues>& numbers);

 private:
  std::shared_ptr<Ranks> ranks_;
  std::optional<NewOutputFolder> folder_;
};

}  // namespace segre::cli
