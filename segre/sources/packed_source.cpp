#include "segre/sources/packed_source.h"

#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "segre/core/error.h"
#include "segre/core/log.h"
#include "segre/core/memory.h"
#include "segre/io/files.h"
#include "segre/io/gzip.h"
#include "segre/io/lock.h"
#include "segre/read/cityscapes.h"
#include "segre/read/label_cache.h"
#include "segre/read/label_maps.h"

namespace segre {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostLabelBytes = 4;  // of one label

// The cache of one source.
class Packed {
 public:
  Packed(const SourceName& name, PackedInputs inputs, std::string key)
      : name_(name), inputs_(std::move(inputs)), key_(std::move(key)), file_(cache_of(name.target())) {}

  // The source if the cache serves; else nullptr, and problem_ has the reason unless there is none.
  std::unique_ptr<DataSource> load(const Space* wanted = nullptr) {
    FoundCache found = read_cache(file_, key_);
    problem_ = std::move(found.problem);
    if (!found.labels) return nullptr;
    CachedLabels& cached = *found.labels;
    const bool is_wanted = wanted != nullptr && wanted->to_json() == cached.space.to_json();
    try {
      return make_dataset_source({is_wanted ? *wanted : cached.space, cached.labels, name_.flag("flip", false),
                                  inputs_.origin(std::move(cached.numbers)), cached.unknowns});
    } catch (const InputError& error) {
      problem_ = concat("cannot be used (", error.what(), ")");
      return nullptr;
    }
  }

  // Reads the data and packs them: those of any size, or only large ones.
  std::unique_ptr<DataSource> make(const std::function<Dataset()>& read, bool any_size) {
    const auto lock = any_size || inputs_.likely_most() > kLeastPacked ? take_lock() : nullptr;
    if (lock)
      if (auto made = load()) return made;  // while this process waited
    auto source = make_dataset_source(read());
    const auto bytes = static_cast<int64_t>(source->dataset()->labels.nbytes());
    if (!any_size && bytes <= kLeastPacked) return source;
    if (!problem_.empty()) note(file_.string(), ": ", problem_, " and is made again");
    try {
      if (lock) remove_unfinished();
      write_cache(file_, key_, *source->dataset());
    } catch (const FileError& error) {
      note(error.what(), "; without a cache the data are read each time (cache=no: without this note)");
      return source;
    }
    note(file_.string(), ": holds ", format_bytes(bytes), " of labels, so that ", name_.target(),
         " need not be read again");
    auto packed = load();
    return packed ? std::move(packed) : std::move(source);
  }

 private:
  // nullptr if the folder cannot be written.
  std::unique_ptr<ProcessLock> take_lock() const {
    try {
      return std::make_unique<ProcessLock>(file_.string() + ".lock", name_.target(), ProcessLock::Held::wait);
    } catch (const FileError&) {
      return nullptr;
    }
  }

  // What a killed process has left; with the lock held, nobody else is writing.
  void remove_unfinished() const {
    std::error_code error;
    for (fs::directory_iterator at(parent_of(file_), error); !error && at != fs::directory_iterator();
         at.increment(error))
      if (temporary_for(at->path()) == file_.filename().string()) ::unlink(at->path().c_str());
  }

  const SourceName& name_;
  PackedInputs inputs_;
  std::string key_;
  fs::path file_;
  std::string problem_;
};

std::string cache_option(const SourceName& name) { return name.choice("cache", "auto", {"auto", "yes", "no"}); }

// The cache of a source; none if it is not wanted or not possible.
std::optional<Packed> cache_for(const SourceName& name, PackedInputs (*inputs_of)(const SourceName&)) {
  if (cache_option(name) == "no") return std::nullopt;
  PackedInputs inputs = inputs_of(name);
  auto key = cache_key(name, inputs.files);
  if (!key) return std::nullopt;  // a pipe, or a file that reading will name
  return Packed(name, std::move(inputs), std::move(*key));
}

PackedInputs map_inputs(std::vector<fs::path> files, const std::function<ImageSize()>& size) {
  const auto count = static_cast<int64_t>(files.size());
  Origin origin = origin_of(files);
  return {std::move(files), [=] { return count * size().pixels() * kMostLabelBytes; },
          [origin = std::move(origin)](const ItemNumbers&) { return origin; }};
}

}  // namespace

PackedInputs table_inputs(const SourceName& name) {
  const fs::path table = name.target();
  std::vector<fs::path> files{table};
  if (name.has("dictionary")) files.emplace_back(name.word("dictionary", ""));
  const auto likely_most = [table] {
    constexpr int64_t kExpansion = 30;  // of a table that compresses well
    std::error_code ignored;
    const auto bytes = static_cast<int64_t>(fs::file_size(table, ignored));
    // A field takes at least its separator.
    return bytes * (ByteReader(table).is_plain() ? 1 : kExpansion) * kMostLabelBytes;
  };
  return {std::move(files), likely_most,
          [table](ItemNumbers lines) { return Origin::lines(table.string(), std::move(lines)); }};
}

PackedInputs png_inputs(const SourceName& name) {
  const auto files = find_files(name.target(), ".png", name.limit());
  const auto size = [name, first = files.front()] {
    if (const auto requested = requested_size(name)) return *requested;
    const PngImage image = read_png(first);
    return ImageSize{image.height, image.width};
  };
  return map_inputs(files, size);
}

PackedInputs cityscapes_inputs(const SourceName& name) {
  return map_inputs(cityscapes_files(name), [name] { return cityscapes_size(name); });
}

std::unique_ptr<DataSource> open_packed(const SourceName& name, PackedInputs (*inputs)(const SourceName&),
                                        const std::function<Dataset()>& read) {
  auto packed = cache_for(name, inputs);
  if (!packed) return make_dataset_source(read());
  if (auto loaded = packed->load()) return loaded;
  return packed->make(read, cache_option(name) == "yes");
}

std::unique_ptr<DataSource> open_packed_for(const SourceName& name, PackedInputs (*inputs)(const SourceName&),
                                            const Space& space) {
  auto packed = cache_for(name, inputs);
  return packed ? packed->load(&space) : nullptr;
}

}  // namespace segre
