// Folders of label maps: the options of the source, then the bytes of its two PNG files, as three sections. Separate
// from `picture` because it is slow: it checks every value that a pixel may have.

#include "fuzz/samples.h"
#include "segre/read/readers.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace segre;
  static fuzz::Folder folder;
  static const bool one_thread = (at::set_num_threads(1), true);
  (void)one_thread;
  const auto parts = fuzz::sections(std::string(reinterpret_cast<const char*>(data), size), 3);
  const bool is_city = parts[0].starts_with("split");
  const std::string where = is_city ? "gtFine/train/x/" : "maps/";
  folder.put(where + "a_labelIds.png", fuzz::sealed(parts[1]));
  folder.put(where + "b_labelIds.png", fuzz::sealed(parts[2]));
  fuzz::survive([&] {
    const std::string target = is_city ? folder.path().string() : (folder.path() / "maps").string();
    const auto name = parse_source_name((is_city ? "cityscapes:" : "png:") + target + "?" + parts[0]);
    if (name.target() != target) return;  // the input itself has question marks
    const Dataset dataset = is_city ? read_cityscapes(name) : read_png_folder(name);
    check_labels(dataset.space, dataset.labels.to(torch::kInt64), dataset.unknowns);
  });
  return 0;
}
