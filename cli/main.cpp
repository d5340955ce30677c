// segre: the command line. One table of subcommands, one place that turns exceptions into exit codes:
// 0 success, 1 the run failed, 2 bad usage or input, 130 and 143 stopped by SIGINT and SIGTERM.

#include <fcntl.h>
#include <unistd.h>

#include <cctype>
#include <iostream>
#include <new>
#include <optional>

#include "cli/commands.h"
#include "cli/ranks.h"
#include "cli/set_option.h"
#include "segre/core/clock.h"
#include "segre/core/deadline.h"
#include "segre/core/error.h"
#include "segre/core/interrupt.h"
#include "segre/core/log.h"
#include "segre/core/parallel.h"
#include "segre/core/tuning.h"
#include "segre/ranks/join.h"

namespace segre::cli {

// Each is defined in the file of the same name; add_version is in doctor.cpp.
void add_demo(CLI::App& app, Context& context);
void add_data(CLI::App& app, Context& context);
void add_describe(CLI::App& app, Context& context);
void add_train(CLI::App& app, Context& context);
void add_sample(CLI::App& app, Context& context);
void add_samplers(CLI::App& app, Context& context);
void add_likelihood(CLI::App& app, Context& context);
void add_ood(CLI::App& app, Context& context);
void add_complete(CLI::App& app, Context& context);
void add_predict(CLI::App& app, Context& context);
void add_conditionals(CLI::App& app, Context& context);
void add_outliers(CLI::App& app, Context& context);
void add_evaluate(CLI::App& app, Context& context);
void add_convergence(CLI::App& app, Context& context);
void add_oracle(CLI::App& app, Context& context);
void add_export(CLI::App& app, Context& context);
void add_keys(CLI::App& app, Context& context);
void add_doctor(CLI::App& app, Context& context);
void add_version(CLI::App& app, Context& context);

}  // namespace segre::cli

namespace {

using segre::cli::AddCommand;

constexpr AddCommand kCommands[] = {
    segre::cli::add_demo,        segre::cli::add_data,     segre::cli::add_describe,     segre::cli::add_train,
    segre::cli::add_sample,      segre::cli::add_complete, segre::cli::add_predict,      segre::cli::add_samplers,
    segre::cli::add_likelihood,  segre::cli::add_ood,      segre::cli::add_outliers,     segre::cli::add_evaluate,
    segre::cli::add_convergence, segre::cli::add_oracle,   segre::cli::add_conditionals, segre::cli::add_export,
    segre::cli::add_keys,        segre::cli::add_doctor,   segre::cli::add_version,
};

constexpr int kRunFailed = 1;
constexpr int kBadInput = 2;
constexpr int kMostThreads = 1024;

// LibTorch's own errors carry a stack trace; the first line describes the error.
int report(const std::string& message, int code) {
  const std::string line = message.substr(0, message.find('\n'));
  // Only rank 0 and the first rank to fail print their message.
  if (segre::tell_failure(line) || segre::is_first_rank()) std::cerr << "segre: " << line << '\n';
  return code;
}

// Numbers are decimal: CLI11 alone would read 010 as 8 and 0x10 as 16, and accept nan in every range.
void require_decimal_numbers(CLI::App& app) {
  const auto rule = [](const char* characters, const char* expected) {
    return CLI::Validator(
        [=](std::string& text) {
          const size_t first = text.find_first_not_of("+-");
          const bool padded = first != std::string::npos && text[first] == '0' && first + 1 < text.size() &&
                              std::isdigit(static_cast<unsigned char>(text[first + 1])) != 0;
          if (!padded && text.find_first_not_of(characters) == std::string::npos) return std::string();
          return segre::concat(text, " is not ", expected);
        },
        "");
  };
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (type.starts_with("INT") || type.starts_with("UINT"))
      option->transform(rule("+-0123456789", "a whole number in decimal digits, such as 1000"));
    if (type.starts_with("FLOAT")) option->transform(rule("+-.eE0123456789", "a decimal number, such as 0.5 or 1e-3"));
  }
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) require_decimal_numbers(*command);
}

// --threads means the same for every command.
void add_threads(CLI::App& command) {
  const auto parts = command.get_subcommands([](CLI::App*) { return true; });
  for (CLI::App* part : parts) add_threads(*part);
  if (!parts.empty() || command.get_name() == "version") return;
  command
      .add_option_function<int>(
          "--threads", [](int count) { segre::set_threads(count); },
          segre::concat("CPU threads (", segre::n_threads(), "); results do not depend on it"))
      ->check(CLI::Range(1, kMostThreads));
}

// The limit that --max-time set, as typed, and its deadline.
struct TimeLimit {
  std::string text;
  std::optional<segre::DeadlineGuard> guard{};
};

// --max-time of the commands that can be long and have no such option of their own.
void add_max_time(CLI::App& app, TimeLimit& limit) {
  constexpr const char* kLong[] = {"sample",   "complete", "predict",     "samplers",     "likelihood", "ood",
                                   "outliers", "evaluate", "convergence", "conditionals", "oracle"};
  for (const char* name : kLong)
    app.get_subcommand(name)->add_option_function<std::string>(
        "--max-time",
        [&limit](const std::string& text) {
          limit.text = text;
          limit.guard.emplace(segre::parse_duration("--max-time", text));
        },
        "end within this time: 60s, 5m, 1h. Scores that are refined have larger errors then, and say so; anything else "
        "that is not done ends with an error and leaves nothing behind");
}

// A program may be started without standard streams (>&-). The next file opened would take their place and receive
// whatever is printed.
void fill_standard_streams() {
  for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number)
    if (::fcntl(number, F_GETFD) < 0) ::open("/dev/null", O_RDONLY);
}

int run(int argc, char** argv, TimeLimit& limit) {
  CLI::App app("Learns joint distributions of categorical variables, draws samples and estimates how likely data are.",
               "segre");
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "print help for all commands");
  segre::cli::Context context;
  for (int k = 0; k < argc; ++k) context.command_line += (k > 0 ? " " : "") + std::string(argv[k]);
  for (const AddCommand add : kCommands) add(app, context);
  segre::cli::share_cores();
  add_threads(app);
  add_max_time(app, limit);
  segre::cli::refuse_ranks_where_alone(app);
  require_decimal_numbers(app);
  try {
    app.parse(segre::cli::with_set_before_each(argc, argv));
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForAllHelp& help) {
    return app.exit(help);
  } catch (const CLI::RequiredError& error) {
    // CLI11 does not report which word is not a subcommand.
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
  fill_standard_streams();
  segre::end_cleanly_on_signals();
  segre::tune_process();
  segre::send_log_to(&std::cerr, /*redraws=*/::isatty(STDERR_FILENO) != 0);
  TimeLimit limit;
  try {
    const int code = run(argc, argv, limit);
    // Buffered output may still fail to reach a full disk or a closed pipe.
    if (!std::cout.flush()) segre::fail("writing to standard output failed");
    return code;
  } catch (const segre::cli::Stopped& stopped) {
    return segre::exit_code_of(stopped.signal);
  } catch (const segre::InputError& error) {
    return report(error.what(), kBadInput);
  } catch (const segre::DeadlineExceeded&) {
    return report("--max-time " + limit.text + ": not done by then; no file was written", kRunFailed);
  } catch (const std::bad_alloc&) {
    return report("not enough memory", kRunFailed);
  } catch (const std::exception& error) {
    return report(error.what(), kRunFailed);
  }
}
