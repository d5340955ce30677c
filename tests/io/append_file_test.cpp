#include "segre/io/files.h"

#include "tests/support/full_disk.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::append_file_test {
namespace {

using test::any_error;
using test::ScratchFolder;

TEST(AppendFile, AddsToWhatIsThere) {
  const ScratchFolder folder;
  test::write_text(folder / "f", "a\n");
  AppendFile file(folder / "f");
  file.append("b\n");
  EXPECT_EQ(read_file(folder / "f"), "a\nb\n");
}

TEST(AppendFile, WhatAFullDiskCutsShortIsTakenBack) {
  const ScratchFolder folder;
  AppendFile file(folder / "f");
  file.append("first\n");
  std::string error;
  {
    const test::FullDisk full(10);
    error = any_error([&] { file.append("second\n"); });
  }
  EXPECT_EQ(error, (folder / "f").string() + ": writing failed (File too large)");
  EXPECT_FALSE(file.torn());
  EXPECT_EQ(read_file(folder / "f"), "first\n");
  file.append("third\n");
  EXPECT_EQ(read_file(folder / "f"), "first\nthird\n");
}

}  // namespace
}  // namespace segre::append_file_test
