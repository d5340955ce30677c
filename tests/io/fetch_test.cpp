// Downloads, from a server on this machine.

#include "segre/io/fetch.h"

#include "segre/io/files.h"
#include "segre/io/lock.h"
#include "segre/io/sha256.h"
#include "segre/read/public_data.h"
#include "tests/support/http_server.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::fetch_test {
namespace {

namespace fs = std::filesystem;
using test::any_error;
using test::contains;
using test::HttpServer;
using test::ScratchFolder;
using Manner = HttpServer::Manner;

std::string sum_of(const std::string& bytes) {
  Sha256 sum;
  sum.add(bytes.data(), bytes.size());
  return sum.hex();
}

// Bytes without a pattern, so that a wrong offset shows.
[[maybe_unused]] std::string some_bytes(size_t count = 300'000) {
  std::string bytes;
  uint32_t state = 1;
  for (size_t k = 0; k < count; ++k) bytes += static_cast<char>((state = state * 1664525U + 1013904223U) >> 24);
  return bytes;
}

FetchFile file_of(const std::string& bytes, std::vector<std::string> mirrors) {
  return {"file.bin", static_cast<int64_t>(bytes.size()), sum_of(bytes), std::move(mirrors)};
}

TEST(Fetch, PublicDataHaveWellFormedChecksumsAndAddresses) {
  for (const PublicData& data : public_data())
    for (const FetchFile& file : data.files) {
      EXPECT_EQ(file.sha256.size(), 64U);
      EXPECT_EQ(file.sha256.find_first_not_of("0123456789abcdef"), std::string::npos);
      for (const auto& url : file.mirrors) EXPECT_TRUE(url.starts_with("https://") && url.ends_with("/" + file.name));
    }
  EXPECT_EQ(test::input_error([] { public_data("cifar"); }), "data set 'cifar' is not one of mnist, omniglot");
}

TEST(Fetch, AFileThatIsThereAndRightIsLeftAlone) {
  const ScratchFolder folder;
  test::write_text(folder / "file.bin", "abc");
  EXPECT_FALSE(fetch_file(file_of("abc", {"http://127.0.0.1:1/file.bin"}), folder.path()));
}

TEST(Fetch, AFileThatIsThereAndWrongIsNotOverwritten) {
  const ScratchFolder folder;
  test::write_text(folder / "file.bin", "abd");
  const auto message =
      test::input_error([&] { fetch_file(file_of("abc", {"http://127.0.0.1:1/file.bin"}), folder.path()); });
  EXPECT_TRUE(contains(message, "already exists but is a different file (expected SHA-256 ba7816bf"));
  EXPECT_EQ(read_file(folder / "file.bin"), "abd");
}

#ifdef SEGRE_FETCH

TEST(Fetch, AWholeFileArrivesInAFolderThatWasNotThere) {
  const ScratchFolder folder;
  const std::string bytes = some_bytes();
  const HttpServer server(bytes);
  EXPECT_TRUE(fetch_file(file_of(bytes, {server.url()}), folder / "new"));
  EXPECT_EQ(read_file(folder / "new" / "file.bin"), bytes);
  EXPECT_FALSE(fs::exists(folder / "new" / "file.bin.part"));
  EXPECT_EQ(server.ranges(), (std::vector<std::string>{""}));
}

TEST(Fetch, APartLeftBehindIsContinued) {
  const ScratchFolder folder;
  const std::string bytes = some_bytes();
  const HttpServer server(bytes);
  test::write_text(folder / "file.bin.part", bytes.substr(0, 100'000));
  EXPECT_TRUE(fetch_file(file_of(bytes, {server.url()}), folder.path()));
  EXPECT_EQ(read_file(folder / "file.bin"), bytes);
  EXPECT_EQ(server.ranges(), (std::vector<std::string>{"100000-"}));
}

TEST(Fetch, ACutConnectionIsTakenUpAgain) {
  const ScratchFolder folder;
  const std::string bytes = some_bytes();
  const HttpServer server(bytes, Manner::cuts, 120'000);
  EXPECT_TRUE(fetch_file(file_of(bytes, {server.url()}), folder.path()));
  EXPECT_EQ(read_file(folder / "file.bin"), bytes);
  EXPECT_EQ(server.ranges().size(), 3U);
}

TEST(Fetch, APartSurvivesAServerThatNeverFinishesAndALaterCallEndsIt) {
  const ScratchFolder folder;
  const std::string bytes = some_bytes();
  {
    const HttpServer server(bytes, Manner::cuts, 10'000);
    EXPECT_TRUE(contains(any_error([&] { fetch_file(file_of(bytes, {server.url()}), folder.path()); }),
                         "file.bin could not be downloaded"));
  }
  EXPECT_FALSE(fs::exists(folder / "file.bin"));
  EXPECT_GE(fs::file_size(folder / "file.bin.part"), 10'000U);
  const HttpServer server(bytes);
  EXPECT_TRUE(fetch_file(file_of(bytes, {server.url()}), folder.path()));
  EXPECT_EQ(read_file(folder / "file.bin"), bytes);
  EXPECT_NE(server.ranges().front(), "");
}

TEST(Fetch, AServerWithoutRangesSendsItAllAgain) {
  const ScratchFolder folder;
  const std::string bytes = some_bytes();
  const HttpServer server(bytes, Manner::no_ranges);
  test::write_text(folder / "file.bin.part", bytes.substr(0, 100'000));
  EXPECT_TRUE(fetch_file(file_of(bytes, {server.url()}), folder.path()));
  EXPECT_EQ(read_file(folder / "file.bin"), bytes);
}

TEST(Fetch, APartOfAnotherFileIsThrownAwayAndFetchedAnew) {
  const ScratchFolder folder;
  const std::string bytes = some_bytes();
  const HttpServer server(bytes);
  test::write_text(folder / "file.bin.part", std::string(100'000, 'x'));
  EXPECT_TRUE(fetch_file(file_of(bytes, {server.url()}), folder.path()));
  EXPECT_EQ(read_file(folder / "file.bin"), bytes);
}

// A truncated answer without a length looks complete to the transfer; only size and checksum detect it.
TEST(Fetch, ACutAnswerWithoutALengthIsNotTaken) {
  const ScratchFolder folder;
  const std::string bytes = some_bytes();
  const HttpServer server(bytes, Manner::unsized, 10'000);
  EXPECT_EQ(any_error([&] { fetch_file(file_of(bytes, {server.url()}), folder.path()); }),
            "file.bin could not be downloaded (" + server.url() + ": expected 300000 bytes, found 40000)");
  EXPECT_FALSE(fs::exists(folder / "file.bin"));
  EXPECT_EQ(read_file(folder / "file.bin.part"), bytes.substr(0, 40'000)) << "four attempts, each 10000 further";
}

TEST(Fetch, AnswersWithoutALengthMayTogetherGiveTheFile) {
  const ScratchFolder folder;
  const std::string bytes = some_bytes();
  const HttpServer server(bytes, Manner::unsized, 120'000);
  EXPECT_TRUE(fetch_file(file_of(bytes, {server.url()}), folder.path()));
  EXPECT_EQ(read_file(folder / "file.bin"), bytes);
}

TEST(Fetch, AFailedDownloadLeavesNoFolderThatItMade) {
  const ScratchFolder folder;
  const HttpServer missing("", Manner::not_found);
  EXPECT_NE(any_error([&] { fetch_file(file_of("abc", {missing.url()}), folder / "a" / "b"); }), "");
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(Fetch, OneProcessAtATimeDownloadsAFile) {
  const ScratchFolder folder;
  const ProcessLock other(folder / ".file.bin.lock", "test");
  EXPECT_TRUE(contains(test::input_error([&] { fetch_file(file_of("abc", {"http://127.0.0.1:1/"}), folder.path()); }),
                       (folder / "file.bin").string() + ": another process is writing it (process "));
}

TEST(Fetch, WrongBytesAreNamedAndNothingIsLeft) {
  const ScratchFolder folder;
  const std::string bytes = some_bytes();
  std::string wrong = bytes;
  wrong[1234] = static_cast<char>(wrong[1234] ^ 1);
  const HttpServer server(wrong);
  const auto message = any_error([&] { fetch_file(file_of(bytes, {server.url()}), folder.path()); });
  EXPECT_TRUE(contains(message, "expected SHA-256 " + sum_of(bytes) + ", found " + sum_of(wrong)));
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(Fetch, TooManyBytesAreNotTaken) {
  const ScratchFolder folder;
  const std::string bytes = some_bytes();
  const HttpServer server(bytes + "x");
  EXPECT_TRUE(contains(any_error([&] { fetch_file(file_of(bytes, {server.url()}), folder.path()); }),
                       "expected 300000 bytes, received more"));
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(Fetch, TheNextMirrorIsTriedAndAllAreNamedWhereNoneHasIt) {
  const ScratchFolder folder;
  const std::string bytes = some_bytes();
  const HttpServer missing("", Manner::not_found);
  const HttpServer good(bytes);
  const auto message = any_error([&] { fetch_file(file_of(bytes, {missing.url(), missing.url()}), folder.path()); });
  EXPECT_TRUE(contains(message, missing.url() + ": The requested URL returned error: 404; " + missing.url()));
  EXPECT_TRUE(fetch_file(file_of(bytes, {missing.url(), good.url()}), folder.path()));
  EXPECT_EQ(read_file(folder / "file.bin"), bytes);
}

#endif  // SEGRE_FETCH

}  // namespace
}  // namespace segre::fetch_test
