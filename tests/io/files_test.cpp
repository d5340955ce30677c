#include "segre/io/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <future>
#include <set>

#include "segre/io/folders.h"
#include "tests/support/full_disk.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::files_test {
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
  EXPECT_EQ(error, (folder / "d").string() + ": is a directory, a file was expected");
  EXPECT_TRUE(fs::is_directory(folder / "d"));
  EXPECT_EQ(names_in(folder.path()), Names{"d"});
}

TEST(WriteFileWhole, RefusesASlashAtTheEnd) {
  const ScratchFolder folder;
  const std::string name = (folder / "f.csv").string() + "/";
  EXPECT_EQ(any_error([&] { write_file_whole(name, [](std::ostream&) {}); }),
            name + ": ends in a slash, a file was expected");
  EXPECT_TRUE(names_in(folder.path()).empty());
}

TEST(WriteFileWhole, ADeviceStaysADevice) {
  write_file_whole("/dev/null", [](std::ostream& out) { out << "gone"; });
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(any_error([] { write_file_whole("/dev/full", [](std::ostream& out) { out << "much"; }); }),
            "/dev/full: writing failed (No space left on device)");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST(WriteFileWhole, ANamedPipeCarriesTheBytesAndStays) {
  const ScratchFolder folder;
  ASSERT_EQ(::mkfifo((folder / "p").c_str(), 0600), 0);
  auto reader = std::async(std::launch::async, [&] {
    std::ifstream in(folder / "p");
    return std::string(std::istreambuf_iterator<char>(in), {});
  });
  write_file_whole(folder / "p", [](std::ostream& out) { out << "through"; });
  EXPECT_EQ(reader.get(), "through");
  EXPECT_TRUE(fs::is_fifo(folder / "p"));
  EXPECT_EQ(names_in(folder.path()), Names{"p"});
}

// /dev/stdout of a program whose output the shell appends to a file: the position in the file counts.
TEST(WriteFileWhole, ADescriptorOfTheProgramIsWrittenWhereItStands) {
  const ScratchFolder folder;
  write_text(folder / "f", "first,");
  const Descriptor file(::open((folder / "f").c_str(), O_WRONLY | O_APPEND));
  write_file_whole(concat("/dev/fd/", file.number()), [](std::ostream& out) { out << "second"; });
  EXPECT_EQ(read_file(folder / "f"), "first,second");
  EXPECT_EQ(names_in(folder.path()), Names{"f"});
}

TEST(WriteFileWhole, ALinkStaysAndWhatItPointsToIsReplaced) {
  const ScratchFolder folder;
  fs::create_directory(folder / "d");
  write_text(folder / "d" / "f", "old");
  fs::create_symlink("d/f", folder / "link");
  fs::create_symlink("link", folder / "link2");
  write_file_whole(folder / "link2", [](std::ostream& out) { out << "new"; });
  EXPECT_EQ(fs::read_symlink(folder / "link2"), "link");
  EXPECT_EQ(fs::read_symlink(folder / "link"), "d/f");
  EXPECT_EQ(read_file(folder / "d" / "f"), "new");
  EXPECT_EQ(names_in(folder / "d"), Names{"f"});
}

TEST(WriteFileWhole, ALinkToNothingGetsItsFile) {
  const ScratchFolder folder;
  fs::create_symlink("f", folder / "link");
  write_file_whole(folder / "link", [](std::ostream& out) { out << "new"; });
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(folder / "f"), "new");
}

TEST(WriteFileWhole, ALinkToItselfIsNamed) {
  const ScratchFolder folder;
  fs::create_symlink("link", folder / "link");
  EXPECT_EQ(any_error([&] { write_file_whole(folder / "link", [](std::ostream&) {}); }),
            (folder / "link").string() + ": cannot be written (Too many levels of symbolic links)");
}

