#include "segre/sources/packed_source.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "segre/io/files.h"
#include "segre/io/mapped_rows.h"
#include "segre/runs/data_fingerprint.h"
#include "segre/sources/relabel.h"
#include "segre/sources/source_kinds.h"
#include "tests/support/archives.h"
#include "tests/support/full_disk.h"
#include "tests/support/heard_log.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

// Labels packed into a cache beside the data.

namespace segre::packed_source_test {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::input_error;
using test::ScratchFolder;
using test::write_text;

constexpr const char* kAgain = " and is made again";

std::string table_text(int rows) {
  std::string text = "sky,wind,age\n";
  for (int k = 0; k < rows; ++k)
    text += concat(k % 3 == 0 ? "sun" : "rain", ",", k % 7 == 0 ? "" : "yes", ",", k % 40 + 0.5,
                   k % 10 == 0 ? "\n\n" : "\n");
  return text;
}

class PackedSource : public testing::Test {
 protected:
  PackedSource() { write_text(table(), table_text(200)); }
  fs::path table() const { return folder_ / "t.csv"; }
  fs::path cache() const { return folder_ / "t.csv.segre-cache"; }
  std::string csv(const std::string& options) const { return "csv:" + table().string() + "?bins=age:4" + options; }
  // Changes nothing but the time.
  void touch() const { fs::last_write_time(table(), fs::last_write_time(table()) + std::chrono::seconds(1)); }

