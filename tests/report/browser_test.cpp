// The demo's report in a real browser. Skipped, with a message, if Chromium is not installed.

#include <cstdio>
#include <memory>

#include "segre/io/files.h"
#include "tests/support/support.h"

namespace segre::browser_test {
namespace {

using test::ScratchFolder;

int shell(const std::string& command) { return std::system(command.c_str()); }

bool has_chromium() { return shell("command -v chromium > /dev/null 2>&1") == 0; }

// The page's document after its scripts ran, as Chromium sees it.
std::string rendered(const ScratchFolder& folder, const std::filesystem::path& page) {
  const auto out = (folder / "dom.html").string();
  const int code = shell(
      concat("HOME='", folder.path().string(),
             "' timeout 120 chromium --headless --no-sandbox --use-angle=swiftshader --enable-unsafe-swiftshader ",
             "--disable-dev-shm-usage --user-data-dir='", (folder / "profile").string(),
             "' --virtual-time-budget=60000 --dump-dom 'file://", page.string(), "' > '", out, "' 2> '",
             (folder / "chromium.log").string(), "'"));
  EXPECT_EQ(code, 0) << read_file(folder / "chromium.log");
  return read_file(out);
}

size_t count(const std::string& text, const std::string& word) {
  size_t found = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

// One demo for all tests.
class Browser : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<ScratchFolder>();
    code_ = shell(concat("'", SEGRE_PROGRAM, "' demo --out '", (*folder_ / "demo").string(),
                         "' --max-time 3s --count 20000 > /dev/null 2>&1"));
  }
  static void TearDownTestSuite() { folder_.reset(); }
  void SetUp() override { ASSERT_EQ(code_, 0); }
  static const ScratchFolder& folder() { return *folder_; }
  static std::filesystem::path report() { return *folder_ / "demo/report.html"; }

 private:
  inline static std::unique_ptr<ScratchFolder> folder_;
  inline static int code_ = -1;
};

TEST_F(Browser, TheDemoReportDrawsAllItsChartsWithoutErrors) {
  if (!has_chromium()) GTEST_SKIP() << "chromium is not installed; 'sudo apt-get install chromium' enables this test";
  const std::string dom = rendered(folder(), report());
  EXPECT_NE(dom.find("data-charts-drawn=\"6\""), std::string::npos);
  EXPECT_EQ(dom.find("data-error"), std::string::npos);
  EXPECT_EQ(count(dom, "class=\"gl-container\""), 6u);  // plotly makes one for each chart
  EXPECT_GE(count(dom, "<canvas"), 2u);                 // the two turnable scenes are drawn in one each
  EXPECT_GE(count(dom, "<image"), 6u);                  // three pairs of heat maps
}

TEST_F(Browser, TheReportNeedsNothingFromOutside) {
  const std::string html = read_file(report());
  const std::string outside = html.substr(0, html.find("<script>"));  // what is not plotly's own text
  EXPECT_EQ(count(outside, "src="), count(outside, "src=\"data:"));   // the picture's own bytes
  EXPECT_EQ(count(outside, "href="), 0u);
  EXPECT_EQ(count(html, "<script src"), 0u);
}

}  // namespace
}  // namespace segre::browser_test