TEST(WriteFileWhole, KeepsTheModeOfTheFileItReplaces) {
  const ScratchFolder folder;
  write_text(folder / "f", "old");
  fs::permissions(folder / "f", fs::perms::owner_read | fs::perms::owner_write);
  write_file_whole(folder / "f", [](std::ostream& out) { out << "new"; });
  EXPECT_EQ(fs::status(folder / "f").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(WriteFileWhole, ANewFileHasTheModeThatTheUmaskLeaves) {
  const ScratchFolder folder;
  const mode_t before = ::umask(027);
  write_file_whole(folder / "f", [](std::ostream& out) { out << "new"; });
  ::umask(before);
  EXPECT_EQ(static_cast<int>(fs::status(folder / "f").permissions()), 0640);
}

TEST(WriteFileWhole, TheLongestNameLeavesRoomForATemporary) {
  const ScratchFolder folder;
  std::string umlauts;  // of two bytes each: a name must not be cut inside one
  while (umlauts.size() < 254) umlauts += "\xC3\xBC";
  for (const std::string& name : {std::string(250, 'x'), std::string(255, 'x'), umlauts}) {
    write_file_whole(folder / name, [](std::ostream& out) { out << "new"; });
    EXPECT_EQ(read_file(folder / name), "new");
  }
  EXPECT_EQ(names_in(folder.path()).size(), 3U);
}

TEST(WriteFileWhole, ADiskThatFillsUpLeavesTheOldFileAndNoTemporary) {
  const ScratchFolder folder;
  write_text(folder / "f", "old");
  std::string error;
  bool went_on = false;
  {
    const test::FullDisk full(1000);
    error = any_error([&] {
      write_file_whole(folder / "f", [&](std::ostream& out) {
        for (int k = 0; k < 100; ++k) out << std::string(10'000, 'x');
        went_on = true;
      });
    });
  }
  EXPECT_EQ(error, (folder / "f").string() + ": writing failed (File too large)");
  EXPECT_FALSE(went_on) << "the work ends with the first write that fails";
  EXPECT_EQ(read_file(folder / "f"), "old");
  EXPECT_EQ(names_in(folder.path()), Names{"f"});
}

TEST(WriteFileWhole, TwoWritersOfOneFileDoNotMix) {
  const ScratchFolder folder;
  WholeFile first(folder / "f");
  WholeFile second(folder / "f");
  first.stream() << "first";
  second.stream() << "second";
  second.commit();
  first.commit();
  EXPECT_EQ(read_file(folder / "f"), "first");
  EXPECT_EQ(names_in(folder.path()), Names{"f"});
}

TEST(Temporaries, OnlyOurOwnNamesAreKnown) {
  EXPECT_EQ(temporary_for("run/.config.toml.tmp-17"), "config.toml");
  EXPECT_EQ(temporary_for(".f.tmp-17-2"), "f");
  EXPECT_EQ(temporary_for(temporary_beside("a/b.csv")), "b.csv");
  for (const char* name :
       {"f.tmp-17", ".f.tmp-", ".f.tmp-foo", ".f.tmp-17x", ".f.tmp-17-", ".f.tmp-17.bak", ".tmp-17", ".f"})
    EXPECT_EQ(temporary_for(name), "") << name;
}

TEST(WriteDirectoryWhole, AnEmptyFolderIsFilledNotReplaced) {
  const ScratchFolder folder;
  fs::create_directory(folder / "d");
  fs::create_symlink("d", folder / "link");
  struct stat before {};
  struct stat after {};
  ASSERT_EQ(::stat((folder / "d").c_str(), &before), 0);
  write_directory_whole(concat((folder / "link").string(), "/"), [&](const fs::path& inside) {
    write_text(inside / "a", "x");
    write_text(inside / "b", "y");
  });
  ASSERT_EQ(::stat((folder / "d").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_EQ(names_in(folder / "d"), (Names{"a", "b"}));
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
}

TEST(WriteDirectoryWhole, FoldersMadeOnTheWayGoAgainWhenFillingThrows) {
  const ScratchFolder folder;
  EXPECT_EQ(any_error([&] { write_directory_whole(folder / "a/b/c", [](const fs::path&) { fail("no more"); }); }),
            "no more");
  EXPECT_TRUE(names_in(folder.path()).empty());
  write_directory_whole(folder / "a/b/c", [](const fs::path& inside) { write_text(inside / "f", "x"); });
  EXPECT_EQ(read_file(folder / "a/b/c/f"), "x");
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
  EXPECT_EQ(error, (folder / "d").string() + ": already exists and is not empty, a new folder was expected");
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
}  // namespace segre::files_test
