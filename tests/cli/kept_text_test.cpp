// What complete and predict keep of a file: its rows' numbers, its text, its line ends; and what they must not give
// back.

#include <cmath>

#include "segre/io/csv.h"
#include "segre/io/files.h"
#include "tests/support/archives.h"
#include "tests/support/messages.h"
#include "tests/support/program.h"

namespace segre::kept_text_test {
namespace {

using test::Arguments;
using test::contains;
using test::run_program;
using test::ScratchFolder;
using test::tiny_training;
using test::write_text;
using test::operator+;

// Sky and ground agree; weight is a number, cut into four bins, and different in every row.
class CliKeptText : public testing::Test {
 protected:
  void SetUp() override {
    std::string text = "sky,ground,weight\n";
    for (int k = 0; k < kRows; ++k) text += line(k) + "\n";
    write_text(folder_ / "t.csv", text);
    const auto result =
        run_program(tiny_training(source("t.csv") + "?bins=weight:4", file("run"), 300) +
                    Arguments{"--set", "net.hidden=[32]", "--set", "train.lr=0.01", "--set", "train.evidence=any"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }

  static constexpr int kRows = 400;
  static std::string line(int k) {
    const bool sun = k % 2 == 0;
    return std::string(sun ? "sun,dry," : "rain,wet,") + std::to_string(k * 7919 % 4001) + ".5";
  }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  std::string source(const std::string& name) const { return "csv:" + file(name); }
  // Completes new.csv with this text into out.csv.
  test::ProgramResult complete(const std::string& text, const Arguments& more = {}, const std::string& options = "") {
    write_text(folder_ / "new.csv", text);
    auto result = run_program(
        Arguments{"complete", file("run"), "--data", source("new.csv") + options, "--out", file("out.csv")} + more);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result;
  }
  std::string completed() const { return read_file(folder_ / "out.csv"); }
  ScratchFolder folder_;
};

// Where the drawn bin is that of the file's number, the number would be the truth, too good for any study of
// imputation.
TEST_F(CliKeptText, ACellThatIsNotGivenIsNotGivenBack) {
  std::string text = "sky,ground,weight\n";
  for (int k = 0; k < kRows; ++k) text += line(k) + "\n";
  complete(text, {"--given", "sky,ground"});
  const auto rows = read_csv(folder_ / "out.csv");
  int same = 0;
  for (int k = 0; k < kRows; ++k)
    same += rows[static_cast<size_t>(k) + 1].fields[2] == line(k).substr(line(k).rfind(',') + 1);
  // A value with one decimal is drawn in a bin of a thousand: one in 40,000 is right by chance.
  EXPECT_LE(same, 1);
  complete(text, {"--given", "sky,ground", "--best"});
  EXPECT_FALSE(contains(completed(), line(0))) << "the middle of a bin";
}

TEST_F(CliKeptText, LinesEndAsTheyDid) {
  complete("sky,ground,weight\r\nsun,dry,12.5\r\nrain,wet,7.5\r\n");
  EXPECT_EQ(completed(), "sky,ground,weight\r\nsun,dry,12.5\r\nrain,wet,7.5\r\n");
  complete("sky,ground,weight\nsun,dry,12.5\n");
  EXPECT_EQ(completed(), "sky,ground,weight\nsun,dry,12.5\n");
}

TEST_F(CliKeptText, Latin1BecomesUtf8WithANote) {
  const auto result = complete("note,sky,ground,weight\nZ\xfcrich,sun,dry,12.5\n", {}, "?encoding=latin1");
  EXPECT_EQ(completed(), "note,sky,ground,weight\nZürich,sun,dry,12.5\n");
  const std::string note = "new.csv: is Latin-1, its text is written in UTF-8";
  EXPECT_TRUE(contains(result.err, note)) << result.err;
  const std::string data = source("new.csv") + "?encoding=latin1";
  for (const Arguments& command :
       {Arguments{"complete", file("run"), "--probabilities", file("p.csv"), "--data", data},
        Arguments{"predict", file("run"), "--column", "ground", "--out", file("p.csv"), "--data", data},
        Arguments{"outliers", file("run"), "--out", file("p.csv"), "--data", data}}) {
    const auto other = run_program(command);
    EXPECT_EQ(other.exit_code, 0) << other.err;
    EXPECT_TRUE(contains(other.err, note)) << command[0] << ": " << other.err;
  }
}

TEST_F(CliKeptText, AColumnCalledDrawIsNotWrittenTwice) {
  complete("draw,sky,ground,weight\na,sun,,12.5\n", {"--draws", "2"});
  EXPECT_TRUE(completed().starts_with("draw_,draw,sky,ground,weight\n1,a,sun,")) << completed();
}

TEST_F(CliKeptText, RowsKeepTheirNumbersWhenOthersAreSkipped) {
  const std::string text = "sky,ground,weight\nsun,,12.5\nhail,dry,12.5\nrain,,7.5\n";
  complete(text, {"--probabilities", file("p.csv")}, "?unseen=skip");
  const auto cells = read_csv(folder_ / "p.csv");
  ASSERT_EQ(cells.size(), 5U);
  EXPECT_EQ(cells[1].fields[0], "1");
  EXPECT_EQ(cells[3].fields[0], "3");
  const auto result = run_program({"predict", file("run"), "--data", source("new.csv") + "?unseen=skip", "--column",
                                   "ground", "--out", file("predicted.csv")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto predicted = read_csv(folder_ / "predicted.csv");
  ASSERT_EQ(predicted.size(), 3U);
  EXPECT_EQ(predicted[1].fields[0], "1");
  EXPECT_EQ(predicted[2].fields[0], "3");
  EXPECT_EQ(predicted[2].fields[1], "wet");
}

// Row 2 is left out; what is said of row 3 must not be taken from it.
TEST_F(CliKeptText, EvidenceFollowsTheRowsOfTheFile) {
  write_text(folder_ / "new.csv", "sky,ground,weight\n,,12.5\nhail,dry,12.5\n,,7.5\n");
  // Log-likelihoods of rain, sun; dry, wet; four bins: nothing is said but that row 1 is sun and row 3 rain.
  std::vector<float> soft(3 * 8, 0.0F);
  soft[0] = soft[8] = soft[16 + 1] = -20.0F;
  const std::string body(reinterpret_cast<const char*>(soft.data()), soft.size() * sizeof(float));
  write_text(folder_ / "e.npy", test::npy_bytes("'<f4'", "(3, 8)", body));
  const Arguments base{"complete",      file("run"),       "--data",     source("new.csv") + "?unseen=skip",
                       "--evidence",    file("e.npy"),     "--best",     "--out",
                       file("out.csv"), "--probabilities", file("p.csv")};
  const auto result = run_program(base);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto rows = read_csv(folder_ / "out.csv");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1].fields[0] + rows[1].fields[1], "sundry");
  EXPECT_EQ(rows[2].fields[0] + rows[2].fields[1], "rainwet");
  const auto cells = read_csv(folder_ / "p.csv");
  ASSERT_EQ(cells.size(), 9U) << "a header and two cells of two labels in each of two rows";
  for (size_t k = 1; k < cells.size(); ++k) EXPECT_EQ(cells[k].fields[0], k < 5 ? "1" : "3");
  write_text(folder_ / "e.npy", test::npy_bytes("'<f4'", "(2, 8)", body.substr(0, 2 * 8 * sizeof(float))));
  EXPECT_TRUE(contains(run_program(base).err, "has shape [2, 8], expected [3, 8]"));
}

TEST_F(CliKeptText, AnUnseenLabelMayBeReadAsAHole) {
  complete("sky,ground,weight\nsun,swamp,12.5\n", {"--best"}, "?unseen=missing");
  EXPECT_EQ(completed(), "sky,ground,weight\nsun,dry,12.5\n");
  const auto result = run_program({"predict", file("run"), "--data", source("new.csv") + "?unseen=missing", "--column",
                                   "sky", "--out", file("predicted.csv")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST_F(CliKeptText, TextAfterAClosingQuoteIsRefused) {
  write_text(folder_ / "new.csv", "sky,ground,weight\n\"sun\"ny,dry,12.5\n");
  const auto result = run_program({"complete", file("run"), "--data", source("new.csv"), "--out", file("out.csv")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.err, "new.csv:2: column sky has 'n' after the closing quote of 'sun'")) << result.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out.csv"));
}

}  // namespace
}  // namespace segre::kept_text_test
