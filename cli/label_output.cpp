#include "cli/label_output.h"

#include <cmath>
#include <filesystem>

#include "segre/core/error.h"
#include "segre/io/npy.h"
#include "segre/report/histogram.h"
#include "segre/report/picture.h"

namespace segre::cli {
namespace {

constexpr int64_t kMostInPicture = 4096;

}  // namespace

LabelFormat label_format(const std::string& option, const std::string& name) {
  const auto extension = std::filesystem::path(name).extension().string();
  std::error_code ignored;
  const bool device = extension.empty() && (std::filesystem::is_other(name, ignored) || name.starts_with("/dev/"));
  if (extension == ".csv" || name == "-" || device) return LabelFormat::csv;
  if (extension == ".npy") return LabelFormat::npy;
  if (extension == ".png") return LabelFormat::picture;
  if (extension.empty()) return LabelFormat::maps;
  fail_input(option, " ", name,
             ": expected a file that ends in .csv, .npy or .png, a folder for label maps, or - for CSV on standard "
             "output");
}

void check_label_format(LabelFormat format, const std::string& option, const std::string& name, const Space& space,
                        int64_t count) {
  const bool image = space.is(PartKind::image);
  if (format == LabelFormat::maps && !image)
    fail_input(option, " ", name, ": a folder of label maps needs images; this model is a ", space.describe(),
               "; use .csv or .npy");
  if (format == LabelFormat::picture && !image && !PairHistogram::serves(space))
    fail_input(option, " ", name, ": pictures need images, or two variables of at most ", PairHistogram::kMostLabels,
               " labels; this model is a ", space.describe(), "; use .csv or .npy");
  if (format == LabelFormat::picture && image && count > kMostInPicture)
    fail_input(option, " ", name, ": one picture holds up to ", kMostInPicture, " items, found ", count,
               "; give a folder for one file each");
}

LabelOutput::LabelOutput(const Ranks& ranks, const std::string& option, const std::string& name)
    : format_(label_format(option, name)) {
  if (!ranks.is_first()) return;
  if (format_ == LabelFormat::maps) {
    folder_.emplace(option, name);
  } else {
    file_.emplace(option, name);
  }
}

void LabelOutput::write(const Space& space, int64_t count, const std::function<void(const Add&)>& fill, int64_t per_row,
                        const std::optional<BinValues>& numbers) {
  int64_t first = 0;
  if (!file_ && !folder_) return fill([](const torch::Tensor&) {});
  if (format_ == LabelFormat::maps) {
    return folder_->write([&](const std::filesystem::path& into) {
      fill([&](const torch::Tensor& labels) {
        write_label_maps(into, space, labels, first);
        first += labels.size(0);
      });
    });
  }
  if (format_ == LabelFormat::picture && !space.is(PartKind::image)) {
    PairHistogram histogram(space);
    fill([&](const torch::Tensor& labels) { histogram.add(labels); });
    return file_->write([&](std::ostream& out) { out << histogram.png(); });
  }
  if (format_ == LabelFormat::picture) {
    std::vector<torch::Tensor> all;
    fill([&](const torch::Tensor& labels) { all.push_back(labels); });
    const auto square = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(count))));
    const std::string png = label_grid_png(space, torch::cat(all), per_row > 0 ? per_row : square);
    return file_->write([&](std::ostream& out) { out << png; });
  }
  file_->write([&](std::ostream& out) {
    if (format_ == LabelFormat::npy) write_npy_header(out, space, count);
    fill([&](const torch::Tensor& labels) {
      if (format_ == LabelFormat::npy) {
        write_npy_labels(out, space, labels);
      } else {
        auto values = numbers;
        if (values) values->first_item = static_cast<uint64_t>(first);
        write_labels_csv(out, space, labels, /*with_header=*/first == 0, values);
      }
      first += labels.size(0);
    });
  });
}

}  // namespace segre::cli
