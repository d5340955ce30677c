#include "segre/core/json_number.h"

#include <nlohmann/json.hpp>

#include "tests/support/support.h"

namespace segre::json_number_test {
namespace {

using test::input_error;

std::string error_of(const std::string& json) {
  return input_error([&] { json_integer(nlohmann::json::parse(json), "f: step"); });
}

TEST(JsonNumber, WholeNumbersOf64BitsAreTaken) {
  EXPECT_EQ(json_integer(nlohmann::json::parse("-7"), "f"), -7);
  EXPECT_EQ(json_integer(nlohmann::json::parse("9223372036854775807"), "f"), INT64_MAX);
  EXPECT_EQ(json_integer(nlohmann::json::parse("-9223372036854775808"), "f"), INT64_MIN);
  EXPECT_EQ(json_integers(nlohmann::json::parse("[2, 3]"), "f"), (std::vector<int64_t>{2, 3}));
}

TEST(JsonNumber, WhatIsNotOneIsShown) {
  EXPECT_EQ(error_of("1e300"), "f: step is 1e+300, a whole number was expected");
  EXPECT_EQ(error_of("1.0"), "f: step is 1.0, a whole number was expected");
  EXPECT_EQ(error_of("9223372036854775808"), "f: step is 9223372036854775808, a whole number was expected");
  EXPECT_EQ(error_of("\"5\""), "f: step is \"5\", a whole number was expected");
  EXPECT_EQ(error_of("null"), "f: step is null, a whole number was expected");
  EXPECT_EQ(error_of("[1]"), "f: step is array, a whole number was expected");
  EXPECT_EQ(input_error([] { json_integers(nlohmann::json::parse("{}"), "f"); }),
            "f is object, a list of whole numbers was expected");
  EXPECT_EQ(input_error([] { json_integers(nlohmann::json::parse("[1, 2.5]"), "f"); }),
            "f is 2.5, a whole number was expected");
}

}  // namespace
}  // namespace segre::json_number_test
