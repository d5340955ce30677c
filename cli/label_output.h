#pragma once

#include <optional>
#include <string>

#include "segre/io/csv.h"
#include "segre/io/output.h"
#include "segre/ranks/ranks.h"
#include "segre/space/space.h"

namespace segre::cli {

/// The forms in which items are written.
enum class LabelFormat { csv, npy, picture, maps };

/// The form that a name means: .csv, .npy, .png (one picture of all images, a histogram of two variables), a folder
/// (one label map each), - or a device (CSV). Depends only on the name, so that it can be checked before the model is
/// read. InputError names the option.
LabelFormat label_format(const std::string& option, const std::string& name);

/// InputError if items of this space cannot be written in this form, or `count` are too many for one picture.
void check_label_format(LabelFormat format, const std::string& option, const std::string& name, const Space& space,
                        int64_t count);

/// Where items go: checked before the work, written batch by batch, by rank 0 alone.
class LabelOutput {
 public:
  LabelOutput(const Ranks& ranks, const std::string& option, const std::string& name);

  LabelFormat format() const { return format_; }
  /// Calls `fill` with a function that takes the items in batches, first to last; everything is in place afterwards.
  /// `count` is the number of items, `per_row` how many a picture has side by side (0: a square), `numbers` how CSV
  /// has numbers and dates, see write_labels_csv.
  using Add = std::function<void(const torch::Tensor& labels)>;
  void write(const Space& space, int64_t count, const std::function<void(const Add&)>& fill, int64_t per_row = 0,
             const std::optional<BinValues>& numbers = std::nullopt);

 private:
  LabelFormat format_;
  std::optional<OutputFile> file_;
  std::optional<NewOutputFolder> folder_;
};

}  // namespace segre::cli
