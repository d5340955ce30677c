#include <algorithm>
#include <set>

#include "segre/core/error.h"
#include "segre/io/gzip.h"
#include "segre/read/binary_image.h"
#include "segre/read/readers.h"

namespace segre {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kImages = 0x0803;  // bytes, three axes
constexpr uint32_t kLabels = 0x0801;  // bytes, one axis

uint32_t read_number(ByteReader& file, const char* what) {
  unsigned char bytes[4];
  if (file.read(reinterpret_cast<char*>(bytes), sizeof bytes) != sizeof bytes)
    fail_input(file.name(), ": ends in the header, the ", what, " was expected");
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

void check_magic(ByteReader& file, uint32_t expected) {
  const uint32_t magic = read_number(file, "magic number");
  if (magic == expected) return;
  const char* const what = expected == kImages ? "images of bytes" : "labels";
  const char* const found = magic == kImages ? " (images)" : magic == kLabels ? " (labels)" : "";
  fail_input(file.name(), ": magic number ", magic, found, ", expected ", expected, " (IDX ", what, ")");
}

void check_end(ByteReader& file, int64_t count, const char* what) {
  char extra = 0;
  if (file.read(&extra, 1) != 0)
    fail_input(file.name(), ": has data after the ", count, " ", what, " its header promises");
}

// MNIST's naming: the labels of train-images-idx3-ubyte.gz are in train-labels-idx1-ubyte.gz, compressed or not.
fs::path find_labels(const SourceName& name) {
  if (name.has("labels")) return name.word("labels", "");
  const fs::path images = name.target();
  std::string file = images.filename().string();
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"images", "labels"}, {"idx3", "idx1"}}) {
    const size_t at = file.find(from);
    if (at != std::string::npos) file.replace(at, from.size(), to);
  }
  const std::string plain = file.ends_with(".gz") ? file.substr(0, file.size() - 3) : file;
  for (const std::string& candidate : {file, plain, plain + ".gz"})
    if (candidate != images.filename() && fs::exists(images.parent_path() / candidate))
      return images.parent_path() / candidate;
  fail_input(name.target(), ": classes= needs the labels, but ", file,
             " is not next to it; name their file with labels=");
}

// One class per image; empty if all are wanted.
std::string read_classes(const SourceName& name, int64_t n_images) {
  if (!name.has("classes")) {
    if (name.has("labels")) fail_input("data source ", name.text(), ": labels= is for classes=, which is not given");
    return {};
  }
  ByteReader file(find_labels(name));
  check_magic(file, kLabels);
  const int64_t count = read_number(file, "number of labels");
  if (count != n_images)
    fail_input(file.name(), ": has ", count, " labels for the ", n_images, " images of ", name.target());
  std::string classes = file.read_rest();
  if (static_cast<int64_t>(classes.size()) != count)
    fail_input(file.name(), ": has ", classes.size(), " labels, its header promises ", count);
  return classes;
}

struct Header {
  int64_t count;
  ImageSize size;
};

Header read_header(ByteReader& file) {
  check_magic(file, kImages);
  const Header header{read_number(file, "number of images"), {read_number(file, "height"), read_number(file, "width")}};
  if (header.count == 0) fail_input(file.name(), ": has no images");
  for (const int64_t extent : {header.size.height, header.size.width})
    if (extent < 1 || extent > kMaxExtent)
      fail_input(file.name(), ": images of ", header.size.height, "x", header.size.width, ", 1 to ", kMaxExtent,
                 " pixels a side were expected");
  return header;
}

// Reads the next image's bytes. Memory grows with the file's data, not with what its header promises.
void read_image(ByteReader& file, const Header& header, int64_t number, std::vector<unsigned char>& bytes) {
  constexpr size_t kPiece = size_t{1} << 16;
  const auto wanted = static_cast<size_t>(header.size.pixels());
  bytes.clear();
  while (bytes.size() < wanted) {
    const size_t before = bytes.size();
    const size_t asked = std::min(kPiece, wanted - before);
    bytes.resize(before + asked);
    const size_t found = file.read(reinterpret_cast<char*>(bytes.data()) + before, asked);
    if (found != asked)
      fail_input(file.name(), ": ends in image ", number, " of the ", header.count, " its header promises, after ",
                 before + found, " of ", wanted, " bytes");
  }
}

}  // namespace

Dataset read_idx(const SourceName& name) {
  const auto wanted = name.integers("classes", {0, 255});
  const std::set<int64_t> keep(wanted.begin(), wanted.end());
  const int64_t limit = name.limit();
  ByteReader file(name.target());
  const Header header = read_header(file);
  const std::string classes = read_classes(name, header.count);
  const BinaryForm form{requested_size(name).value_or(header.size),
                        static_cast<float>(name.integer("threshold", 127, {0, 254})),
                        name.integer("pad", 0, {0, 1024})};
  form.require_memory_for_one();

  LabelStore store;
  ItemNumbers numbers;
  std::vector<unsigned char> bytes;
  int64_t taken = 0;
  int64_t image = 0;
  for (; image < header.count && taken < limit; ++image) {
    read_image(file, header, image + 1, bytes);
    if (!keep.empty() && !keep.contains(static_cast<unsigned char>(classes[image]))) continue;
    add_binary_image(store, form, {bytes.begin(), bytes.end()}, header.size);
    numbers.add(image);
    ++taken;
  }
  if (image == header.count) check_end(file, header.count, "images");
  if (taken == 0) name.fail_option("classes", "a class that the file has");
  const Space space = form.space();
  return {space, store.take(space), false, Origin::items(file.name(), std::move(numbers))};
}

}  // namespace segre
