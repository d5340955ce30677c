#include "segre/read/label_cache.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <nlohmann/json.hpp>

#include "segre/core/error.h"
#include "segre/core/version.h"
#include "segre/io/files.h"
#include "segre/io/folders.h"
#include "segre/io/mapped_file.h"
#include "segre/io/mapped_rows.h"
#include "segre/io/sha256.h"

namespace segre {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int64_t kFormat = 1;
constexpr int64_t kPage = 4096;
constexpr int64_t kWord = 8;
const std::string kMagic = "segre-cache\n";
constexpr int64_t kDigestDigits = 64;
constexpr int64_t kLengthDigits = 16;
const int64_t kPreamble = static_cast<int64_t>(kMagic.size()) + kDigestDigits + 1 + kLengthDigits + 1;

// Options that do not change the labels: items are mirrored in training.
const std::vector<std::string> kOtherOptions{"cache", "flip"};

int64_t rounded_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

std::string sha256_of(const std::string& text) {
  Sha256 hash;
  hash.add(text.data(), text.size());
  return hash.hex();
}

void add(Sha256& hash, const std::string& text) {
  hash.add(text.data(), text.size());
  hash.add("", 1);  // terminator: "ab", "c" differs from "a", "bc"
}

// Where the parts of a cache are.
struct Parts {
  int64_t labels = 0;  // offset
  int64_t runs = 0;    // offset
  int64_t end = 0;
};

Parts parts_of(int64_t labels, int64_t label_bytes, int64_t n_runs) {
  const int64_t runs = rounded_up(labels + label_bytes, kWord);
  return {labels, runs, runs + n_runs * 2 * kWord};
}

void pad(std::ostream& out, int64_t bytes) { out << std::string(static_cast<size_t>(bytes), '\0'); }

// The header without the place of the labels, which follows from its own length.
json header_of(const std::string& key, const Dataset& dataset) {
  return {{"format", kFormat},
          {"key", key},
          {"space", dataset.space.to_json()},
          {"unknowns", dataset.unknowns == Unknowns::allow},
          {"items", dataset.labels.size(0)},
          {"runs", dataset.origin.numbers().n_runs()}};
}

std::string read_text(const MappedFile& file, int64_t offset, int64_t bytes) {
  std::string text(static_cast<size_t>(bytes), '\0');
  file.read(offset, bytes, text.data());
  return text;
}

// The header's text; Error if the file is not a cache or the header is damaged.
std::string read_header(const MappedFile& file) {
  if (file.size() < kPreamble) fail("has the wrong size");
  const std::string preamble = read_text(file, 0, kPreamble);
  if (!preamble.starts_with(kMagic)) fail("is something else");
  const char* const length = preamble.data() + kPreamble - 1 - kLengthDigits;
  int64_t bytes = -1;
  std::from_chars(length, length + kLengthDigits, bytes);
  if (bytes < 0 || bytes > file.size() - kPreamble) fail("has the wrong size");
  std::string header = read_text(file, kPreamble, bytes);
  if (sha256_of(header) != preamble.substr(kMagic.size(), kDigestDigits)) fail("has a damaged header");
  return header;
}

ItemNumbers read_runs(const MappedFile& file, int64_t n_items, int64_t offset, int64_t count) {
  std::vector<ItemNumbers::Run> runs(static_cast<size_t>(count));
  std::vector<int64_t> words(static_cast<size_t>(2 * count));
  file.read(offset, 2 * kWord * count, words.data());
  for (size_t k = 0; k < runs.size(); ++k) runs[k] = {words[2 * k], words[2 * k + 1]};
  const bool ascend = std::adjacent_find(runs.begin(), runs.end(), [](const auto& before, const auto& after) {
                        return before.first >= after.first;
                      }) == runs.end();
  if (!ascend || (count > 0 && runs.front().first != 0)) fail("has damaged item numbers");
  return {n_items, std::move(runs)};
}

// Error if anything does not fit together.
CachedLabels read_contents(const std::shared_ptr<const MappedFile>& file, const json& header, int64_t labels_at) {
  const Space space = Space::from_json(header.at("space"));
  const Unknowns unknowns = header.at("unknowns").get<bool>() ? Unknowns::allow : Unknowns::refuse;
  const auto n_items = header.at("items").get<int64_t>();
  const auto n_runs = header.at("runs").get<int64_t>();
  const torch::ScalarType type = label_type(space, unknowns);
  const int64_t item_bytes = space.n_variables() * static_cast<int64_t>(c10::elementSize(type));
  const int64_t most = std::max<int64_t>(0, file->size() - labels_at);
  if (n_items < 1 || n_items > most / item_bytes || n_runs < 1 || n_runs > most / (2 * kWord))
    fail("has the wrong size");
  const Parts parts = parts_of(labels_at, n_items * item_bytes, n_runs);
  if (parts.end != file->size()) fail("has the wrong size");
  return {space, MappedFile::view(file, parts.labels, {n_items, space.n_variables()}, type), unknowns,
          read_runs(*file, n_items, parts.runs, n_runs)};
}

}  // namespace

