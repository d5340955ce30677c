#include "segre/runs/data_fingerprint.h"

#include <nlohmann/json.hpp>

#include "segre/io/sha256.h"
#include "segre/sources/source_kinds.h"
#include "segre/sources/toys.h"
#include "tests/support/datasets.h"

namespace segre::data_fingerprint_test {
namespace {

using test::ScratchFolder;
using test::write_text;

std::string of(const Dataset& dataset) { return fingerprint_of(*make_dataset_source(dataset), "csv:any.csv"); }

Dataset two_rows() {
  return {Space::table({{"a", 2, {"no", "yes"}}}), torch::tensor({0, 1}, torch::kUInt8).view({2, 1})};
}

// SHA-256 of texts, each with a zero byte at its end, and of bytes.
std::string sha256_of(const std::vector<std::string>& texts, const std::vector<uint8_t>& bytes = {}) {
  Sha256 hash;
  for (const std::string& text : texts) hash.add(text.c_str(), text.size() + 1);
  hash.add(bytes.data(), bytes.size());
  return hash.hex();
}

// Stored in checkpoints, so it must never change.
TEST(DataFingerprint, IsTheHashOfNamesAndLabels) {
  const char* const kTable =
      R"({"layout":"table","shape":[1],"variables":[{"label_names":["no","yes"],"labels":2,"name":"a"}]})";
  EXPECT_EQ(of(two_rows()), sha256_of({kTable, "as they are", "2", "1"}, {0, 1}));
  const char* const kCoupled =
      R"({"layout":"table","shape":[2],"variables":[{"labels":2,"name":"y1"},{"labels":2,"name":"y2"}]})";
  EXPECT_EQ(fingerprint_of(*open_source("coupled"), "coupled"), sha256_of({kCoupled, "coupled"}));
}

TEST(DataFingerprint, TellsLabelsOrderShapeNamesAndMirroringApart) {
  std::vector<std::string> all{of(two_rows())};
  Dataset other = two_rows();
  other.labels = torch::tensor({1, 0}, torch::kUInt8).view({2, 1});
  all.push_back(of(other));
  other = two_rows();
  other.labels = torch::tensor({0, 1, 0}, torch::kUInt8).view({3, 1});
  all.push_back(of(other));
  other = two_rows();
  other.space = Space::table({{"b", 2, {"no", "yes"}}});
  all.push_back(of(other));
  other.space = Space::table({{"a", 2, {"no", "maybe"}}});
  all.push_back(of(other));
  all.push_back(of(test::stripes(false)));
  all.push_back(of(test::stripes(true)));
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t j = 0; j < i; ++j) EXPECT_NE(all[i], all[j]) << i << " and " << j;
}

TEST(DataFingerprint, HowMissingValuesAreWrittenDoesNotMatter) {
  Dataset data = two_rows();
  data.space = Space::table({{"a", 2, {"no", "(missing)"}}});
  const auto before = of(data);
  data.space = Space::table({{"a", 2, {"no", "(missing)"}, {}, "NA"}});
  EXPECT_EQ(of(data), before) << "runs of before are resumed";
}

TEST(DataFingerprint, ColoursAndTheNameOfTheFileDoNotMatter) {
  Dataset coloured = test::stripes();
  coloured.space = Space::image(8, 8, 2, {{}, {{0, 0, 0}, {255, 0, 0}}});
  EXPECT_EQ(of(coloured), of(test::stripes()));
  EXPECT_EQ(fingerprint_of(*make_dataset_source(two_rows()), "csv:elsewhere.csv?limit=2"), of(two_rows()));
}

TEST(DataFingerprint, OfAJointFileIsThatOfItsTable) {
  const ScratchFolder folder;
  const auto print = [&](const char* name, const char* text) {
    write_text(folder / name, text);
    const auto source = "joint:" + (folder / name).string();
    return fingerprint_of(*open_source(source), source);
  };
  const auto half = print("a.csv", "x,p\n0,0.5\n1,0.5\n");
  EXPECT_EQ(print("b.csv", "x,p\n0,0.50\n1,5e-1\n"), half);
  EXPECT_NE(print("c.csv", "x,p\n0,0.25\n1,0.75\n"), half);
}

// Toys are computed and streets drawn with the machine's own exp and cos.
TEST(DataFingerprint, HeldOutItemsOfBuiltInDataAreToldByTheirName) {
  const auto source = open_source("coupled");
  const auto first = fingerprint_of(*source, "coupled", "", source->rows(0, 5));
  EXPECT_EQ(fingerprint_of(*source, "coupled", "", source->rows(5, 5)), first);
  EXPECT_EQ(fingerprint_of(*source, "coupled", "mixture", source->rows(0, 5)).items, first.items);
  EXPECT_NE(fingerprint_of(*source, "coupled", "mixture", source->rows(0, 5)).held_out, first.held_out);
}

TEST(DataFingerprint, CountsItemsAndHeldOutOnesAndReadsBack) {
  const auto source = make_dataset_source(test::stripes());
  const auto held_out = source->rows(3, 5);
  const auto print = fingerprint_of(*source, "idx:a", "", held_out);
  EXPECT_EQ(print.n_items, 64);
  EXPECT_EQ(print.n_held_out, 5);
  EXPECT_NE(print.held_out, fingerprint_of(*source, "idx:a", "", source->rows(4, 5)).held_out);
  EXPECT_EQ(DataFingerprint::from_json(nlohmann::json::parse(print.to_json().dump())), print);
  const auto none = fingerprint_of(*source, "idx:a", "", {});
  EXPECT_EQ(none.n_held_out, 0);
  EXPECT_EQ(none.items, print.items);
}

}  // namespace
}  // namespace segre::data_fingerprint_test
