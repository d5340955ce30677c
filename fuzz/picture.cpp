// PNG images and zip archives; the first byte chooses. One choice corrects the checksums of PNG chunks, which hardly
// any input would get past otherwise.

#include "fuzz/samples.h"
#include "segre/io/png.h"
#include "segre/io/zip.h"
#include "segre/read/readers.h"

namespace {

using namespace segre;

void read_picture(const std::string& bytes) {
  const PngImage image = parse_png(bytes, "a.png");
  if (image.kind != PngImage::Kind::colour)
    fuzz::require(static_cast<int64_t>(image.values.size()) == image.height * image.width, "one value per pixel");
}

void read_archive(const std::filesystem::path& path) {
  const ZipReader zip(path, {.max_bytes = 1 << 20, .free_bytes = 1 << 16, .max_ratio = 300});
  for (const auto& entry : zip.entries()) {
    const std::string contents = zip.read(entry);
    fuzz::require(static_cast<int64_t>(contents.size()) == entry.expanded, "an entry has the size it says");
  }
}

void read_source(const std::string& text, Dataset (*read)(const SourceName&)) {
  const Dataset dataset = read(parse_source_name(text));
  check_labels(dataset.space, dataset.labels.to(torch::kInt64), dataset.unknowns);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::Folder folder;
  static const bool one_thread = (at::set_num_threads(1), true);
  (void)one_thread;
  const auto chosen = fuzz::choose(data, size);
  const std::string& bytes = chosen.rest;
  fuzz::survive([&] {
    switch (chosen.choice % 4) {
      case 0:
        return read_picture(fuzz::sealed(bytes));
      case 1:
        return read_picture(bytes);
      case 2:
        return read_archive(folder.put("a.zip", bytes));
      default:
        return read_source("omniglot:" + folder.put("b.zip", bytes).string() + "?size=4", read_omniglot);
    }
  });
  return 0;
}