fs::path cache_of(const fs::path& data) {
  std::error_code ignored;
  const fs::path plain = without_end_slash(data);
  return fs::is_directory(plain, ignored) ? plain / ".segre-cache" : fs::path(plain.string() + ".segre-cache");
}

std::optional<std::string> cache_key(const SourceName& name, const std::vector<fs::path>& inputs) {
  Sha256 hash;
  for (const std::string& part : {std::to_string(kFormat), release(), name.kind()}) add(hash, part);
  auto options = name.options();
  std::sort(options.begin(), options.end());
  for (const auto& [key, value] : options)
    if (std::find(kOtherOptions.begin(), kOtherOptions.end(), key) == kOtherOptions.end())
      add(hash, concat(key, "=", value));
  for (const fs::path& input : inputs) {
    struct stat found {};
    if (::stat(input.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
    add(hash, input.lexically_relative(name.target()).string());
    add(hash, concat(found.st_size, " ", found.st_mtim.tv_sec, " ", found.st_mtim.tv_nsec));
  }
  return hash.hex();
}

void write_cache(const fs::path& cache, const std::string& key, const Dataset& dataset) {
  const std::string header = header_of(key, dataset).dump();
  const auto header_bytes = static_cast<int64_t>(header.size());
  const auto label_bytes = static_cast<int64_t>(dataset.labels.nbytes());
  const auto& runs = dataset.origin.numbers().runs();
  const Parts parts =
      parts_of(rounded_up(kPreamble + header_bytes, kPage), label_bytes, static_cast<int64_t>(runs.size()));
  const std::string length = std::to_string(header_bytes);
  write_file_whole(cache, [&](std::ostream& out) {
    out << kMagic << sha256_of(header) << '\n' << std::string(kLengthDigits - length.size(), '0') << length << '\n';
    out << header;
    pad(out, parts.labels - kPreamble - header_bytes);
    for_each_part(dataset.labels, [&](const torch::Tensor& part, int64_t) {
      out.write(static_cast<const char*>(part.const_data_ptr()), static_cast<std::streamsize>(part.nbytes()));
    });
    pad(out, parts.runs - parts.labels - label_bytes);
    for (const auto& [item, number] : runs)
      for (const int64_t word : {item, number}) out.write(reinterpret_cast<const char*>(&word), kWord);
  });
}

FoundCache read_cache(const fs::path& cache, const std::string& key) {
  std::error_code ignored;
  if (!fs::is_regular_file(cache, ignored)) return {};
  try {
    const auto file = std::make_shared<const MappedFile>(cache);
    const std::string text = read_header(*file);
    const json header = json::parse(text);
    if (header.at("format") != kFormat || header.at("key") != key)
      return {std::nullopt, "was made from other files or with other options"};
    const int64_t labels_at = rounded_up(kPreamble + static_cast<int64_t>(text.size()), kPage);
    return {read_contents(file, header, labels_at), ""};
  } catch (const std::exception& error) {
    return {std::nullopt, concat("cannot be used (", error.what(), ")")};
  }
}

}  // namespace segre
