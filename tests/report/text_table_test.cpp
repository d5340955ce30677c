#include "segre/report/text_table.h"

#include "tests/support/support.h"

namespace segre::text_table_test {
namespace {

TEST(TextTable, WordsInTheLastColumnStandToTheLeft) {
  EXPECT_EQ(aligned({{"rank", "score", "why"}, {{"1", "2.50", "a b c"}, {"10", "12.25", "d"}}, /*words_last=*/true}),
            "rank  score  why\n"
            "1      2.50  a b c\n"
            "10    12.25  d\n");
}

TEST(TextTable, CharactersAreAlignedNotBytes) {
  EXPECT_EQ(aligned({{"a", "town"}, {{"Zoë", "Łódź"}, {"x", "Ulm"}}}), "a    town\nZoë  Łódź\nx     Ulm\n");
}

}  // namespace
}  // namespace segre::text_table_test
