#include "cli/set_option.h"

#include <algorithm>

#include "segre/core/error.h"

namespace segre::cli {
namespace {

// "train.steps=100": letters, digits, dots and underscores before the sign. Other words with a sign are paths.
bool is_assignment(const std::string& word) {
  const size_t sign = word.find('=');
  constexpr const char* kKey = "abcdefghijklmnopqrstuvwxyz_.0123456789";
  return sign != std::string::npos && sign > 0 && word.find_first_not_of(kKey) == sign;
}

}  // namespace

void add_set_option(CLI::App& command, std::vector<std::string>& set, const std::string& example) {
  command.add_option("--set", set, concat("override config keys: --set ", example, "; several may follow"))
      ->allow_extra_args(false);
}

std::vector<std::string> with_set_before_each(int argc, const char* const* argv) {
  std::vector<std::string> words;
  bool assigning = false;  // the preceding words are --set and assignments
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    const std::string before = k > 1 ? argv[k - 1] : "";
    if (before == "--set") {
      assigning = true;  // whatever it is, it is the value of --set
    } else if (assigning && is_assignment(word)) {
      words.push_back("--set");
    } else {
      assigning = word.starts_with("--set=");
    }
    if (word == "auto" && before == "--resume") {  // else the word after a flag is not its value
      words.back() += "=auto";
      continue;
    }
    words.push_back(word);
  }
  std::reverse(words.begin(), words.end());
  return words;
}

}  // namespace segre::cli
