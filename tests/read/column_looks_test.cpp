#include "segre/read/column_looks.h"

#include "segre/data/label_dictionary.h"
#include "tests/support/support.h"

namespace segre::column_looks_test {
namespace {

// Whole numbers from 1 to n_distinct, each in as many rows as there are for it, and some missing values.
Looks looks_of(int64_t n_distinct, int64_t n_values, int64_t n_missing) {
  LabelDictionary dictionary;
  for (int64_t k = 1; k <= n_distinct; ++k) dictionary.number(std::to_string(k));
  if (n_missing > 0) dictionary.number(kMissingName);
  const ColumnValues values{
      .dictionary = dictionary, .has_missing = n_missing > 0, .n_values = n_values, .n_rows = n_values + n_missing};
  return judge_column("id", values, /*max_labels=*/0).looks;
}

TEST(ColumnLooks, NumbersThatAreAllDifferentAreIdentifiersWhereverSomeAreMissing) {
  EXPECT_EQ(looks_of(100, 100, 0), Looks::identifier);
  EXPECT_EQ(looks_of(100, 100, 10), Looks::identifier);
  EXPECT_EQ(looks_of(100, 110, 0), Looks::measurement);
  EXPECT_EQ(looks_of(100, 101, 10), Looks::measurement);
}

TEST(ColumnLooks, AsManyLabelsAsAllowedAreLabels) {
  EXPECT_EQ(looks_of(50, 60, 0), Looks::labels);
  EXPECT_EQ(looks_of(51, 60, 0), Looks::measurement);
  EXPECT_EQ(looks_of(100, 190, 10), Looks::labels) << "half of the rows, with those of missing values";
  EXPECT_EQ(looks_of(101, 190, 10), Looks::measurement);
}

LabelDictionary dictionary_of(const std::vector<std::string>& texts) {
  LabelDictionary dictionary;
  for (const std::string& text : texts) dictionary.number(text);
  return dictionary;
}

TEST(ColumnLooks, CodesAndWhatHasOtherSignsAreNoNumbers) {
  EXPECT_TRUE(are_values(dictionary_of({"1", "2.5", "-3", "1e-300", kMissingName})));
  EXPECT_TRUE(are_values(dictionary_of({"0", "-0.5", "0.25"})));
  for (const char* text : {"007", "-01", "1,000", "5%", "$1", "9007199254740993", "one", "1 2", "inf"})
    EXPECT_FALSE(are_values(dictionary_of({"1", text}))) << text;
  EXPECT_TRUE(are_values(dictionary_of({"2024-03-05", "2024-03-06 10:00"})));
  EXPECT_FALSE(are_values(dictionary_of({"2024-03-05", "1"})));
}

TEST(ColumnLooks, DatesThatCouldBeReadInTwoWaysAreNoValues) {
  const auto unclear = dictionary_of({"03/05/2024", "04/05/2024", kMissingName});
  EXPECT_FALSE(are_values(unclear));
  EXPECT_TRUE(are_ambiguous_dates(unclear));
  const auto clear = dictionary_of({"03/05/2024", "25/05/2024"});
  EXPECT_TRUE(are_values(clear));
  EXPECT_FALSE(are_ambiguous_dates(clear));
  EXPECT_FALSE(are_ambiguous_dates(dictionary_of({"x", "03/05/2024"})));
  EXPECT_FALSE(are_ambiguous_dates(dictionary_of({"03/05/2024", "x"})));
}

}  // namespace
}  // namespace segre::column_looks_test
