// CSV tables and joint distributions; the first byte chooses the reader and its options.

#include <cmath>
#include <nlohmann/json.hpp>

#include "fuzz/support.h"
#include "segre/data/joint_table.h"
#include "segre/read/readers.h"

namespace {

const char* const kOptions[] = {"",
                                "?missing=refuse",
                                "?delimiter=semicolon",
                                "?max_labels=3",
                                "?columns=a,b",
                                "?without=b&limit=2",
                                "?delimiter=tab&columns=b,a",
                                "?bins=auto",
                                "?bins=a:3,auto&max_labels=2"};
// Options of a table read for a model: what becomes of labels that it does not know.
const char* const kForModel[] = {"", "?unseen=skip", "?unseen=missing&delimiter=semicolon"};
constexpr size_t kFirstForModel = std::size(kOptions);
constexpr size_t kJoint = kFirstForModel + std::size(kForModel);

segre::Space model_space() {
  using namespace segre;
  return Space::table({{"b", 3, {"x", "y", "(missing)"}},
                       {"a", 3, {"[1, 2.5)", "[2.5, 9]", "(missing)"}, Bins{Bins::Unit::number, {1, 2.5, 9}, 1}},
                       {"c", 1, {"[1970-01-01, 1970-01-02]"}, Bins{Bins::Unit::day, {0, 86'400}}}});
}

void read_table(const std::filesystem::path& path, const std::string& options) {
  using namespace segre;
  const Dataset dataset = read_csv_table(parse_source_name("csv:" + path.string() + options));
  check_labels(dataset.space, dataset.labels.to(torch::kInt64), dataset.unknowns);
  // The space as a model would keep it.
  const Space kept = Space::from_json(nlohmann::json::parse(dataset.space.to_json().dump()));
  for (int64_t i = 0; i < kept.n_variables(); ++i)
    if (const Bins* bins = kept.bins(i))
      for (int64_t bin = 0; bin < bins->size(); ++bin) {
        const auto value = bins->parse(bins->draw(bin, 0.75));
        fuzz::require(value && bins->find(*value) == bin, "a value drawn from a bin is in it");
      }
}

void read_for_model(const std::filesystem::path& path, const std::string& options) {
  using namespace segre;
  static const Space space = model_space();
  const SourceName name = parse_source_name("csv:" + path.string() + options);
  const Dataset dataset = read_csv_table_for(name, space, "--data", 0, Unknowns::refuse);
  check_labels(space, dataset.labels.to(torch::kInt64), dataset.unknowns);
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
  fuzz::survive([&] {
    if (what == kJoint) return read_joint(path);
    what < kFirstForModel ? read_table(path, kOptions[what]) : read_for_model(path, kForModel[what - kFirstForModel]);
  });
  return 0;
}
