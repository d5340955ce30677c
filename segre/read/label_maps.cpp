#include "segre/read/label_maps.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <exception>

#include "segre/core/error.h"
#include "segre/core/memory.h"
#include "segre/core/parallel.h"

namespace segre {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kFilesAtOnce = 64;  // decoded in parallel before their values are stored in order

void check_kind(const PngImage& image, const std::string& file) {
  if (image.kind == PngImage::Kind::colour)
    fail_input(file,
               ": stores colours, a label map was expected: palette indices or grey values, one number per pixel; "
               "convert its colours to label numbers first");
}

void check_values(const PngImage& image, const std::string& file, const AllowedValues& values) {
  const auto bad =
      std::find_if(image.values.begin(), image.values.end(), [&](uint16_t v) { return !values.allowed[v]; });
  if (bad == image.values.end()) return;
  const auto at = bad - image.values.begin();
  fail_input(file, ": row ", at / image.width, ", column ", at % image.width, ": value ", *bad, ", ", values.expected,
             " was expected");
}

std::vector<uint16_t> resized(PngImage image, ImageSize size) {
  if (ImageSize{image.height, image.width} == size) return std::move(image.values);
  const auto rows = nearest_pixels(image.height, size.height);
  const auto columns = nearest_pixels(image.width, size.width);
  std::vector<uint16_t> result;
  result.reserve(size.pixels());
  for (const int64_t row : rows)
    for (const int64_t column : columns) result.push_back(image.values[row * image.width + column]);
  return result;
}

// The numbers in an image, how often they occur, and where first.
std::map<int64_t, StoredValue> stored_values(const PngImage& image, const std::string& file) {
  if (image.values.empty()) return {};
  std::vector<int64_t> counts(*std::max_element(image.values.begin(), image.values.end()) + 1);
  std::map<int64_t, StoredValue> stored;
  for (size_t at = 0; at < image.values.size(); ++at) {
    const uint16_t value = image.values[at];
    if (counts[value]++ > 0) continue;
    const auto place = static_cast<int64_t>(at);
    stored[value] = {0, file, place / image.width, place % image.width};
  }
  for (auto& [value, found] : stored) found.count = counts[value];
  return stored;
}

// One file of a batch: its pixels and the numbers in it, or the error.
struct Decoded {
  std::vector<uint16_t> values;
  std::map<int64_t, StoredValue> stored;
  std::exception_ptr error;
};

class MapReader {
 public:
  MapReader(const std::vector<fs::path>& files, std::optional<ImageSize> size, const AllowedValues& values)
      : files_(files), values_(values), is_resizing_(size.has_value()) {
    const PngImage first = read_png(files.front());
    check_kind(first, files.front().string());
    maps_.size = size.value_or(ImageSize{first.height, first.width});
    // Two bytes per pixel of the files decoded in parallel, one in the store.
    require_memory(3.0 * static_cast<double>(std::min<int64_t>(kFilesAtOnce, static_cast<int64_t>(files.size()))) *
                       static_cast<double>(maps_.size.pixels()),
                   concat("reading label maps of ", maps_.size.height, "x", maps_.size.width, " pixels"), torch::kCPU);
    maps_.palette = first.palette;
  }

  LabelMaps read() {
    const auto count = static_cast<int64_t>(files_.size());
    for (int64_t begin = 0; begin < count; begin += kFilesAtOnce)
      read_batch(begin, std::min(count, begin + kFilesAtOnce));
    return std::move(maps_);
  }

 private:
  void read_batch(int64_t begin, int64_t end) {
    std::vector<Decoded> batch(end - begin);
    parallel_for(begin, end, 1, [&](int64_t from, int64_t to) {
      for (int64_t k = from; k < to; ++k) decode(files_[k], batch[k - begin]);
    });
    for (const Decoded& decoded : batch) {
      if (decoded.error) std::rethrow_exception(decoded.error);  // the first file's, whatever the order of threads
      for (const uint16_t value : decoded.values) maps_.values.add(value);
      for (const auto& [value, found] : decoded.stored) {
        const auto [at, is_new] = maps_.stored.try_emplace(value, found);
        if (!is_new) at->second.count += found.count;
      }
    }
  }

  void decode(const fs::path& path, Decoded& decoded) const {
    try {
      PngImage image = read_png(path);
      check_kind(image, path.string());
      check_values(image, path.string(), values_);
      if (!is_resizing_ && ImageSize{image.height, image.width} != maps_.size)
        fail_input(path.string(), ": is ", image.height, "x", image.width, ", but ", files_.front().string(), " is ",
                   maps_.size.height, "x", maps_.size.width, "; give height= and width= to resize all");
      decoded.stored = stored_values(image, path.string());
      decoded.values = resized(std::move(image), maps_.size);
    } catch (...) {
      decoded.error = std::current_exception();
    }
  }

  const std::vector<fs::path>& files_;
  const AllowedValues& values_;
  bool is_resizing_;
  LabelMaps maps_;
};

}  // namespace

std::vector<fs::path> find_files(const fs::path& folder, const std::string& suffix, int64_t limit) {
  std::error_code error;
  std::vector<fs::path> files;
  fs::recursive_directory_iterator at(folder, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error))
    if (at->path().filename().string().ends_with(suffix) && !at->is_directory()) files.push_back(at->path());
  if (error) fail_input(folder.string(), ": cannot be read (", error.message(), "), a folder was expected");
  if (files.empty()) fail_input(folder.string(), ": has no files whose names end in ", suffix);
  std::sort(files.begin(), files.end());
  files.resize(std::min<int64_t>(limit, static_cast<int64_t>(files.size())));
  return files;
}

Origin origin_of(const std::vector<fs::path>& files) {
  std::vector<std::string> names;
  names.reserve(files.size());
  for (const fs::path& file : files) names.push_back(file.string());
  return Origin::files(std::move(names));
}

LabelMaps read_label_maps(const std::vector<fs::path>& files, std::optional<ImageSize> size,
                          const AllowedValues& values) {
  return MapReader(files, size, values).read();
}

}  // namespace segre