  ScratchFolder folder_;
  test::HeardLog log_;
};

void expect_same(const DataSource& found, const DataSource& expected) {
  EXPECT_EQ(found.space().to_json(), expected.space().to_json());
  ASSERT_EQ(found.n_items(), expected.n_items());
  EXPECT_TRUE(torch::equal(found.rows(0, found.n_items()), expected.rows(0, found.n_items())));
  EXPECT_EQ(found.dataset()->labels.scalar_type(), expected.dataset()->labels.scalar_type());
  EXPECT_EQ(found.has_unknowns(), expected.has_unknowns());
  EXPECT_EQ(found.mirrors(), expected.mirrors());
  for (int64_t item = 0; item < found.n_items(); ++item) EXPECT_EQ(found.place(item), expected.place(item));
  EXPECT_EQ(fingerprint_of(found, "csv:x"), fingerprint_of(expected, "csv:x"));
}

TEST_F(PackedSource, IsMadeOnceAndUsedFromThenOn) {
  for (const char* missing : {"", "&missing=unknown"}) {
    const auto plain = open_source(csv(missing) + "&cache=no");
    EXPECT_FALSE(is_mapped(plain->dataset()->labels));
    const auto made = open_source(csv(missing) + "&cache=yes");
    EXPECT_TRUE(contains(log_.text(), cache().string() + ": holds "));
    const auto before = fs::last_write_time(cache());
    const auto used = open_source(csv(missing) + "&cache=yes");
    EXPECT_EQ(log_.text(), "") << "silent";
    EXPECT_EQ(fs::last_write_time(cache()), before);
    for (const DataSource* source : {made.get(), used.get()}) {
      EXPECT_TRUE(is_mapped(source->dataset()->labels));
      expect_same(*source, *plain);
    }
    EXPECT_FALSE(fs::exists(cache().string() + ".lock"));
  }
}

TEST_F(PackedSource, SmallOnesArePackedOnlyOnRequest) {
  open_source(csv(""));
  open_source(csv("&cache=auto"));
  open_source(csv("&cache=no"));
  EXPECT_FALSE(fs::exists(cache()));
  open_source(csv("&cache=yes"));
  log_.text();
  EXPECT_TRUE(is_mapped(open_source(csv(""))->dataset()->labels)) << "one that is there is used";
  EXPECT_FALSE(is_mapped(open_source(csv("&cache=no"))->dataset()->labels));
  touch();
  const auto before = fs::last_write_time(cache());
  EXPECT_FALSE(is_mapped(open_source(csv(""))->dataset()->labels)) << "one that is stale is left alone";
  EXPECT_EQ(fs::last_write_time(cache()), before);
  EXPECT_EQ(log_.text(), "");
}

TEST_F(PackedSource, IsMadeAgainWhenAFileOrAnOptionChanges) {
  open_source(csv("&cache=yes"));
  log_.text();
  write_text(table(), table_text(300));
  expect_same(*open_source(csv("&cache=yes")), *open_source(csv("&cache=no")));
  EXPECT_EQ(open_source(csv("&cache=yes"))->n_items(), 300);
  EXPECT_TRUE(contains(log_.text(), "was made from other files or with other options and is made again"));
  EXPECT_EQ(open_source(csv("&cache=yes&limit=50"))->n_items(), 50);
  EXPECT_TRUE(contains(log_.text(), kAgain));
  const auto two = open_source("csv:" + table().string() + "?columns=wind,sky&cache=yes");
  EXPECT_EQ(two->space().n_variables(), 2);
  EXPECT_TRUE(contains(log_.text(), kAgain));
}

TEST_F(PackedSource, ADictionaryIsAnInputToo) {
  write_text(folder_ / "d.csv", "column,label\nsky,rain\nsky,sun\n");
  const std::string name = csv("&cache=yes&dictionary=" + (folder_ / "d.csv").string());
  EXPECT_EQ(open_source(name)->space().n_labels(0), 2);
  write_text(folder_ / "d.csv", "column,label\nsky,rain\nsky,snow\nsky,sun\n");
  EXPECT_EQ(open_source(name)->space().n_labels(0), 3);
}

TEST_F(PackedSource, ADamagedOneIsMadeAgain) {
  const auto plain = open_source(csv("&cache=no"));
  open_source(csv("&cache=yes"));
  const std::string whole = read_file(cache());
  const auto expect_again = [&](const std::string& bytes, const std::string& why) {
    write_text(cache(), bytes);
    log_.text();
    expect_same(*open_source(csv("&cache=yes")), *plain);
    const std::string heard = log_.text();
    EXPECT_TRUE(contains(heard, why)) << heard;
    EXPECT_TRUE(contains(heard, kAgain)) << heard;
  };
  expect_again(whole.substr(0, whole.size() / 2), "cannot be used (has the wrong size)");
  expect_again("rubbish, and enough of it to hold the line at the beginning of a cache, which is not very long at all",
               "cannot be used (is something else)");
  std::string bytes = whole;
  bytes[4096 + 3] = 99;  // a label that its column does not have
  expect_again(bytes, "cannot be used (item 1, variable sky: label 99 where 0 to 1 was expected)");
}

TEST_F(PackedSource, WithoutRoomOrPermissionThereIsOneNoteAndNoCache) {
  const auto plain = open_source(csv("&cache=no"));
  {
    const test::FullDisk full(0);
    expect_same(*open_source(csv("&cache=yes")), *plain);
  }
  const std::string heard = log_.text();
  EXPECT_TRUE(contains(heard, cache().string() + ": "));
  EXPECT_TRUE(contains(heard, "; without a cache the data are read each time (cache=no: without this note)"));
  EXPECT_EQ(std::count(heard.begin(), heard.end(), '\n'), 1) << heard;
  EXPECT_FALSE(fs::exists(cache()));
}

// Tried as another user, since root may write everything.
TEST_F(PackedSource, AFolderThatMayNotBeWrittenIsReadWithoutACache) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs the right to become another user";
  const auto plain = open_source(csv("&cache=no"));
  const auto readable = fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read;
  fs::permissions(table(), readable);
  fs::permissions(folder_.path(), fs::perms::owner_all | readable | fs::perms::group_exec | fs::perms::others_exec);
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(::seteuid(kNobody), 0);
  std::unique_ptr<DataSource> source;
  const auto message = test::any_error([&] { source = open_source(csv("&cache=yes")); });
  ASSERT_EQ(::seteuid(0), 0);
  ASSERT_EQ(message, "");
  expect_same(*source, *plain);
  const std::string heard = log_.text();
  EXPECT_TRUE(contains(heard, cache().string() + ": cannot be written (Permission denied); without a cache"));
  EXPECT_EQ(std::count(heard.begin(), heard.end(), '\n'), 1) << heard;
}

TEST_F(PackedSource, BadDataAreRefusedAsWithoutACache) {
  write_text(table(), "sky\na\n\"b\n");
  const auto expected = input_error([&] { open_source("csv:" + table().string() + "?cache=no"); });
  EXPECT_NE(expected, "");
  EXPECT_EQ(input_error([&] { open_source("csv:" + table().string() + "?cache=yes"); }), expected);
  EXPECT_FALSE(fs::exists(cache()));
  EXPECT_TRUE(contains(input_error([&] { open_source(csv("&cache=maybe")); }), "option cache is 'maybe'"));
  EXPECT_TRUE(
      contains(input_error([&] { open_source("csv:/nowhere/t.csv?cache=yes"); }), "/nowhere/t.csv: cannot be opened"));
}

TEST_F(PackedSource, WhatAKilledProcessLeftIsRemoved) {
  write_text(folder_ / ".t.csv.segre-cache.tmp-1", "half of it");
  write_text(folder_ / ".other.segre-cache.tmp-1", "not ours");
  open_source(csv("&cache=yes"));
  EXPECT_FALSE(fs::exists(folder_ / ".t.csv.segre-cache.tmp-1"));
  EXPECT_TRUE(fs::exists(folder_ / ".other.segre-cache.tmp-1"));
}

