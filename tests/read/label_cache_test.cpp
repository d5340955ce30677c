#include "segre/read/label_cache.h"

#include <nlohmann/json.hpp>

#include "segre/io/files.h"
#include "segre/io/mapped_rows.h"
#include "tests/support/datasets.h"
#include "tests/support/full_disk.h"
#include "tests/support/messages.h"

namespace segre::label_cache_test {
namespace {

namespace fs = std::filesystem;
using test::any_error;
using test::ScratchFolder;
using test::write_text;

// A table with lines in two runs and, if `unknown`, an unknown cell.
Dataset small_table(bool unknown) {
  const Space space = Space::table({{"sky", 3, {"rain", "snow", "sun"}}, {"wind", 2, {"no", "ja, \u00e4"}}});
  ItemNumbers lines;
  for (const int64_t line : {2, 3, 7}) lines.add(line);
  Dataset dataset{space, torch::tensor({{0, 1}, {2, 0}, {1, 1}}, torch::kInt64), false,
                  Origin::lines("t.csv", std::move(lines))};
  if (unknown) dataset.labels[1][1] = kUnknown;
  dataset.unknowns = unknown ? Unknowns::allow : Unknowns::refuse;
  dataset.labels = dataset.labels.to(label_type(space, dataset.unknowns));
  return dataset;
}

TEST(LabelCache, HoldsSpaceLabelsAndNumbers) {
  const ScratchFolder folder;
  for (const bool unknown : {false, true}) {
    const Dataset dataset = small_table(unknown);
    write_cache(folder / "c", "key", dataset);
    const auto found = read_cache(folder / "c", "key");
    ASSERT_TRUE(found.labels.has_value()) << found.problem;
    EXPECT_EQ(found.labels->space.to_json(), dataset.space.to_json());
    EXPECT_TRUE(torch::equal(found.labels->labels, dataset.labels));
    EXPECT_TRUE(is_mapped(found.labels->labels));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(found.labels->labels.data_ptr()) % 4096, 0U) << "starts on a page";
    EXPECT_EQ(found.labels->unknowns, dataset.unknowns);
    EXPECT_EQ(found.labels->numbers.runs(), dataset.origin.numbers().runs());
    EXPECT_EQ(found.labels->numbers.size(), 3);
  }
}

TEST(LabelCache, IsNeitherFoundNorMissedWhereThereIsNone) {
  const ScratchFolder folder;
  const auto found = read_cache(folder / "c", "key");
  EXPECT_FALSE(found.labels);
  EXPECT_EQ(found.problem, "");
}

TEST(LabelCache, OfSomethingElseIsNotUsed) {
  const ScratchFolder folder;
  write_cache(folder / "c", "key", small_table(false));
  const auto found = read_cache(folder / "c", "other key");
  EXPECT_FALSE(found.labels);
  EXPECT_EQ(found.problem, "was made from other files or with other options");
}

TEST(LabelCache, IsNotUsedIfAnythingButALabelIsDamaged) {
  const ScratchFolder folder;
  write_cache(folder / "c", "key", small_table(false));
  const std::string whole = read_file(folder / "c");
  const auto problem = [&](const std::string& bytes) {
    write_text(folder / "c", bytes);
    const auto found = read_cache(folder / "c", "key");
    EXPECT_FALSE(found.labels);
    return found.problem;
  };
  EXPECT_EQ(problem(whole.substr(0, 50)), "cannot be used (has the wrong size)");
  EXPECT_EQ(problem(whole.substr(0, 300)), "cannot be used (has the wrong size)");
  EXPECT_EQ(problem(whole.substr(0, whole.size() - 1)), "cannot be used (has the wrong size)");
  EXPECT_EQ(problem(whole + "x"), "cannot be used (has the wrong size)");
  EXPECT_EQ(problem("a,b\n" + whole), "cannot be used (is something else)");
  std::string bytes = whole;
  bytes[bytes.find("snow")] = 'S';
  EXPECT_EQ(problem(bytes), "cannot be used (has a damaged header)");
  bytes = whole;
  bytes[whole.size() - 16] = 0;  // the second run starts with the first item, too
  EXPECT_EQ(problem(bytes), "cannot be used (has damaged item numbers)");
  EXPECT_NE(problem(""), "");
}

TEST(LabelCache, AppearsCompleteOrNotAtAll) {
  const ScratchFolder folder;
  {
    const test::FullDisk full(5000);  // room for the header only
    EXPECT_TRUE(test::contains(any_error([&] { write_cache(folder / "c", "key", test::chain_rows(50, 100)); }),
                               "writing failed (File too large)"));
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(LabelCache, IsBesideTheFileOrInTheFolder) {
  const ScratchFolder folder;
  write_text(folder / "t.csv", "x\n");
  EXPECT_EQ(cache_of(folder / "t.csv"), folder / "t.csv.segre-cache");
  EXPECT_EQ(cache_of(folder.path()), folder / ".segre-cache");
  EXPECT_EQ(cache_of(folder.path().string() + "/"), folder / ".segre-cache");
}

class CacheKey : public testing::Test {
 protected:
  CacheKey() { write_text(folder_ / "t.csv", "x\na\n"); }
  std::string key(const std::string& options) const {
    const auto name = parse_source_name("csv:" + (folder_ / "t.csv").string() + options);
    return cache_key(name, {name.target()}).value_or("none");
  }
  ScratchFolder folder_;
};

TEST_F(CacheKey, ChangesWithTheOptionsThatChangeLabels) {
  EXPECT_EQ(key("?columns=x&limit=3"), key("?limit=3&columns=x"));
  EXPECT_EQ(key("?columns=x"), key("?cache=yes&columns=x&flip=1"));
  EXPECT_NE(key("?columns=x"), key(""));
  EXPECT_NE(key("?limit=3"), key("?limit=4"));
}

TEST_F(CacheKey, ChangesWithTheSizeAndTimeOfAFile) {
  const std::string before = key("");
  EXPECT_EQ(key(""), before);
  fs::last_write_time(folder_ / "t.csv", fs::last_write_time(folder_ / "t.csv") + std::chrono::nanoseconds(1000));
  const std::string later = key("");
  EXPECT_NE(later, before);
  const auto time = fs::last_write_time(folder_ / "t.csv");
  write_text(folder_ / "t.csv", "x\na\nb\n");
  fs::last_write_time(folder_ / "t.csv", time);
  EXPECT_NE(key(""), later);
}

TEST_F(CacheKey, StaysWhenTheDataMoveTogether) {
  fs::create_directory(folder_ / "maps");
  write_text(folder_ / "maps/a.png", "a");
  const auto of = [&](const fs::path& target) {
    return *cache_key(parse_source_name("png:" + target.string()), {target / "a.png"});
  };
  const std::string before = of(folder_ / "maps");
  fs::rename(folder_ / "maps", folder_ / "moved");
  EXPECT_EQ(of(folder_ / "moved"), before);
}

TEST_F(CacheKey, IsOfRegularFilesOnly) {
  EXPECT_FALSE(cache_key(parse_source_name("csv:/dev/null"), {"/dev/null"}));
  EXPECT_FALSE(cache_key(parse_source_name("csv:/nowhere"), {"/nowhere"}));
}

}  // namespace
}  // namespace segre::label_cache_test
