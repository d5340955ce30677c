#include "segre/core/json_number.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "segre/core/error.h"

namespace segre {
namespace {

// As JSON text; invalid UTF-8 is replaced.
std::string shown(const nlohmann::json& value) {
  return value.is_structured() ? value.type_name()
                               : value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

int64_t json_integer(const nlohmann::json& value, const std::string& what) {
  constexpr auto kLargest = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  const bool fits = value.is_number_integer() && (!value.is_number_unsigned() || value.get<uint64_t>() <= kLargest);
  if (!fits) fail_input(what, " is ", shown(value), ", a whole number was expected");
  return value.get<int64_t>();
}

std::vector<int64_t> json_integers(const nlohmann::json& value, const std::string& what) {
  if (!value.is_array()) fail_input(what, " is ", shown(value), ", a list of whole numbers was expected");
  std::vector<int64_t> numbers;
  for (const auto& element : value) numbers.push_back(json_integer(element, what));
  return numbers;
}

}  // namespace segre
