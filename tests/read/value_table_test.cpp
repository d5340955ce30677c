#include "segre/read/value_table.h"

#include <cmath>

#include "segre/read/readers.h"
#include "tests/support/reference.h"

namespace segre::value_table_test {
namespace {

using test::ScratchFolder;

TEST(ValueReader, NumbersAreNumbersAndLabelsKeepTheirNumbers) {
  const ScratchFolder folder;
  std::string text = "age,sky,flag\n";
  for (int k = 0; k < 60; ++k) text += concat(20 + k % 30, k % 2 == 0 ? ",sun," : ",rain,", k % 2, '\n');
  test::write_text(folder / "t.csv", text);
  test::write_text(folder / "s.csv", "sky,age,flag\nhail,20.5,1.0\nsun,,0\n");
  const auto source = [&](const char* name) { return parse_source_name("csv:" + (folder / name).string()); };
  const Space space = read_csv_table(source("t.csv")).space;
  ValueReader reader(space);
  ASSERT_EQ(reader.columns().size(), 3U);
  EXPECT_TRUE(reader.columns()[0].is_number());
  EXPECT_FALSE(reader.columns()[1].is_number());
  const auto table = reader.read_csv(source("t.csv"), "data");
  EXPECT_EQ(table.sizes(), (std::vector<int64_t>{60, 3}));
  EXPECT_EQ(table[3][0].item<double>(), 23.0);
  const auto others = reader.read_csv(source("s.csv"), "samples");
  EXPECT_EQ(others[0][0].item<double>(), 20.5);
  EXPECT_TRUE(std::isnan(others[1][0].item<double>()));
  EXPECT_EQ(reader.columns()[1].text_of(others[0][1].item<double>()), "hail") << "new labels are added";
  EXPECT_EQ(others[1][1].item<double>(), table[0][1].item<double>());
  EXPECT_EQ(others[0][2].item<double>(), table[1][2].item<double>()) << "1.0 is 1";
}

TEST(ValueReader, WhatIsNoNumberIsNamed) {
  const ScratchFolder folder;
  std::string text = "age,sky\n";
  for (int k = 0; k < 60; ++k) text += concat(0.25 * k, ",sun\n", 0.5, ",rain\n");
  test::write_text(folder / "t.csv", text);
  test::write_text(folder / "s.csv", "age,sky\n1,sun\nold,sun\n");
  test::write_text(folder / "lacks.csv", "agee,sky\n1,sun\n");
  const auto source = [&](const char* name) { return parse_source_name("csv:" + (folder / name).string()); };
  const Space space = read_csv_table(source("t.csv")).space;
  EXPECT_EQ(test::input_error([&] { ValueReader(space).read_csv(source("s.csv"), "samples"); }),
            (folder / "s.csv").string() + ":3: column age is 'old', a number was expected");
  EXPECT_EQ(test::input_error([&] { ValueReader(space).read_csv(source("lacks.csv"), "--samples csv:lacks.csv"); }),
            "--samples csv:lacks.csv: has no column 'age'; the nearest is agee");
}

TEST(ValueReader, LabelsOfAModelAreReadAsSegreWritesThem) {
  const ScratchFolder folder;
  std::string text = "x,sky\n";
  for (int k = 0; k < 3000; ++k) text += concat(k % 4 == 0 ? 0.0 : 0.01 * k, k % 2 == 0 ? ",sun\n" : ",rain\n");
  test::write_text(folder / "t.csv", text);
  const SourceName name = parse_source_name("csv:" + (folder / "t.csv").string());
  const Dataset dataset = read_csv_table(name);
  ValueReader reader(dataset.space);
  const auto exact = reader.read_csv(name, "data");
  const auto drawn =
      reader.read_labels(dataset.space, dataset.labels, {.random = RandomStream(1, Purpose::bin_values)});
  EXPECT_TRUE(torch::equal(drawn.select(1, 1), exact.select(1, 1)));
  EXPECT_TRUE(torch::equal(drawn.select(1, 0) == 0.0, exact.select(1, 0) == 0.0)) << "values that recur stay";
  EXPECT_LT((drawn - exact).abs().max().item<double>(), 1.0) << "others stay in their interval";
}

}  // namespace
}  // namespace segre::value_table_test
