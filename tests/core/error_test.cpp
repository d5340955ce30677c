#include "segre/core/error.h"

#include <gtest/gtest.h>

namespace segre::error_test {
namespace {

TEST(Errors, ConcatStreamsAllParts) {
  EXPECT_EQ(concat("step ", 3, ", loss ", 0.5), "step 3, loss 0.5");
  EXPECT_EQ(concat(7), "7");
}

TEST(Errors, FailCarriesItsMessageAndIsNoInputError) {
  try {
    fail("disk ", 1, " is full");
    FAIL() << "fail returned";
  } catch (const InputError&) {
    FAIL() << "a failed run is not the user's mistake";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "disk 1 is full");
  }
}

TEST(Errors, FailInputIsAnErrorOfItsOwnKind) {
  try {
    fail_input("eps = ", 2);
    FAIL() << "fail_input returned";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "eps = 2");
  }
  EXPECT_THROW(fail_input("x"), Error);
}

TEST(Errors, MessagesAreOneLineWhateverTheNamesInThemHold) {
  EXPECT_EQ(one_line("column 'a\nb\r\t\x1b[31m' \x7f"), "column 'a\\nb\\r\\t\\x1b[31m' \\x7f");
  EXPECT_EQ(one_line("größer, 大"), "größer, 大") << "what is not ASCII stays";
  try {
    fail_input("label '", "two\nlines", "'");
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "label 'two\\nlines'");
  }
}

TEST(Errors, TheMiddleOfAVeryLongMessageIsLeftOut) {
  EXPECT_EQ(one_line(std::string(4000, 'x')), std::string(4000, 'x'));
  EXPECT_EQ(one_line("key " + std::string(1'000'000, 'x') + ": expected y"),
            "key " + std::string(2996, 'x') + " ... (996216 characters left out) ... " + std::string(788, 'x') +
                ": expected y");
}

}  // namespace
}  // namespace segre::error_test
