#include "segre/runs/run_log.h"

#include <nlohmann/json.hpp>

#include "segre/io/files.h"
#include "tests/support/full_disk.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::run_log_test {
namespace {

namespace fs = std::filesystem;
using test::ScratchFolder;
using test::write_text;

std::string text_of(const fs::path& file) { return read_file(file); }

TEST(RunLog, WritesALinePerEntry) {
  const ScratchFolder folder;
  RunLog log(folder / "m", 0, {});
  log.add({{"step", 1}, {"loss", 0.5}});
  EXPECT_EQ(text_of(folder / "m"), "{\"loss\":0.5,\"step\":1}\n");  // written at once, not at the end
  log.add({{"step", 2}, {"loss", 0.25}});
  EXPECT_EQ(text_of(folder / "m"), "{\"loss\":0.5,\"step\":1}\n{\"loss\":0.25,\"step\":2}\n");
}

TEST(RunLog, DropsWhatCameAfterTheStepItContinuesFrom) {
  const ScratchFolder folder;
  write_text(folder / "m", "{\"step\":50}\n{\"step\":100,\"loss\":1}\n{\"step\":100,\"nats\":1}\n{\"step\":150}\n");
  RunLog log(folder / "m", 100, {});
  log.add({{"step", 150}, {"again", true}});
  EXPECT_EQ(text_of(folder / "m"),
            "{\"step\":50}\n{\"step\":100,\"loss\":1}\n{\"step\":100,\"nats\":1}\n{\"again\":true,\"step\":150}\n");
}

TEST(RunLog, KnowsTheLatestNumbersUpToTheStepItContinuesFrom) {
  const ScratchFolder folder;
  write_text(folder / "m", "{\"step\":50,\"a\":1,\"b\":2}\n{\"step\":70,\"a\":3}\n{\"step\":90,\"a\":4}\n");
  const RunLog log(folder / "m", 70, {});
  EXPECT_EQ(log.at_start("a"), 3.0);
  EXPECT_EQ(log.at_start("b"), std::nullopt);
  EXPECT_EQ(log.latest("a"), 3.0);
  EXPECT_EQ(log.latest("b"), 2.0);
  EXPECT_EQ(log.latest("c"), std::nullopt);
}

TEST(RunLog, DropsALineThatWasCut) {
  const ScratchFolder folder;
  for (const char* rest : {"{\"step\":60,\"lo", "{", "6", "{\"step\":6", "\n", "{\"loss\":1}"}) {
    write_text(folder / "m", std::string("{\"step\":50}\n") + rest);
    RunLog log(folder / "m", 100, {});
    log.add({{"step", 101}});
    EXPECT_EQ(text_of(folder / "m"), "{\"step\":50}\n{\"step\":101}\n") << rest;
  }
}

TEST(RunLog, KeepsAWholeLastLineThatLacksItsEnd) {
  const ScratchFolder folder;
  write_text(folder / "m", "{\"step\":50}");
  RunLog log(folder / "m", 50, {});
  log.add({{"step", 51}});
  EXPECT_EQ(text_of(folder / "m"), "{\"step\":50}\n{\"step\":51}\n");
}

TEST(RunLog, AStartFromTheBeginningKeepsNothing) {
  const ScratchFolder folder;
  write_text(folder / "m", "{\"step\":50}\n");
  const RunLog log(folder / "m", 0, {});
  EXPECT_EQ(text_of(folder / "m"), "");
}

TEST(RunLog, AFolderThatIsMissingIsNamed) {
  const ScratchFolder folder;
  EXPECT_EQ(test::any_error([&] { RunLog(folder / "no/m", 0, {}); }),
            (folder / "no/m").string() + ": cannot be written (No such file or directory)");
}

TEST(RunLog, AFullDiskIsSaidOnceAndLaterLinesAreWhole) {
  const ScratchFolder folder;
  RunLog log(folder / "m", 0, folder / "tb");
  // Longer than the messages on stderr, which also go to a file.
  log.add({{"step", 1}, {"text", std::string(1000, 'x')}});
  const std::string first = text_of(folder / "m");
  testing::internal::CaptureStderr();
  {
    const test::FullDisk full(first.size() + 9);
    log.add({{"step", 2}, {"loss", 0.5}});
    log.add({{"step", 3}, {"loss", 0.25}});
    log.picture(3, "a picture", 2, 3);
    EXPECT_EQ(text_of(folder / "m"), first);
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said, "warning: " + (folder / "m").string() +
                      ": writing failed (File too large); training continues, but its log has gaps until fixed\n");
  log.add({{"step", 4}});
  EXPECT_EQ(text_of(folder / "m"), first + "{\"loss\":0.5,\"step\":2}\n{\"loss\":0.25,\"step\":3}\n{\"step\":4}\n");
  std::string events;
  for (const auto& entry : fs::directory_iterator(folder / "tb")) events += text_of(entry.path());
  EXPECT_NE(events.find("a picture"), std::string::npos);
}

TEST(RunLog, KnowsTheNumbersOfTheStepItContinuesFrom) {
  const ScratchFolder folder;
  write_text(folder / "m", "{\"step\":50,\"loss\":1}\n{\"step\":100,\"nats\":0.1}\n{\"step\":150,\"lr\":1}\n");
  const RunLog log(folder / "m", 100, {});
  EXPECT_EQ(log.at_start("nats"), 0.1);
  EXPECT_EQ(log.at_start("loss"), std::nullopt);
  EXPECT_EQ(log.at_start("lr"), std::nullopt);
}

TEST(RunLog, TensorBoardGetsTheNumbersAndPicturesOnRequest) {
  const ScratchFolder folder;
  RunLog log(folder / "m", 0, folder / "tb");
  log.add({{"step", 7}, {"the_loss", 0.5}, {"note", "no number"}});
  log.picture(7, "a picture", 2, 3);
  std::string events;
  for (const auto& entry : fs::directory_iterator(folder / "tb")) events += text_of(entry.path());
  for (const char* part : {"the_loss", "samples", "a picture"}) EXPECT_NE(events.find(part), std::string::npos) << part;
  EXPECT_EQ(events.find("note"), std::string::npos);
}

TEST(RunLog, WithoutTheRequestPicturesGoNowhere) {
  const ScratchFolder folder;
  RunLog log(folder / "m", 0, {});
  log.picture(7, "a picture", 2, 3);
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder.path())) ++files;
  EXPECT_EQ(files, 1u);
}

}  // namespace
}  // namespace segre::run_log_test
