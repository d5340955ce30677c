#include "segre/read/readers.h"
#include "segre/sources/relabel.h"
#include "tests/support/archives.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

// A table read for an existing model.

namespace segre::table_items_test {
namespace {

using test::input_error;
using test::ScratchFolder;
using test::write_text;

constexpr const char* kDeclare =
    " (if it can occur, train with it declared: labels= or dictionary= of csv:, a row with p = 0 of joint:)";

Space weather() { return Space::table({{"sky", 3, {"rain", "snow", "sun"}}, {"wind", 2, {"no", "yes"}}}); }

// Ages in two bins and a label for missing ones, and days in two.
Space binned() {
  const Bins ages{Bins::Unit::number, {20, 35, 80}, 0};
  const Bins days{Bins::Unit::day, {0, 86'400, 172'800}};
  return Space::table({{"age", 3, {"[20, 35)", "[35, 80]", "(missing)"}, ages},
                       {"day", 2, {"[1970-01-01, 1970-01-02)", "[1970-01-02, 1970-01-03]"}, days}});
}

class TableForModel : public testing::Test {
 protected:
  Dataset read(const Space& space, const std::string& text, const std::string& options = "", int64_t most = 0,
               Unknowns unknowns = Unknowns::refuse) {
    write_text(file(), text);
    const auto name = parse_source_name("csv:" + file() + (options.empty() ? "" : "?" + options));
    testing::internal::CaptureStderr();
    try {
      Dataset dataset = read_csv_table_for(name, space, "--data t", most, unknowns);
      notes_ = testing::internal::GetCapturedStderr();
      return dataset;
    } catch (...) {
      notes_ = testing::internal::GetCapturedStderr();
      throw;
    }
  }
  torch::Tensor labels(const Space& space, const std::string& text, const std::string& options = "") {
    return read(space, text, options).labels;
  }
  std::string error(const Space& space, const std::string& text, const std::string& options = "") {
    return input_error([&] { read(space, text, options); });
  }
  std::string file() const { return (folder_ / "t.csv").string(); }
  const std::string& notes() const { return notes_; }

