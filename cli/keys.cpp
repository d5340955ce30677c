#include <iostream>

#include "cli/commands.h"
#include "segre/recipes/experiment.h"

namespace segre::cli {

void add_keys(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("keys", "Print every config key with its default and meaning, as TOML");
  command->footer("Example: segre keys > my.toml");
  command->callback([] {
    Experiment experiment;
    std::cout
        << "# Every key of a segre config with its default, which suits joints of a few variables. For a key that a\n"
           "# config leaves out, the recipe for its data and network decides. Printed by 'segre keys'.\n\n"
        << schema_of(experiment).to_toml(/*with_help=*/true);
  });
}

}  // namespace segre::cli
