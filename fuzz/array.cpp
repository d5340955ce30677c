// NPY arrays and IDX images, plain or gzipped; the first byte chooses the reader and its options.

#include "fuzz/support.h"
#include "segre/read/readers.h"

namespace {

using namespace segre;

struct Reader {
  const char* kind;
  const char* options;
  Dataset (*read)(const SourceName&);
};

Dataset npy_without_strays(const SourceName& name) { return read_npy_labels(name); }
Dataset npy_with_strays(const SourceName& name) { return read_npy_labels(name, Strays::keep); }

const Reader kReaders[] = {{"npy:", "", npy_without_strays},      {"npy:", "?labels=3", npy_without_strays},
                           {"npy:", "?limit=1", npy_with_strays}, {"idx:", "", read_idx},
                           {"idx:", "?pad=1&limit=2", read_idx},  {"idx:", "?height=2&width=3&threshold=9", read_idx}};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::Folder folder;
  const auto [choice, rest] = fuzz::choose(data, size);
  const Reader& reader = kReaders[choice % std::size(kReaders)];
  const auto path = folder.put("array", rest);
  fuzz::survive([&] {
    const Dataset dataset = reader.read(parse_source_name(reader.kind + path.string() + reader.options));
    check_labels(dataset.space, dataset.labels.to(torch::kInt64), dataset.unknowns);
  });
  return 0;
}