TEST_F(PackedSource, AModelThatLearnedTheTableUsesItToo) {
  const auto trained = open_source(csv("&cache=yes"));
  const Space model = Space::from_json(trained->space().to_json());
  const auto again = open_source_for(model, csv(""), "data");
  EXPECT_TRUE(again->space().shares_contents_of(model));
  EXPECT_TRUE(is_mapped(again->dataset()->labels));
  expect_same(*again, *open_source_for(model, csv("&cache=no"), "data"));
  // Another model numbers the labels itself.
  const Space other = Space::table({{"wind", 2, {"yes", "(missing)"}}, {"sky", 3, {"rain", "snow", "sun"}}});
  EXPECT_TRUE(torch::equal(open_source_for(other, csv(""), "data")->rows(0, 200),
                           open_source_for(other, csv("&cache=no"), "data")->rows(0, 200)));
}

class PackedMaps : public testing::Test {
 protected:
  PackedMaps() {
    fs::create_directories(folder_ / "maps/b");
    for (int k = 0; k < 12; ++k)
      write_text(folder_ / concat("maps/", k % 2 == 0 ? "" : "b/", k, ".png"), test::grey_png({0, k % 4, 2, 9}, 2, 2));
  }
  fs::path cache() const { return folder_ / "maps/.segre-cache"; }
  std::string png(const std::string& options) const {
    return "png:" + (folder_ / "maps").string() + "?ignore=9" + options;
  }

  ScratchFolder folder_;
  test::HeardLog log_;
};

TEST_F(PackedMaps, AreThoseOfTheFolder) {
  for (const char* options : {"", "&unknown=2", "&height=1&width=1", "&limit=3", "&flip=1"}) {
    const auto plain = open_source(png(options) + std::string("&cache=no"));
    expect_same(*open_source(png(options) + std::string("&cache=yes")), *plain);
    const auto used = open_source(png(options) + std::string("&cache=yes"));
    EXPECT_TRUE(is_mapped(used->dataset()->labels));
    expect_same(*used, *plain);
  }
}

TEST_F(PackedMaps, MirroringNeedsNoOtherCache) {
  EXPECT_FALSE(open_source(png("&cache=yes"))->mirrors());
  log_.text();
  EXPECT_TRUE(open_source(png("&cache=yes&flip=1"))->mirrors());
  EXPECT_EQ(log_.text(), "");
}

TEST_F(PackedMaps, AFileMoreOrLessOrChangedMakesThemAgain) {
  open_source(png("&cache=yes"));
  log_.text();
  write_text(folder_ / "maps/a.png", test::grey_png({0, 1, 2, 9}, 2, 2));
  EXPECT_EQ(open_source(png("&cache=yes"))->n_items(), 13);
  EXPECT_TRUE(contains(log_.text(), kAgain));
  fs::remove(folder_ / "maps/a.png");
  EXPECT_EQ(open_source(png("&cache=yes"))->n_items(), 12);
  EXPECT_TRUE(contains(log_.text(), kAgain));
  write_text(folder_ / "maps/0.png", test::grey_png({3, 3, 3, 3}, 2, 2));
  fs::last_write_time(folder_ / "maps/0.png", fs::file_time_type::clock::now() + std::chrono::seconds(5));
  EXPECT_EQ(open_source(png("&cache=yes"))->rows(0, 1).min().item<int64_t>(), 3);
  EXPECT_TRUE(contains(log_.text(), kAgain));
}

TEST_F(PackedMaps, AreUsedForAModel) {
  const auto trained = open_source(png("&cache=yes"));
  const Space model = Space::from_json(trained->space().to_json());
  const auto again = open_source_for(model, png(""), "data");
  EXPECT_TRUE(is_mapped(again->dataset()->labels));
  expect_same(*again, *open_source_for(model, png("&cache=no"), "data"));
}

TEST_F(PackedMaps, OfCityscapesToo) {
  const fs::path city = folder_ / "city";
  fs::create_directories(city / "gtFine/train/x");
  write_text(city / "gtFine/train/x/a_labelIds.png", test::grey_png({7, 23, 26, 0}, 2, 2));
  const std::string name = "cityscapes:" + city.string() + "?height=2&width=2";
  const auto plain = open_source(name + "&cache=no");
  open_source(name + "&cache=yes");
  EXPECT_TRUE(fs::exists(city / ".segre-cache"));
  expect_same(*open_source(name + "&cache=yes"), *plain);
}

}  // namespace
}  // namespace segre::packed_source_test
