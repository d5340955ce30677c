// segre: the command line. One table of subcommands, one place that turns exceptions into exit codes:
// 0 all well, 1 the run failed, 2 bad usage or input.

#include <iostream>

#include "cli/commands.h"
#include "segre/core/error.h"
#include "segre/core/tuning.h"

namespace {

using segre::cli::AddCommand;

constexpr AddCommand kCommands[] = {
    segre::cli::add_demo,     segre::cli::add_data,        segre::cli::add_describe,   segre::cli::add_train,
    segre::cli::add_sample,   segre::cli::add_samplers,    segre::cli::add_likelihood, segre::cli::add_ood,
    segre::cli::add_evaluate, segre::cli::add_convergence, segre::cli::add_oracle,     segre::cli::add_export,
    segre::cli::add_keys,     segre::cli::add_doctor,      segre::cli::add_version,
};

constexpr int kRunFailed = 1;
constexpr int kBadInput = 2;

int report(const std::string& message, int code) {
  // LibTorch's own errors carry a stack trace; the first line says what happened.
  std::cerr << "segre: " << message.substr(0, message.find('\n')) << '\n';
  return code;
}

int run(int argc, char** argv) {
  CLI::App app(
      "Learns joint distributions of categorical variables, draws samples from them, says how likely data are.",
      "segre");
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "help of every command");
  segre::cli::Context context;
  for (int k = 0; k < argc; ++k) context.command_line += (k > 0 ? " " : "") + std::string(argv[k]);
  for (const AddCommand add : kCommands) add(app, context);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForAllHelp& help) {
    return app.exit(help);
  } catch (const CLI::RequiredError& error) {
    // CLI11 does not say which word it took for no subcommand.
    if (argc > 1 && app.get_subcommands().empty())
      return report(segre::concat("'", argv[1], "' is not a command; see 'segre --help'"), kBadInput);
    return report(std::string(error.what()) + "; see 'segre --help'", kBadInput);
  } catch (const CLI::ParseError& error) {
    return report(std::string(error.what()) + "; see 'segre --help'", kBadInput);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  segre::tune_process();
  try {
    return run(argc, argv);
  } catch (const segre::InputError& error) {
    return report(error.what(), kBadInput);
  } catch (const std::exception& error) {
    return report(error.what(), kRunFailed);
  }
}