 private:
  ScratchFolder folder_;
  std::string notes_;
};

torch::Tensor bytes(std::vector<int64_t> values, int64_t n) {
  return torch::tensor(values, torch::kInt64).to(torch::kUInt8).view({-1, n});
}

TEST_F(TableForModel, HasItsColumnsInAnyOrder) {
  const Space space = weather();
  const auto data = read(space, "wind,sky\nyes,sun\nno,rain\n");
  EXPECT_TRUE(torch::equal(data.labels, bytes({2, 1, 0, 0}, 2)));
  EXPECT_TRUE(data.space.shares_contents_of(space));
  EXPECT_EQ(data.origin.place(1), file() + ":3");
  EXPECT_EQ(notes(), "");
}

TEST_F(TableForModel, HasOtherColumnsThatAreNotEvenJudged) {
  std::string text = "id,sky,notes,wind\n";
  for (int k = 0; k < 200; ++k) text += concat("k", k, ",sun,\"free text ", k, "\",no\n");
  EXPECT_TRUE(torch::equal(labels(weather(), text), bytes({2, 0}, 2).expand({200, 2})));
  EXPECT_EQ(notes(), "note: " + file() + ": ignoring columns id, notes, which are not in the model\n");
  labels(weather(), "sky,wind,id\nsun,no,1\n");
  EXPECT_EQ(notes(), "note: " + file() + ": ignoring column id, which is not in the model\n");
  labels(weather(), "sky,wind,id\nsun,no,1\n", "without=id");
  EXPECT_EQ(notes(), "");
  labels(weather(), "sky,wind,id\nsun,no,1\n", "columns=wind,sky");
  EXPECT_EQ(notes(), "");
}

TEST_F(TableForModel, LacksNoColumn) {
  EXPECT_EQ(error(weather(), "sky,moon\nsun,no\n"),
            "--data t: has no column wind; it has sky, moon, and sky, wind were expected");
  EXPECT_EQ(error(weather(), "sky,wind\nsun,no\n", "without=wind"),
            "--data t: has no column wind; it has sky, and sky, wind were expected");
  EXPECT_EQ(
      error(weather(), "sun,no\nrain,no\n"),
      "--data t: has no column sky, wind; it has sun, no, and sky, wind were expected (if the file has no header, "
      "read it with header=0)");
}

TEST_F(TableForModel, WithoutAHeaderIsMatchedByPosition) {
  const Space space = Space::table({{"x1", 2, {"a", "b"}}, {"x2", 2, {"c", "d"}}});
  EXPECT_TRUE(torch::equal(labels(space, "b,c\na,d\n", "header=0"), bytes({1, 0, 0, 1}, 2)));
}

TEST_F(TableForModel, NamesTheFirstLabelThatTrainingNeverSaw) {
  EXPECT_EQ(error(weather(), "wind,sky\nno,sun\n\nno,hail\n"),
            concat(file(), ":4: column sky has the label 'hail', which training never saw; it has rain, snow, sun",
                   kDeclare, "; unseen=skip leaves such rows out"));
  EXPECT_EQ(error(weather(), "wind,sky\nno,\n"),
            concat(file(), ":2: column sky has the label '(missing)', which training never saw; it has rain, snow, sun",
                   kDeclare, "; missing=unknown leaves such cells out"));
}

TEST_F(TableForModel, SkipsRowsWithUnseenLabelsOnRequest) {
  const auto data = read(weather(), "sky,wind\nsun,no\nhail,no\nrain,maybe\nsnow,yes\n", "unseen=skip");
  EXPECT_TRUE(torch::equal(data.labels, bytes({2, 0, 1, 1}, 2)));
  EXPECT_EQ(data.origin.place(1), file() + ":5");
  EXPECT_EQ(notes(), concat("note: ", file(),
                            ": 2 of 4 rows have labels that training never saw and are left out (unseen=skip), the "
                            "first at ",
                            file(), ":3\n"));
  EXPECT_EQ(read(weather(), "sky,wind\nhail,no\nsun,no\nrain,no\n", "unseen=skip&limit=1").labels.size(0), 1)
      << "of those kept";
  EXPECT_EQ(error(weather(), "sky,wind\nhail,no\n", "unseen=skip"),
            file() + ": all 1 rows have labels that training never saw, so none are left (unseen=skip)");
}

TEST_F(TableForModel, TakesUnseenLabelsForMissingOnRequest) {
  const Space space = Space::table({{"sky", 2, {"sun", "(missing)"}}, {"wind", 2, {"no", "yes"}}});
  EXPECT_TRUE(torch::equal(labels(space, "sky,wind\nhail,no\nsun,yes\nNA,no\n", "unseen=missing"),
                           bytes({1, 0, 0, 1, 1, 0}, 2)));
  EXPECT_EQ(error(space, "sky,wind\nhail,no\nsun,maybe\n", "unseen=missing"),
            concat(file(), ":3: column wind has the label 'maybe', which training never saw; it has no, yes", kDeclare,
                   "; unseen=missing needs a column with missing values in training, unseen=skip leaves such rows "
                   "out"));
  EXPECT_TRUE(test::contains(error(space, "sky,wind\nsun,no\n", "unseen=drop"), "one of refuse, skip, missing"));
}

TEST_F(TableForModel, LeavesMissingValuesUnknownOnRequest) {
  const Space space = Space::table({{"sky", 2, {"sun", "(missing)"}}, {"wind", 2, {"no", "yes"}}});
  const std::string text = "sky,wind\nNA,no\nsun,\n";
  const auto expected = torch::tensor({{-1, 0}, {0, -1}}, torch::kInt64);
  const Dataset asked = read(space, text, "missing=unknown");
  EXPECT_EQ(asked.unknowns, Unknowns::allow);
  EXPECT_TRUE(torch::equal(asked.labels.to(torch::kInt64), expected)) << "even where training had a label for them";
  const Dataset allowed = read(space, text, "", 0, Unknowns::allow);
  EXPECT_EQ(allowed.unknowns, Unknowns::allow);
  EXPECT_TRUE(torch::equal(allowed.labels.to(torch::kInt64), expected)) << "whatever missing= says";
  EXPECT_TRUE(torch::equal(labels(binned(), "age,day\n,1970-01-01\n20,NA\n", "missing=unknown").to(torch::kInt64),
                           torch::tensor({{-1, 0}, {0, -1}}, torch::kInt64)));
}

TEST_F(TableForModel, NumbersAndDatesFallIntoTheBinsOfTraining) {
  EXPECT_TRUE(torch::equal(
      labels(binned(), "day,age\n1970-01-01,34.9\n1970-01-02,35\n1970-01-01 23:59,-7\n2020-01-01,1e9\n1950-01-01,\n"),
      bytes({0, 0, 1, 1, 0, 0, 1, 1, 2, 0}, 2)));
}

TEST_F(TableForModel, ValuesOutsideTheRangeOfTrainingAreNotedAndKept) {
  const auto data =
      read(binned(),
           "age,day\n20,1970-01-01\n\n1e9,1970-01-03\n\"[20, 35)\",1969-12-31\n80,1970-01-02\n19,1970-01-01\n"
           ",1970-01-01\n");
  EXPECT_TRUE(torch::equal(data.labels, bytes({0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 2, 0}, 2))) << "the nearest interval";
  ASSERT_EQ(data.outside.size(), 3U) << "neither bounds nor names of bins nor missing values";
  std::string found;
  for (const OutsideValue& value : data.outside) found += concat(value.item, ":", value.variable, "=", value.text, " ");
  EXPECT_EQ(found, "1:0=1e9 2:1=1969-12-31 4:0=19 ");
  EXPECT_EQ(notes(), concat("note: ", file(),
                            ": 3 values lie outside the range of training and count as the nearest interval: ", file(),
                            ":4 age = 1e9 (20 to 80, 1e+09 above), ", file(),
                            ":5 day = 1969-12-31 (1970-01-01 to 1970-01-03, 1 day below), ", file(),
                            ":7 age = 19 (20 to 80, 1 below)\n"));
  read(binned(), "age,day\n1,1970-01-01\n1,1970-01-01\n1,1970-01-01\n1,1970-01-01\n");
  EXPECT_TRUE(test::contains(notes(), ": 4 values lie outside")) << notes();
  EXPECT_TRUE(test::contains(notes(), ":4 age = 1 (20 to 80, 19 below), ...\n")) << "the first three: " << notes();
  read(binned(), "age,day\n20,1970-01-01\n");
  EXPECT_EQ(notes(), "");
}

TEST_F(TableForModel, KnowsTheRowsOfTheFileWhereSomeAreLeftOut) {
  const auto data = read(weather(), "sky,wind\nhail,no\n\nsun,no\nrain,maybe\nsnow,yes\n", "unseen=skip");
  const auto source = make_dataset_source(data);
  ASSERT_EQ(source->n_items(), 2);
  EXPECT_EQ(source->file_row(0), 1) << "blank lines are no rows";
  EXPECT_EQ(source->file_row(1), 3);
}

TEST_F(TableForModel, NamesOfBinsAreReadAsSamplesHaveThem) {
  EXPECT_TRUE(torch::equal(labels(binned(),
                                  "age,day\n\"[20, 35)\",\"[1970-01-02, 1970-01-03]\"\n(missing),1970-01-01\n\"[35, "
                                  "80]\",1970-01-01\n"),
                           bytes({0, 1, 2, 0, 1, 0}, 2)));
}

TEST_F(TableForModel, WhatIsNoNumberAndNoBinIsNamed) {
  EXPECT_EQ(error(binned(), "age,day\n[20; 35),1970-01-01\n"),
            file() +
                ":2: column age is '[20; 35)', a number was expected, or one of the bins of training: [20, 35), [35, "
                "80], (missing); unseen=skip leaves such rows out");
  EXPECT_EQ(error(binned(), "age,day\n20,NA\n"),
            file() +
                ":2: column day is '(missing)', a date was expected, or one of the bins of training: [1970-01-01, "
                "1970-01-02), [1970-01-02, 1970-01-03]; missing=unknown leaves such cells out");
}

// 5.0 is 5, true is True: what other programs write for the same value.
TEST_F(TableForModel, LabelsAreFoundHoweverTheyAreWritten) {
  const Space space = Space::table({{"n", 3, {"0", "1", "(missing)"}},
                                    {"code", 2, {"007", "012"}},
                                    {"truth", 2, {"False", "True"}},
                                    {"mark", 2, {"!", "?"}}});
  EXPECT_TRUE(torch::equal(labels(space, "n,code,truth,mark\n1.0,7,true,?\n0,012,FALSE,!\n?,12.0,True,?\n"),
                           bytes({1, 0, 1, 1, 0, 1, 0, 0, 2, 1, 1, 1}, 4)));
  EXPECT_TRUE(test::contains(error(space, "n,code,truth,mark\n2,7,true,?\n"), "column n has the label '2'"));
}

TEST_F(TableForModel, NumbersThatTrainingDidNotHaveAreNoStrangers) {
  const Bins ages{.unit = Bins::Unit::number, .edges = {}, .decimals = 0, .are_levels = true, .own = {20, 35, 80}};
  const Space space = Space::table({{"age", 4, {"20", "35", "80", "(missing)"}, ages}});
  const auto data = read(space, "age\n34\n21.5\n90\n-\n?\n35.0\n");
  EXPECT_TRUE(torch::equal(data.labels, bytes({1, 0, 2, 3, 3, 1}, 1))) << "the nearest";
  ASSERT_EQ(data.outside.size(), 1U);
  EXPECT_TRUE(test::contains(notes(), "age = 90 (20 to 80, 10 above)")) << notes();
}

TEST_F(TableForModel, StillHearsItsOtherOptions) {
  EXPECT_EQ(error(weather(), "sky,wind\nsun,no\nrain,no\n", "labels=sun|no|yes"),
            file() + ":3: column sky has the label 'rain', which is not declared (labels=); it has sun, no, yes");
  EXPECT_EQ(error(weather(), "sky,wind\nsun,NA\n", "missing=refuse"),
            file() + ":2: column wind is 'NA', a missing value; a label was expected (missing=refuse)");
  EXPECT_EQ(read(weather(), "sky,wind\nsun,no\nrain,no\n", "limit=1").labels.size(0), 1);
  EXPECT_EQ(read(weather(), "sky;wind\nsun;no\nrain;no\n", "max_labels=1&bins=auto").labels.size(0), 2)
      << "the model's labels hold";
  EXPECT_EQ(notes(), "note: " + file() + ": fields are separated by semicolons (delimiter=semicolon)\n");
  EXPECT_EQ(error(weather(), "sky,wind\n"), file() + ": has a header but no rows");
}

TEST_F(TableForModel, MayBeTheOneThatWasLearnedWithAllItsOptions) {
  const std::string text = "age,sex\n20,m\n80,f\n35,f\n34,m\n";
  const std::string options = "bins=age:2&labels=m|f&missing=refuse";
  write_text(file(), text);
  const Dataset learned = read_csv_table(parse_source_name("csv:" + file() + "?" + options));
  EXPECT_TRUE(torch::equal(labels(learned.space, text, options), learned.labels));
}

TEST_F(TableForModel, IsReadAsFarAsItIsWanted) {
  EXPECT_EQ(read(weather(), "sky,wind\nsun,no\nhail,no\n", "", 1).labels.size(0), 1);
}

TEST_F(TableForModel, IsWhatOpeningForASpaceGives) {
  write_text(file(), "wind,sky,id\nno,sun,7\n");
  testing::internal::CaptureStderr();
  const auto source = open_source_for(weather(), "csv:" + file(), "--data t");
  const auto first = first_items(weather(), "csv:" + file(), 5, "--data t");
  const std::string once = "note: " + file() + ": ignoring column id, which is not in the model\n";
  EXPECT_EQ(testing::internal::GetCapturedStderr(), once + once);
  EXPECT_TRUE(torch::equal(source->rows(0, 1), torch::tensor({{2, 0}}, torch::kInt64)));
  EXPECT_TRUE(torch::equal(first, source->rows(0, 1)));
  const Space image = Space::image(1, 2, 2);
  EXPECT_EQ(input_error([&] { open_source_for(image, "csv:" + file(), "--data t"); }),
            "--data t: table of 3 variables with 1 labels each, expected image of 1x2 variables with 2 labels each");
}

}  // namespace
}  // namespace segre::table_items_test
