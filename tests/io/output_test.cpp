// Outputs are checked before the work.

#include "segre/io/output.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/full_disk.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::output_test {
namespace {

namespace fs = std::filesystem;
using test::any_error;
using test::input_error;
using test::ScratchFolder;
using test::write_text;

std::string refused_file(const fs::path& name) {
  return input_error([&] { OutputFile("--out", name.string()); });
}
std::string refused_folder(const fs::path& name) {
  return input_error([&] { OutputFolder("--out", name.string()); });
}
std::string refused_new_folder(const fs::path& name) {
  return input_error([&] { NewOutputFolder("--out", name.string()); });
}

TEST(Output, AFileIsWrittenWholeAtTheEnd) {
  const ScratchFolder folder;
  write_text(folder / "f", "old");
  {
    OutputFile file("--out", (folder / "f").string());
    EXPECT_EQ(read_file(folder / "f"), "old");
    file.write([](std::ostream& out) { out << "new"; });
  }
  EXPECT_EQ(read_file(folder / "f"), "new");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

TEST(Output, AFileThatIsNotWrittenInTheEndLeavesNothing) {
  const ScratchFolder folder;
  { const OutputFile file("--out", (folder / "f").string()); }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(Output, NamesThatCannotBeFilesAreRefusedAtOnce) {
  const ScratchFolder folder;
  const std::string base = folder.path().string();
  write_text(folder / "file", "");
  EXPECT_EQ(refused_file(base + "/f.csv/"), "--out " + base + "/f.csv/: ends in a slash, a file was expected");
  EXPECT_EQ(refused_file(base), "--out " + base + ": is a directory, a file was expected");
  EXPECT_EQ(refused_file(base + "/no/f"), "--out " + base + "/no/f: cannot be written (No such file or directory)");
  EXPECT_EQ(refused_file(base + "/file/f"), "--out " + base + "/file/f: cannot be written (Not a directory)");
  EXPECT_EQ(refused_file(""), "--out '': a file name was expected");
  const std::string longest = base + "/" + std::string(256, 'x');
  EXPECT_EQ(refused_file(longest), "--out " + longest + ": cannot be written (File name too long)");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

TEST(Output, AFullDiskIsFoundAtOnceAndIsNotTheUsersFault) {
  EXPECT_EQ(any_error([] { OutputFile("--out", "/dev/full"); }),
            "--out /dev/full: cannot be written (No space left on device)");
  EXPECT_ANY_THROW(refused_file("/dev/full")) << "an Error that is not an InputError";
  const ScratchFolder folder;
  std::string file;
  std::string filled;
  std::string whole;
  {
    const test::FullDisk full(100);
    file = any_error([&] { OutputFile("--out", (folder / "f").string()); });
    filled = any_error([&] { OutputFolder("--out", (folder / "d").string()); });
    whole = any_error([&] { NewOutputFolder("--out", (folder / "n").string()); });
  }
  EXPECT_EQ(file, "--out " + (folder / "f").string() + ": cannot be written (File too large)");
  EXPECT_EQ(filled, "--out " + (folder / "d").string() + ": cannot be written (File too large)");
  EXPECT_EQ(whole, "--out " + (folder / "n").string() + ": cannot be written (File too large)");
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

// Tried as another user, since root may write everything.
TEST(Output, WhatMayNotBeWrittenIsRefusedAtOnce) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs the right to become another user";
  const ScratchFolder folder;
  fs::create_directory(folder / "closed");
  fs::create_directory(folder / "open");
  fs::permissions(folder / "open", fs::perms::all);
  write_text(folder / "open" / "kept", "old");
  std::string messages[4];
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(::seteuid(kNobody), 0);
  messages[0] = refused_file(folder / "closed" / "f");
  messages[1] = refused_folder(folder / "closed" / "d");
  messages[2] = refused_new_folder(folder / "closed");
  messages[3] = refused_file(folder / "open" / "kept");  // could be renamed over, but is not ours to write
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_EQ(messages[0], "--out " + (folder / "closed" / "f").string() + ": cannot be written (Permission denied)");
  EXPECT_EQ(messages[1], "--out " + (folder / "closed" / "d").string() + ": cannot be made (Permission denied)");
  EXPECT_EQ(messages[2], "--out " + (folder / "closed").string() + ": cannot be made (Permission denied)");
  EXPECT_EQ(messages[3], "--out " + (folder / "open" / "kept").string() + ": cannot be written (Permission denied)");
  EXPECT_EQ(read_file(folder / "open" / "kept"), "old");
}

TEST(Output, AFolderIsMadeAndGoesAgainIfNothingIsPutIntoIt) {
  const ScratchFolder folder;
  {
    const OutputFolder out("--out", (folder / "a" / "b").string() + "/");
    EXPECT_EQ(out.path(), folder / "a" / "b");
    EXPECT_TRUE(fs::is_directory(out.path()));
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
  {
    const OutputFolder out("--out", (folder / "a" / "b").string());
    write_text(out.path() / "f", "x");
  }
  EXPECT_EQ(read_file(folder / "a/b/f"), "x");
}

TEST(Output, NamesThatCannotBeFoldersAreRefusedAtOnce) {
  const ScratchFolder folder;
  const std::string base = folder.path().string();
  write_text(folder / "file", "");
  fs::create_directories(folder / "d" / "report.html");
  fs::create_symlink("nothing", folder / "link");
  for (const auto& refused : {refused_folder, refused_new_folder}) {
    EXPECT_EQ(refused("-"), "--out -: a folder was expected; standard output holds one file only");
    EXPECT_EQ(refused(""), "--out '': a folder was expected");
    EXPECT_EQ(refused(folder / "file"), "--out " + base + "/file: already exists and is not a folder");
    EXPECT_EQ(refused("/dev/null"), "--out /dev/null: already exists and is not a folder");
    EXPECT_EQ(refused(folder / "file/d"), "--out " + base + "/file/d: cannot be made (Not a directory)");
  }
  EXPECT_EQ(refused_folder(folder / "link"), "--out " + base + "/link: cannot be made (File exists)");
  EXPECT_EQ(refused_new_folder(folder / "d"),
            "--out " + base + "/d: already exists and is not empty, a new folder was expected");
  EXPECT_EQ(input_error([&] { OutputFolder("--out", base + "/d", {"report.html"}); }),
            "--out " + base + "/d/report.html: is a directory, a file was expected");
  EXPECT_TRUE(fs::is_directory(folder / "d" / "report.html"));
}

TEST(Output, AFolderThatIsGoneIsNamed) {
  const fs::path before = fs::current_path();
  {
    const ScratchFolder folder;
    fs::create_directory(folder / "here");
    fs::current_path(folder / "here");
    fs::remove(folder / "here");
    EXPECT_EQ(refused_file("f.csv"), "--out f.csv: cannot be written (No such file or directory)");
    EXPECT_EQ(refused_folder("d"), "--out d: cannot be made (No such file or directory)");
    EXPECT_EQ(refused_new_folder("d"), "--out d: cannot be made (No such file or directory)");
    fs::current_path(before);
  }
}

}  // namespace
}  // namespace segre::output_test
