// CSV tables and joint distributions; the first byte chooses the reader and its options.

#include <cmath>

#include "fuzz/support.h"
#include "segre/data/joint_table.h"
#include "segre/data/readers.h"

namespace {

const char* const kOptions[] = {"",
                                "?missing=refuse",
                                "?delimiter=semicolon",
                                "?max_labels=3",
                                "?columns=a,b",
                                "?without=b&limit=2",
                                "?delimiter=tab&columns=b,a"};
constexpr size_t kJoint = std::size(kOptions);

void read_table(const std::filesystem::path& path, const std::string& options) {
  using namespace segre;
  const Dataset dataset = read_csv_table(parse_source_name("csv:" + path.string() + options));
  check_labels(dataset.space, dataset.labels.to(torch::kInt64));
}

void read_joint(const std::filesystem::path& path) {
  using namespace segre;
  const JointTable table = read_joint_csv(path);
  check_labels(table.space, table.labelings);
  fuzz::require(std::abs(table.p.sum().item<double>() - 1.0) < 1e-9, "probabilities sum to one");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace segre;
  static fuzz::Folder folder;
  const auto [choice, rest] = fuzz::choose(data, size);
  const size_t what = choice % (kJoint + 1);
  const auto path = folder.put("table.csv", rest);
  fuzz::survive([&] { what == kJoint ? read_joint(path) : read_table(path, kOptions[what]); });
  return 0;
}
