#include "segre/core/progress.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/support/heard_log.h"

namespace segre::progress_test {
namespace {

using test::HeardLog;

constexpr const char* kCleared = "\r\033[K";

// Longer than the pause between two drawings of a bar.
void wait_for_a_drawing() { std::this_thread::sleep_for(std::chrono::milliseconds(120)); }

TEST(WorkDisplay, IsABarWhereLinesCanBeRedrawn) {
  HeardLog log(/*redraws=*/true);
  with_progress([&](const WorkCallbacks& callbacks) {
    callbacks.report({"scoring", 0, 4});
    wait_for_a_drawing();
    log.text();  // a slow machine draws before
    callbacks.report({"scoring", 2, 4, "half"});
    const std::string drawn = log.text();
    EXPECT_TRUE(drawn.starts_with("\rscoring [##############..............] 50%  half  ")) << drawn;
    EXPECT_TRUE(drawn.ends_with(" left\033[K")) << drawn;
    return 0;
  });
  EXPECT_EQ(log.text(), kCleared);
}

TEST(WorkDisplay, EachKindOfWorkAndEachRoundHasItsOwnBar) {
  HeardLog log(/*redraws=*/true);
  WorkDisplay display;
  const WorkCallbacks callbacks = display.callbacks();
  callbacks.report({"drawing", 1, 2});
  callbacks.report({"drawing", 2, 2});
  EXPECT_FALSE(log.text().starts_with(kCleared));
  callbacks.report({"scoring", 2, 2});
  EXPECT_TRUE(log.text().starts_with(kCleared)) << "another kind";
  callbacks.report({"scoring", 1, 2});
  EXPECT_TRUE(log.text().starts_with(kCleared)) << "another round";
}

TEST(WorkDisplay, IsSilentForTenSecondsWhereLinesStay) {
  HeardLog log;
  const int result = with_progress([&](const WorkCallbacks& callbacks) {
    callbacks.report({"scoring", 0, 4});
    wait_for_a_drawing();
    callbacks.report({"scoring", 2, 4});
    return 3;
  });
  EXPECT_EQ(result, 3);
  EXPECT_EQ(log.text(), "");
}

}  // namespace
}  // namespace segre::progress_test
