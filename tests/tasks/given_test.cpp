#include "segre/tasks/given.h"

#include "segre/tasks/condition.h"
#include "tests/support/messages.h"
#include "tests/support/reference.h"

// How users name variables and labels.

namespace segre::given_test {
namespace {

using test::contains;
using test::input_error;

Space table() {
  return Space::table(
      {{"colour", 3, {"red", "dark, red", "b\"w"}}, {"size, cm", 2, {"1=2", "3"}}, {"c", 2, {"x", "y"}}});
}

std::vector<int64_t> labels(const std::string& text) {
  return test::labels_of(parse_condition(table(), text, "--given").labels());
}
std::vector<int64_t> variables(const std::string& text) {
  return test::labels_of(parse_variables(table(), text, "--only").nonzero().flatten());
}

TEST(Given, LabelsAreStatedByName) {
  EXPECT_EQ(labels("c=y,colour=red"), (std::vector<int64_t>{0, -1, 1}));
  EXPECT_TRUE(contains(input_error([] { labels("c=y,c=x"); }), "c is stated twice"));
  EXPECT_TRUE(contains(input_error([] { labels("c=z"); }), "c has the labels x, y"));
  EXPECT_TRUE(contains(input_error([] { labels("c=y,x"); }), "'x' is not NAME=LABEL"));
}

TEST(Given, CommasAndQuotesAreQuoted) {
  EXPECT_EQ(labels("colour=\"dark, red\",c=x"), (std::vector<int64_t>{1, -1, 0}));
  EXPECT_EQ(labels("c=x,colour=\"b\"\"w\""), (std::vector<int64_t>{2, -1, 0}));
  EXPECT_EQ(labels("\"size, cm=1=2\",c=x"), (std::vector<int64_t>{-1, 0, 0}));
  // A quote elsewhere is a character like any other.
  EXPECT_EQ(labels("colour=b\"w,c=x"), (std::vector<int64_t>{2, -1, 0}));
  EXPECT_TRUE(contains(input_error([] { labels("colour=\"dark, red,c=x"); }), "a quote is never closed"));
}

TEST(Given, VariablesWithCommasAreNamedAloneOrQuoted) {
  EXPECT_EQ(variables("size, cm"), (std::vector<int64_t>{1}));
  EXPECT_EQ(variables("c,\"size, cm\""), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(variables("\"size, cm\",colour"), (std::vector<int64_t>{0, 1}));
  EXPECT_TRUE(contains(input_error([] { variables("colour,size"); }), "the model has no variable 'size'"));
}

}  // namespace
}  // namespace segre::given_test
