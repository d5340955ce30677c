#include <iostream>

#include "cli/commands.h"
#include "cli/options.h"
#include "segre/io/output.h"
#include "segre/runs/load_run.h"

namespace segre::cli {

void add_export(CLI::App& app, Context& /*context*/) {
  struct Arguments {
    std::string run;
    std::string out;
    std::string checkpoint{};
  };
  auto* command = app.add_subcommand("export", "Export what sampling and scoring need: the averaged weights");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("RUN", arguments->run, "directory that 'segre train' wrote")->required();
  command->add_option("--out", arguments->out, "directory for the model, itself a run")->required();
  add_checkpoint_option(*command, arguments->checkpoint);
  command->footer("Example: segre export runs/mnist --out models/mnist");
  command->callback([arguments] {
    const OutputFolder out("--out", arguments->out);
    export_run(arguments->run, out.path(), parse_checkpoint(arguments->checkpoint));
    std::cerr << "exported " << arguments->run << " to " << arguments->out << '\n';
  });
}

}  // namespace segre::cli
