#include "segre/io/gzip.h"

#include "tests/support/archives.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::gzip_test {
namespace {

using test::gzip_bytes;
using test::input_error;
using test::ScratchFolder;
using test::write_text;

std::string read(const std::string& bytes, const ExpansionLimits& limits = {}) {
  const ScratchFolder folder;
  write_text(folder / "f", bytes);
  return ByteReader(folder / "f", limits).read_rest();
}

// The message without the file name.
std::string error_of(const std::string& bytes, const ExpansionLimits& limits = {}) {
  const ScratchFolder folder;
  write_text(folder / "f", bytes);
  return test::after((folder / "f").string(), input_error([&] { ByteReader(folder / "f", limits).read_rest(); }));
}

// Text that deflate cannot shrink to nothing: several buffers of it.
std::string long_text() {
  std::string text;
  for (int k = 0; text.size() < 1'000'000; ++k) text += std::to_string(k * 7919);
  return text;
}

TEST(Gzip, PlainFilesAreReadAsTheyAre) {
  for (const std::string& text : {std::string(), std::string("a"), std::string("\x1f"), long_text()})
    EXPECT_EQ(read(text), text);
}

TEST(Gzip, PackedFilesAreToldByTheirFirstBytes) {
  for (const std::string& text : {std::string(), std::string("a"), long_text()})
    EXPECT_EQ(read(gzip_bytes(text)), text);
}

TEST(Gzip, SeveralMembersFollowEachOther) {
  EXPECT_EQ(read(gzip_bytes("one ") + gzip_bytes("") + gzip_bytes("two")), "one two");
}

TEST(Gzip, AStreamCutAnywhereIsNamed) {
  const std::string whole = gzip_bytes("some text that is packed");
  for (size_t size = 2; size < whole.size(); ++size)
    EXPECT_EQ(error_of(whole.substr(0, size)), ": the gzip stream is cut short") << size;
}

TEST(Gzip, DamageIsNamedWithItsPlace) {
  std::string bytes = gzip_bytes(long_text());
  bytes[bytes.size() - 6] ^= 1;  // in the checksum
  EXPECT_EQ(error_of(bytes), concat(": the gzip stream is damaged after ", long_text().size(),
                                    " expanded bytes (incorrect data check)"));
}

TEST(Gzip, ABombStopsEarly) {
  const std::string bomb = gzip_bytes(std::string(4'000'000, '\0'));  // deflate's best: about 1000 to 1
  const ExpansionLimits limits{1 << 30, 1 << 20, 300};
  const std::string message = error_of(bomb, limits);
  EXPECT_TRUE(test::contains(message, concat(": ", bomb.size(), " compressed bytes expand to "))) << message;
  EXPECT_TRUE(test::contains(message, "over 300 times as many"));
  EXPECT_EQ(read(bomb).size(), 4'000'000U) << "so little is no bomb by the usual limits";
}

TEST(Gzip, ABombOfManyMembersStopsEarlyToo) {
  // No member alone is over the limits.
  const std::string member = gzip_bytes(std::string(1'000'000, '\0'));
  std::string bomb;
  for (int k = 0; k < 5; ++k) bomb += member;
  EXPECT_EQ(read(member, {1 << 30, 1 << 20, 300}).size(), 1'000'000U);
  const std::string message = error_of(bomb, {1 << 30, 1 << 20, 300});
  EXPECT_TRUE(test::contains(message, concat(": ", bomb.size(), " compressed bytes expand to "))) << message;
  EXPECT_TRUE(test::contains(message, "over 300 times as many")) << message;
  EXPECT_EQ(error_of(bomb, {3'000'000, 1 << 30, 300}), ": expands to more than 3000000 bytes, the maximum");
}

TEST(Gzip, TheRatioIsThatOfAllMembersTogether) {
  // The second member alone expands a thousand times, the file fourteen times.
  const std::string text = long_text();
  const std::string zeros(4'000'000, '\0');
  const std::string bytes = gzip_bytes(text) + gzip_bytes(zeros);
  EXPECT_EQ(read(bytes, {1 << 30, 1 << 20, 300}), text + zeros);
}

TEST(Gzip, NothingGrowsBeyondTheLargestSize) {
  EXPECT_EQ(error_of(gzip_bytes(long_text()), {1000, 1 << 20, 300}), ": expands to more than 1000 bytes, the maximum");
}

TEST(Gzip, MissingFilesAndFoldersAreNamed) {
  const ScratchFolder folder;
  EXPECT_EQ(input_error([&] { ByteReader(folder / "x").read_rest(); }),
            (folder / "x").string() + ": cannot be opened (No such file or directory)");
  EXPECT_EQ(input_error([&] { ByteReader(folder.path()).read_rest(); }),
            folder.path().string() + ": is a directory, a file was expected");
}

}  // namespace
}  // namespace segre::gzip_test
