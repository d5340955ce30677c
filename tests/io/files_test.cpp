#include "segre/io/files.h"

#include <set>

#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre {
namespace {

namespace fs = std::filesystem;
using test::any_error;
using test::contains;
using test::input_error;
using test::ScratchFolder;
using test::write_text;

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

using Names = std::set<std::string>;

TEST(ReadFile, GivesEveryByte) {
  const ScratchFolder folder;
  const std::string bytes("a\0b\r\n\xff\n", 7);
  write_text(folder / "f", bytes);
  EXPECT_EQ(read_file(folder / "f"), bytes);
}

TEST(ReadFile, NamesAMissingFileWithTheReason) {
  const ScratchFolder folder;
  EXPECT_EQ(input_error([&] { read_file(folder / "none"); }),
            (folder / "none").string() + ": cannot be opened (No such file or directory)");
}

TEST(ReadFile, RefusesADirectory) {
  const ScratchFolder folder;
  EXPECT_EQ(input_error([&] { read_file(folder.path()); }),
            folder.path().string() + ": is a directory, a file was expected");
}

TEST(WriteFileWhole, ReplacesTheOldContents) {
  const ScratchFolder folder;
  write_text(folder / "f", "a long old text");
  write_file_whole(folder / "f", [](std::ostream& out) { out << "new"; });
  EXPECT_EQ(read_file(folder / "f"), "new");
  EXPECT_EQ(names_in(folder.path()), Names{"f"});
}

TEST(WriteFileWhole, ShowsTheOldFileUntilTheNewOneIsWhole) {
  const ScratchFolder folder;
  write_text(folder / "f", "old");
  write_file_whole(folder / "f", [&](std::ostream& out) {
    out << "new" << std::flush;
    EXPECT_EQ(read_file(folder / "f"), "old");
  });
}

TEST(WriteFileWhole, KeepsTheOldFileAndNoTemporaryWhenTheWriterThrows) {
  const ScratchFolder folder;
  write_text(folder / "f", "old");
  EXPECT_EQ(any_error([&] {
              write_file_whole(folder / "f", [](std::ostream& out) {
                out << "half";
                fail("no more");
              });
            }),
            "no more");
  EXPECT_EQ(read_file(folder / "f"), "old");
  EXPECT_EQ(names_in(folder.path()), Names{"f"});
}

TEST(WriteFileWhole, FailsAndCleansUpWhenTheStreamGoesBad) {
  const ScratchFolder folder;
  const auto error =
      any_error([&] { write_file_whole(folder / "f", [](std::ostream& out) { out.setstate(std::ios::badbit); }); });
  EXPECT_TRUE(contains(error, (folder / "f").string() + ": writing failed ("));
  EXPECT_TRUE(names_in(folder.path()).empty());
}

TEST(WriteFileWhole, NamesAMissingFolderAndDoesNotMakeIt) {
  const ScratchFolder folder;
  const auto file = folder.path() / "none" / "f";
  EXPECT_EQ(any_error([&] { write_file_whole(file, [](std::ostream&) {}); }),
            file.string() + ": cannot be written (No such file or directory)");
  EXPECT_TRUE(names_in(folder.path()).empty());
}

TEST(WriteFileWhole, DoesNotReplaceADirectory) {
  const ScratchFolder folder;
  fs::create_directory(folder / "d");
  const auto error = any_error([&] { write_file_whole(folder / "d", [](std::ostream& out) { out << "x"; }); });
  EXPECT_TRUE(contains(error, (folder / "d").string() + ": cannot be put in place ("));
  EXPECT_TRUE(fs::is_directory(folder / "d"));
  EXPECT_EQ(names_in(folder.path()), Names{"d"});
}

TEST(WriteDirectoryWhole, AppearsOnlyWhenItIsFilled) {
  const ScratchFolder folder;
  write_directory_whole(folder / "d", [&](const fs::path& inside) {
    write_text(inside / "f", "x");
    EXPECT_FALSE(fs::exists(folder / "d"));
  });
  EXPECT_EQ(names_in(folder.path()), Names{"d"});
  EXPECT_EQ(read_file(folder / "d" / "f"), "x");
}

TEST(WriteDirectoryWhole, LeavesNothingWhenFillingThrows) {
  const ScratchFolder folder;
  EXPECT_EQ(any_error([&] {
              write_directory_whole(folder / "d", [](const fs::path& inside) {
                write_text(inside / "f", "x");
                fail("no more");
              });
            }),
            "no more");
  EXPECT_TRUE(names_in(folder.path()).empty());
}

TEST(WriteDirectoryWhole, DoesNotReplaceAFilledDirectory) {
  const ScratchFolder folder;
  fs::create_directory(folder / "d");
  write_text(folder / "d" / "f", "old");
  const auto error = any_error(
      [&] { write_directory_whole(folder / "d", [](const fs::path& inside) { write_text(inside / "f", "new"); }); });
  EXPECT_TRUE(contains(error, (folder / "d").string() + ": cannot be put in place ("));
  EXPECT_EQ(read_file(folder / "d" / "f"), "old");
  EXPECT_EQ(names_in(folder.path()), Names{"d"});
}

TEST(WriteDirectoryWhole, NamesAParentThatIsAFile) {
  const ScratchFolder folder;
  write_text(folder / "f", "x");
  const auto target = folder / "f" / "d";
  EXPECT_EQ(any_error([&] { write_directory_whole(target, [](const fs::path&) {}); }),
            target.string() + ": cannot be made (Not a directory)");
  EXPECT_EQ(read_file(folder / "f"), "x");
}

}  // namespace
}  // namespace segre
