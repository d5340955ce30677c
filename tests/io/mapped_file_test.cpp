#include "segre/io/mapped_file.h"

#include "segre/io/mapped_rows.h"
#include "tests/support/mapped.h"
#include "tests/support/messages.h"

namespace segre::mapped_file_test {
namespace {

using test::any_error;
using test::mapped;
using test::ScratchFolder;
using test::write_text;

torch::Tensor numbered(int64_t rows, int64_t n) {
  return torch::arange(rows * n, torch::kInt64).remainder(32'003).to(torch::kInt16).view({rows, n});
}

TEST(MappedFile, AViewIsTheBytesOfTheFile) {
  const ScratchFolder folder;
  write_text(folder / "x", std::string("headr\0\1\0\2\0\3\0", 12));
  const auto file = std::make_shared<const MappedFile>(folder / "x");
  EXPECT_EQ(file->size(), 12);
  const auto view = MappedFile::view(file, 6, {3, 1}, torch::kInt16);
  EXPECT_TRUE(torch::equal(view, torch::tensor({1, 2, 3}, torch::kInt16).view({3, 1})));
  EXPECT_EQ(any_error([&] {
              MappedFile::view(file, 6, {4, 1}, torch::kInt16);
            }),
            (folder / "x").string() + ": a view of 8 bytes at 6 does not fit into 12");
  EXPECT_NE(any_error([&] { MappedFile::view(file, 5, {1, 1}, torch::kInt16); }), "") << "not aligned";
}

TEST(MappedFile, ViewsAndWhatIsCutFromThemAreKnownAndKeepItAlive) {
  const auto labels = numbered(10, 3);
  const auto view = mapped(labels).slice(0, 2, 7).view(-1);
  EXPECT_TRUE(is_mapped(view));
  EXPECT_TRUE(torch::equal(view, labels.slice(0, 2, 7).reshape(-1)));
  EXPECT_FALSE(is_mapped(labels));
  EXPECT_FALSE(is_mapped(view.clone()));
  EXPECT_FALSE(is_mapped(torch::Tensor()));
}

TEST(MappedFile, WhatCannotBeMappedIsNamedWithTheReason) {
  const ScratchFolder folder;
  EXPECT_EQ(any_error([&] { MappedFile(folder / "no"); }),
            (folder / "no").string() + ": cannot be mapped (No such file or directory)");
  EXPECT_NE(any_error([&] { MappedFile{folder.path()}; }), "");
  EXPECT_NE(any_error([&] { MappedFile("/dev/null"); }), "");
}

TEST(MappedRows, AreThoseOfTheTensor) {
  const auto labels = numbered(1000, 3);
  const auto view = mapped(labels);
  auto rows = torch::empty({777}, torch::kInt64);
  for (int64_t k = 0; k < rows.numel(); ++k) rows[k] = k * k % 1000;
  const auto taken = take_rows(view, rows);
  EXPECT_TRUE(torch::equal(taken, labels.index_select(0, rows)));
  EXPECT_FALSE(is_mapped(taken));
  EXPECT_TRUE(torch::equal(take_rows(view.slice(0, 100), rows.slice(0, 0, 5)),
                           labels.slice(0, 100).index_select(0, rows.slice(0, 0, 5))));
  EXPECT_EQ(take_rows(view, rows.slice(0, 0, 0)).sizes(), (std::vector<int64_t>{0, 3}));
  EXPECT_TRUE(test::contains(any_error([&] {
                               take_rows(view, torch::tensor({1, 1000}));
                             }),
                             "row 1000 of 1000 does not"));
  EXPECT_TRUE(test::contains(any_error([&] { take_rows(view, torch::tensor({-1})); }), "row -1 of 1000 does not"));
}

TEST(MappedRows, AreCopiedAsSlicesAre) {
  const auto labels = numbered(1000, 3);
  const auto view = mapped(labels);
  for (const auto& [first, count] : {std::pair<int64_t, int64_t>{0, 1000}, {7, 20}, {990, 100}, {5, 0}, {1000, 3}}) {
    const auto copy = copy_rows(view, first, count);
    EXPECT_TRUE(torch::equal(copy, labels.slice(0, first, first + count))) << first << ", " << count;
  }
  EXPECT_FALSE(is_mapped(copy_rows(view, 7, 20)));
  EXPECT_EQ(copy_rows(labels, 7, 20).data_ptr(), labels.slice(0, 7, 27).data_ptr()) << "no copy of what is in memory";
}

TEST(MappedRows, PartsAreTheWholeInOrder) {
  for (const auto& labels : {numbered(9'000'000, 1), numbered(2, 9'000'000), numbered(1, 1)})  // two parts, two, one
    for (const bool map : {false, true}) {
      int64_t seen = 0;
      for_each_part(map ? mapped(labels) : labels, [&](const torch::Tensor& part, int64_t first) {
        EXPECT_EQ(first, seen);
        EXPECT_TRUE(torch::equal(part, labels.slice(0, first, first + part.size(0))));
        seen += part.size(0);
      });
      EXPECT_EQ(seen, labels.size(0));
    }
}

TEST(MappedRows, TransposedOnesAreTakenAsTheyAre) {
  const auto labels = numbered(50, 3);
  const auto turned = mapped(labels).t();
  EXPECT_TRUE(
      torch::equal(take_rows(turned, torch::tensor({2, 0})), labels.t().index_select(0, torch::tensor({2, 0}))));
  for_each_part(turned, [&](const torch::Tensor& part, int64_t) { EXPECT_TRUE(torch::equal(part, labels.t())); });
}

TEST(MappedRows, ReleasedPagesComeBack) {
  const auto labels = numbered(10'000, 3);
  const auto view = mapped(labels);
  EXPECT_TRUE(torch::equal(view, labels));
  release_pages(view.slice(0, 100, 9'000));
  EXPECT_TRUE(torch::equal(view, labels));
  release_pages(labels);  // not mapped: nothing happens
  EXPECT_TRUE(torch::equal(view, labels));
}

// Touching the mapping would end the process.
TEST(MappedRows, OfAFileThatWasCutShortAreAnError) {
  const ScratchFolder folder;
  write_text(folder / "x", std::string(100'000, '\1'));
  const auto file = std::make_shared<const MappedFile>(folder / "x");
  const auto view = MappedFile::view(file, 0, {1000, 100}, torch::kUInt8);
  std::filesystem::resize_file(folder / "x", 50'000);
  EXPECT_EQ(take_rows(view, torch::tensor({3, 499})).sum().item<int64_t>(), 200);
  const std::string expected =
      (folder / "x").string() + ": ends after 50000 bytes and had 100000 when it was opened; was it changed since?";
  EXPECT_EQ(any_error([&] { take_rows(view, torch::tensor({3, 500})); }), expected);
  EXPECT_EQ(any_error([&] { for_each_part(view, [](const torch::Tensor&, int64_t) {}); }), expected);
}

TEST(MappedRows, TakeNoMemoryWhateverTheFileHolds) {
  if (!test::kCountsMemory) GTEST_SKIP() << "sanitizers keep memory";
  const ScratchFolder folder;
  constexpr int64_t kBytes = 600'000'000;
  write_text(folder / "x", "");
  std::filesystem::resize_file(folder / "x", kBytes);  // a hole: takes no disk
  const auto view =
      MappedFile::view(std::make_shared<const MappedFile>(folder / "x"), 0, {kBytes / 100, 100}, torch::kUInt8);
  const int64_t before = test::resident_bytes();
  int64_t most = 0;
  for_each_part(view, [&](const torch::Tensor& part, int64_t) {
    EXPECT_EQ(part.max().item<int64_t>(), 0);
    most = std::max(most, test::resident_bytes());
  });
  auto rows = torch::arange(100'000, torch::kInt64) * 59;
  take_rows(view, rows);
  most = std::max(most, test::resident_bytes());
  EXPECT_LT(most - before, int64_t{100} << 20);
}

}  // namespace
}  // namespace segre::mapped_file_test
