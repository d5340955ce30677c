#include "segre/core/error.h"

#include <gtest/gtest.h>

namespace segre {
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

}  // namespace
}  // namespace segre
