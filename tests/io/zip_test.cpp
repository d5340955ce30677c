#include "segre/io/zip.h"

#include "segre/io/files.h"
#include "tests/support/archives.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::zip_test {
namespace {

using test::input_error;
using test::ScratchFolder;
using test::write_text;
using test::write_zip;
using Files = std::vector<std::pair<std::string, std::string>>;

// The message on opening an archive of these files, without the archive's name.
std::string error_of(const Files& files, const ExpansionLimits& limits = {}, const std::string& password = "") {
  const ScratchFolder folder;
  write_zip(folder / "a.zip", files, password);
  return test::after((folder / "a.zip").string(), input_error([&] { ZipReader(folder / "a.zip", limits); }));
}

TEST(Zip, FilesAreListedAndReadInAnyOrder) {
  const ScratchFolder folder;
  std::string large(100'000, 'x');
  large += "end";
  const Files files{{"b/two.txt", "second"}, {"b/", ""}, {"one.txt", large}, {"empty", ""}};
  write_zip(folder / "a.zip", files);
  const ZipReader zip(folder / "a.zip");
  ASSERT_EQ(zip.entries().size(), 3U) << "folders are left out";
  EXPECT_EQ(zip.entries()[0].name, "b/two.txt");
  EXPECT_EQ(zip.read(zip.entries()[2]), "");
  EXPECT_EQ(zip.read(zip.entries()[1]), files[2].second);
  EXPECT_EQ(zip.read(zip.entries()[0]), "second");
}

TEST(Zip, PathsThatLeadOutAreRefusedByName) {
  for (const std::string name : {"../evil", "a/../../evil", "/etc/passwd", "..\\evil", "C:\\evil", "a/.."})
    EXPECT_EQ(error_of({{"good", "x"}, {name, "y"}}),
              ": entry " + name + ": the path leads out of the archive's folder; the archive is refused");
}

TEST(Zip, NamesWithDotsAreNoPathsThatLeadOut) {
  const ScratchFolder folder;
  write_zip(folder / "a.zip", {{"..fine..", "x"}, {"a../b", "y"}});
  EXPECT_EQ(ZipReader(folder / "a.zip").entries().size(), 2U);
}

TEST(Zip, EncryptedEntriesAreNamed) {
  EXPECT_EQ(error_of({{"secret", "x"}}, {}, "password"), ": entry secret: is encrypted, which is not supported");
}

TEST(Zip, BombsAreRefusedBeforeAnythingIsRead) {
  const ExpansionLimits limits{1 << 30, 1 << 20, 300};
  const std::string zeros(2'000'000, '\0');
  EXPECT_TRUE(test::contains(error_of({{"bomb", zeros}}, limits), "entry bomb: "));
  EXPECT_TRUE(test::contains(error_of({{"bomb", zeros}}, limits), "decompression bomb"));
  const std::string part(900'000, '\0');  // each is below the free megabyte, all together are not
  EXPECT_TRUE(test::contains(error_of({{"a", part}, {"b", part}, {"c", part}}, limits), "decompression bomb"));
  EXPECT_EQ(error_of({{"a", part}, {"b", part}}, {1'000'000, 1 << 20, 300}),
            ": expands to more than 1000000 bytes, the maximum");
}

TEST(Zip, DamagedDataAreNamedWithTheirEntry) {
  const ScratchFolder folder;
  const std::string file = (folder / "a.zip").string();
  std::string text;
  for (int k = 0; k < 5000; ++k) text += std::to_string(k * 7919);
  write_zip(file, {{"good", "fine"}, {"bad.txt", text}});
  std::string bytes = read_file(file);
  bytes[bytes.size() / 2] ^= 0x55;
  write_text(file, bytes);
  const ZipReader zip(file);
  EXPECT_EQ(zip.read(zip.entries()[0]), "fine");
  const std::string message = input_error([&] { zip.read(zip.entries()[1]); });
  EXPECT_EQ(message.rfind(file + ": entry bad.txt: ", 0), 0U) << message;
}

TEST(Zip, AWrongChecksumIsNoticed) {
  const ScratchFolder folder;
  const std::string file = (folder / "a.zip").string();
  write_zip(file, {{"f", "text"}});
  std::string bytes = read_file(file);
  const size_t directory = bytes.find("PK\x01\x02");
  bytes[directory + 16] ^= 1;  // the checksum in the directory
  bytes[14] ^= 1;              // and in the entry's own header
  write_text(file, bytes);
  const ZipReader zip(file);
  EXPECT_EQ(input_error([&] { zip.read(zip.entries()[0]); }),
            file + ": entry f: the checksum is wrong, the data are damaged");
}

TEST(Zip, OtherFilesAndShortenedArchivesAreRefused) {
  const ScratchFolder folder;
  const std::string file = (folder / "a.zip").string();
  const std::string expected = file + ": not a zip archive, or one cut short (it has no directory)";
  write_text(file, "just text");
  EXPECT_EQ(input_error([&] { ZipReader{file}; }), expected);
  write_zip(file, {{"f", std::string(1000, 'x')}});
  const std::string bytes = read_file(file);
  write_text(file, bytes.substr(0, bytes.size() - 30));
  EXPECT_EQ(input_error([&] { ZipReader{file}; }), expected);
  EXPECT_EQ(input_error([&] { ZipReader(folder / "none"); }),
            (folder / "none").string() + ": cannot be opened (No such file or directory)");
}

TEST(Zip, AnArchiveCutOrAlteredAnywhereNeverCrashes) {
  const ScratchFolder folder;
  const std::string file = (folder / "a.zip").string();
  write_zip(file, {{"f", "some text"}, {"g", std::string(300, 'x')}});
  const std::string good = read_file(file);
  int refused = 0;
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(~bytes[at]);
    write_text(file, bytes);
    refused += input_error([&] {
                 const ZipReader zip(file);
                 for (const auto& entry : zip.entries()) zip.read(entry);
               }) != ""
                   ? 1
                   : 0;
  }
  EXPECT_GT(refused, static_cast<int>(good.size()) / 3);  // dates, versions and comments do not matter
}

TEST(Zip, ManyEntriesAreListedInLittleTime) {
  const ScratchFolder folder;
  Files files;
  for (int k = 0; k < 20'000; ++k) files.emplace_back(concat("f", k), "");
  write_zip(folder / "a.zip", files);
  const double start = test::thread_seconds();
  const ZipReader zip(folder / "a.zip");
  EXPECT_LT(test::thread_seconds() - start, 5.0);
  ASSERT_EQ(zip.entries().size(), 20'000U);
  EXPECT_EQ(zip.read(zip.entries().back()), "");
}

}  // namespace
}  // namespace segre::zip_test
