#include "cli/json_output.h"

#include "segre/core/error.h"

namespace segre::cli {

void add_json_option(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "print the result as JSON; notes are part of it");
}

void require_out(const std::string& out, bool json) {
  if (out.empty() && !json) throw CLI::RequiredError("--out");
}

void refuse_out(const std::string& option, const std::string& name, bool json) {
  if (json && !name.empty()) fail_input(option, " and --json: give one of them");
}

void refuse_standard_output(const std::string& option, const std::string& name, bool json) {
  if (json && name == "-") fail_input(option, " -: --json prints the result there; give a file");
}

}  // namespace segre::cli
