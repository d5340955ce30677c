#include "segre/config/schema.h"

// toml++ 3.3 asserts properties that malformed files violate ("[=" has no key), and lets the optimiser assume them when
// assertions are off. Here a failed assertion rejects the file.
struct TomlAssertion {};
[[noreturn]] static void refuse_toml() { throw TomlAssertion(); }
#define TOML_ASSERT(expression) ((expression) ? void() : refuse_toml())
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <sstream>

#include "segre/core/error.h"
#include "segre/core/text.h"
#include "segre/io/files.h"

namespace segre {

struct ConfigSchema::Value {
  const toml::node& node;
};

namespace {

std::string print_number(double value) {
  // The fewest digits that read back as the same number, with a point so that TOML sees a float.
  for (int digits = 1; digits <= 17; ++digits) {
    std::ostringstream out;
    out.precision(digits);
    out << value;
    if (std::strtod(out.str().c_str(), nullptr) == value) {
      const std::string text = out.str();
      return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
    }
  }
  return std::to_string(value);
}

std::string print_bound(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

std::string describe(const Range& range, const std::string& kind) {
  if (std::isinf(range.low) && std::isinf(range.high)) return kind;
  if (std::isinf(range.high)) return kind + ", at least " + print_bound(range.low);
  return kind + " from " + print_bound(range.low) + " to " + print_bound(range.high);
}

std::string describe(Later later) {
  if (later == Later::free) return "; may change on resume";
  return later == Later::contents ? "; may change on resume if the contents are the same" : "";
}

bool within(double value, const Range& range) { return value >= range.low && value <= range.high; }

// A TOML basic string; control characters are escaped.
std::string quote(const std::string& text) {
  std::ostringstream out;
  out << '"';
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out << "\\u" << std::hex << std::setw(4) << std::setfill('0') << static_cast<int>(c);
    } else {
      out << (c == '"' || c == '\\' ? "\\" : "") << c;
    }
  }
  out << '"';
  return out.str();
}

std::string print_node(const toml::node& node) {
  std::ostringstream out;
  node.visit([&](const auto& typed) { out << typed; });
  // Long lists and texts print on several lines; a message must be one line.
  std::string text = out.str();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

constexpr int64_t kMostKeyParts = 16;

// Scans TOML before it is parsed, outside strings and comments, for input that the parser does not handle safely:
//  - Each part of a dotted key is a table inside the previous one, built and destroyed recursively. The parser limits
//    the depth of values but not of keys, so a hostile file could exhaust the stack.
//  - toml++ 3.3 looks for spaces among the non-ASCII characters after a value, and cannot classify most of them
//    ("seed = 1é"). TOML allows none there.
class TomlGuard {
 public:
  TomlGuard(const std::string& toml, const std::string& name) : toml_(toml), name_(name) {}

  void check() {
    while (at_ < toml_.size()) {
      const char c = toml_[at_];
      if ((c == '"' || c == '\'') && may_begin_text()) {
        skip_text(c);
        before_ = c;
      } else if (c == '#') {
        at_ = std::min(toml_.find('\n', at_), toml_.size());
      } else {
        check_outside(c);
        if (c != ' ' && c != '\t' && c != '\r' && !is_byte_order_mark()) before_ = c;
        ++at_;
      }
    }
  }

 private:
  // A quotation mark after anything else is part of it and does not open a string.
  bool may_begin_text() const { return std::string_view("\n=,[{.").find(before_) != std::string_view::npos; }

  void check_outside(char c) {
    if (c == '\n') {
      ++line_;
      dots_ = 0;
    } else if (c == '.' && ++dots_ > kMostKeyParts) {
      fail_input(name_, ":", line_, ": more than ", kMostKeyParts, " dots outside strings; no key has that many parts");
    } else if (static_cast<unsigned char>(c) >= 0x80 && !is_byte_order_mark()) {
      fail_input(name_, ":", line_, ": not valid TOML: non-ASCII characters must be inside quotes");
    }
  }

  // The mark that some editors write at the start of a file.
  bool is_byte_order_mark() const { return at_ < 3 && toml_.starts_with("\xef\xbb\xbf"); }

  // Skips from a quotation mark past the closing one; triple quotes span several lines. An unclosed string ends with
  // its line.
  void skip_text(char mark) {
    const std::string three(3, mark);
    const bool is_long = toml_.compare(at_, 3, three) == 0;
    for (at_ += is_long ? 3 : 1; at_ < toml_.size(); ++at_) {
      if (toml_[at_] == '\n') {
        if (!is_long) return;
        ++line_;
      } else if (toml_[at_] == '\\' && mark == '"' && at_ + 1 < toml_.size() && toml_[at_ + 1] != '\n') {
        ++at_;
      } else if (is_long ? toml_.compare(at_, 3, three) == 0 : toml_[at_] == mark) {
        at_ += is_long ? 3 : 1;
        return;
      }
    }
  }

  const std::string& toml_;
  const std::string& name_;
  size_t at_ = 0;
  char before_ = '\n';  // the last non-blank character
  int64_t line_ = 1;
  int64_t dots_ = 0;
};

}  // namespace

void ConfigSchema::integer(const std::string& key, int64_t* target, Range range, Later later, const std::string& help) {
  keys_.push_back({key, later, help, describe(range, "a whole number"),
                   [=](const Value& value) {
                     const auto number = value.node.value_exact<int64_t>();
                     if (!number || !within(static_cast<double>(*number), range)) return false;
                     *target = *number;
                     return true;
                   },
                   [=] { return std::to_string(*target); }});
}

void ConfigSchema::number(const std::string& key, double* target, Range range, Later later, const std::string& help) {
  keys_.push_back({key, later, help, describe(range, "a number"),
                   [=](const Value& value) {
                     // Rejects other types, and integers that a float64 cannot represent.
                     const auto number = value.node.is_number() ? value.node.value<double>() : std::nullopt;
                     if (!number || !within(*number, range)) return false;
                     *target = *number;
                     return true;
                   },
                   [=] { return print_number(*target); }});
}

void ConfigSchema::flag(const std::string& key, bool* target, Later later, const std::string& help) {
  keys_.push_back({key, later, help, "true or false",
                   [=](const Value& value) {
                     const auto found = value.node.value_exact<bool>();
                     if (found) *target = *found;
                     return found.has_value();
                   },
                   [=] { return std::string(*target ? "true" : "false"); }});
}

void ConfigSchema::text(const std::string& key, std::string* target, Later later, const std::string& help) {
  keys_.push_back({key, later, help, "a text in quotes",
                   [=](const Value& value) {
                     const auto found = value.node.value_exact<std::string>();
                     if (found) *target = *found;
                     return found.has_value();
                   },
                   [=] { return quote(*target); }});
}

void ConfigSchema::integers(const std::string& key, std::vector<int64_t>* target, Range range, Later later,
                            const std::string& help) {
  keys_.push_back({key, later, help, "a list of whole numbers, each " + describe(range, "one"),
                   [=](const Value& value) {
                     const auto* array = value.node.as_array();
                     if (array == nullptr) return false;
                     std::vector<int64_t> found;
                     for (const auto& element : *array) {
                       const auto number = element.value_exact<int64_t>();
                       if (!number || !within(static_cast<double>(*number), range)) return false;
                       found.push_back(*number);
                     }
                     *target = std::move(found);
                     return true;
                   },
                   [=] {
                     std::string out = "[";
                     for (const int64_t number : *target) out += (out.size() > 1 ? ", " : "") + std::to_string(number);
                     return out + "]";
                   }});
}

void ConfigSchema::choice_by_index(const std::string& key, const std::vector<std::string>& names, Later later,
                                   const std::string& help, const std::function<void(size_t)>& assign,
                                   const std::function<size_t()>& current) {
  std::string expected = "one of ";
  for (const auto& name : names) expected += (name == names.front() ? "" : ", ") + quote(name);
  keys_.push_back({key, later, help, expected,
                   [=](const Value& value) {
                     const auto found = value.node.value_exact<std::string>();
                     const auto at = found ? std::find(names.begin(), names.end(), *found) : names.end();
                     if (at == names.end()) return false;
                     assign(static_cast<size_t>(at - names.begin()));
                     return true;
                   },
                   [=] { return quote(names[current()]); }});
}

std::string ConfigSchema::nearest(const std::string& key) const {
  std::vector<std::string> names;
  for (const Key& known : keys_) names.push_back(known.name);
  return segre::nearest(key, names);
}

void ConfigSchema::assign(const std::string& key, const Value& value, const std::string& place) {
  const auto at = std::find_if(keys_.begin(), keys_.end(), [&](const Key& candidate) { return candidate.name == key; });
  if (at == keys_.end()) fail_input(place, ": unknown key ", key, "; the nearest known key is ", nearest(key));
  if (!at->assign(value)) fail_input(place, ": ", key, " = ", print_node(value.node), ": expected ", at->expected);
}

void ConfigSchema::read_table(const void* table, const std::string& prefix, const std::string& name) {
  for (const auto& [key, node] : *static_cast<const toml::table*>(table)) {
    const std::string full = prefix + std::string(key.str());
    if (const auto* nested = node.as_table()) {
      if (std::count(full.begin(), full.end(), '.') > kMostKeyParts)
        fail_input(name, ":", key.source().begin.line, ": unknown key ", full, "; the nearest known key is ",
                   nearest(full));
      // Keys inside are looked up one by one; an empty table must at least be one of ours.
      const auto is_ours = [&](const Key& known) { return known.name.starts_with(full + "."); };
      if (nested->empty() && std::none_of(keys_.begin(), keys_.end(), is_ours))
        fail_input(name, ":", key.source().begin.line, ": unknown key ", full, "; the nearest known key is ",
                   nearest(full));
      read_table(nested, full + ".", name);
    } else {
      assign(full, Value{node}, concat(name, ":", key.source().begin.line));
    }
  }
}

void ConfigSchema::read_text(const std::string& toml, const std::string& name) {
  TomlGuard(toml, name).check();
  try {
    const toml::table table = toml::parse(toml, name);
    read_table(&table, "", name);
  } catch (const toml::parse_error& error) {
    fail_input(name, ":", error.source().begin.line, ": not valid TOML: ", error.description());
  } catch (const TomlAssertion&) {
    fail_input(name, ": not valid TOML: a key or table name was expected after a bracket or dot");
  }
}

void ConfigSchema::read_file(const std::filesystem::path& path) { read_text(segre::read_file(path), path.string()); }

std::string ConfigSchema::set(const std::string& assignment, const std::string& option) {
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) fail_input(option, " ", assignment, ": expected key=value");
  std::string key = assignment.substr(0, equals);
  key.erase(key.find_last_not_of(' ') + 1);
  const std::string value = assignment.substr(equals + 1);
  toml::table table;
  try {
    TomlGuard(value, option).check();
    table = toml::parse("value = " + value);
  } catch (const toml::parse_error&) {
    table.clear();
  } catch (const InputError&) {
    table.clear();
  } catch (const TomlAssertion&) {
    table.clear();
  }
  // A bare word; or several lines of TOML, of which all but the first would be ignored.
  if (table.size() != 1 || !table.contains("value")) table = toml::table{{"value", value}};
  assign(key, Value{*table.get("value")}, option);
  return key;
}

std::vector<ConfigSchema::Difference> ConfigSchema::differences(const ConfigSchema& other) const {
  std::vector<Difference> found;
  for (size_t k = 0; k < keys_.size(); ++k) {
    const Difference both{keys_[k].name, keys_[k].later, keys_[k].print(), other.keys_[k].print()};
    if (both.value != both.other) found.push_back(both);
  }
  return found;
}

std::string ConfigSchema::to_toml(bool with_help) const {
  std::string out;
  std::string table;
  for (const Key& key : keys_) {
    const size_t dot = key.name.rfind('.');
    const std::string head = dot == std::string::npos ? "" : key.name.substr(0, dot);
    if (head != table) {
      out += concat(out.empty() ? "" : "\n", "[", head, "]\n");
      table = head;
    }
    if (with_help) out += concat("# ", key.help, " (", key.expected, describe(key.later), ")\n");
    out += concat(dot == std::string::npos ? key.name : key.name.substr(dot + 1), " = ", key.print(), "\n");
  }
  return out;
}

}  // namespace segre
