#include "segre/report/page.h"

#include "segre/io/files.h"
#include "tests/support/support.h"

namespace segre::page_test {
namespace {

using test::ScratchFolder;

std::string page_with_library(const Page& page, const std::string& library) {
  const ScratchFolder folder;
  test::write_text(folder / "plotly.js", library);
  page.write(folder / "page.html", folder / "plotly.js");
  return read_file(folder / "page.html");
}

TEST(Page, EscapesText) {
  Page page("a < b");
  page.text("x & \"y\"");
  const std::string html = page_with_library(page, "");
  EXPECT_NE(html.find("<h1>a &lt; b</h1>"), std::string::npos);
  EXPECT_NE(html.find("<p>x &amp; &quot;y&quot;</p>"), std::string::npos);
}

TEST(Page, InlinesTheLibraryAndKeepsChartsFromClosingTheirScript) {
  Page page("t");
  page.chart({{{"name", "</script><b>"}}}, {{"height", 123}});
  const std::string html = page_with_library(page, "var Plotly = 42;");
  EXPECT_NE(html.find("<script>var Plotly = 42;</script>"), std::string::npos);
  EXPECT_EQ(html.find("</script><b>"), std::string::npos);
  EXPECT_NE(html.find("id=\"chart0\" style=\"height:123px\""), std::string::npos);
}

TEST(Page, TablesHaveAHeaderAndRows) {
  Page page("t");
  page.table({"name", "value"}, {{"a", "1"}, {"b", "2"}});
  const std::string html = page_with_library(page, "");
  EXPECT_NE(
      html.find("<tr><th>name</th><th>value</th></tr>\n<tr><td>a</td><td>1</td></tr>\n<tr><td>b</td><td>2</td></tr>"),
      std::string::npos);
}

TEST(Page, PicturesInARowHaveTheirTextBelow) {
  Page page("t");
  page.picture_row("inside & out", {"one", "two"}, {"0.1", "<0.2"});
  const std::string html = page_with_library(page, "");
  EXPECT_NE(html.find("inside &amp; out"), std::string::npos);
  const size_t first = html.find("base64,b25l\"><figcaption>0.1</figcaption>");  // b25l: "one"
  const size_t second = html.find("base64,dHdv\"><figcaption>&lt;0.2</figcaption>");
  EXPECT_NE(first, std::string::npos);
  EXPECT_NE(second, std::string::npos);
  EXPECT_LT(first, second);
}

TEST(Page, AMissingLibraryIsNamedAndNothingIsWritten) {
  const ScratchFolder folder;
  const Page page("t");
  const std::string message = test::input_error([&] { page.write(folder / "page.html", folder / "none.js"); });
  EXPECT_NE(message.find("none.js"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder / "page.html"));
}

}  // namespace
}  // namespace segre::page_test
