#include <iomanip>
#include <iostream>

#include "cli/commands.h"
#include "cli/inspect.h"
#include "segre/core/error.h"
#include "segre/core/memory.h"
#include "segre/core/progress.h"
#include "segre/io/output.h"
#include "segre/read/public_data.h"
#include "segre/sources/source_kinds.h"

namespace segre::cli {
namespace {

struct FetchArguments {
  std::string name;
  std::string to;
  std::string mirror;
};

void fetch(const FetchArguments& arguments) {
  const PublicData& data = public_data(arguments.name);
  const OutputFolder out("--to", arguments.to.empty() ? "data/" + data.name : arguments.to);
  const std::string folder = out.path().string();
  for (FetchFile file : data.files) {
    if (!arguments.mirror.empty())
      file.mirrors = {arguments.mirror + (arguments.mirror.ends_with('/') ? "" : "/") + file.name};
    const bool fetched =
        with_progress([&](const WorkCallbacks& callbacks) { return fetch_file(file, folder, callbacks); });
    std::cerr << folder << "/" << file.name << ": " << format_bytes(file.bytes)
              << (fetched ? ", checksum OK\n" : ", already exists, checksum OK\n");
  }
  std::string source = data.source;
  source.replace(source.find('%'), 1, folder);
  std::cerr << "next: segre data inspect '" << source << "'\n";
}

void add_fetch(CLI::App& data) {
  auto* command = data.add_subcommand("fetch", "Download a public data set and check its SHA-256");
  auto arguments = std::make_shared<FetchArguments>();
  command->add_option("NAME", arguments->name, "mnist or omniglot")->required();
  command->add_option("--to", arguments->to, "folder for the files (data/NAME)");
  command->add_option("--mirror", arguments->mirror, "URL of a folder to download the files from instead");
  command->footer("Example: segre data fetch mnist --to data/mnist");
  command->callback([arguments] { fetch(*arguments); });
}

void add_inspect(CLI::App& data) {
  auto* command = data.add_subcommand("inspect", "Describe a source and suggest a config");
  auto arguments = std::make_shared<InspectArguments>();
  command->add_option("SOURCE", arguments->source, "such as csv:FILE, idx:FILE, png:DIR, glyphs")->required();
  command->add_option("--preview", arguments->preview, "FILE.png for a picture of the first 64 images");
  command->add_option("--config", arguments->config, "FILE.toml for a config to start from");
  command->add_option("--out", arguments->out, "folder for preview.png and config.toml");
  command
      ->add_option(
          "--items", arguments->items,
          "examine the first N items; 0: all; default: all if they are in memory, else 100,000, or 1,000 of an "
          "endless source")
      ->check(CLI::Range(int64_t{0}, kMost));
  command->add_flag("--json", arguments->json, "print the report as JSON");
  command->footer("Example: segre data inspect 'glyphs?pad=2' --preview glyphs.png --config glyphs.toml");
  command->callback([arguments] { inspect(*arguments); });
}

// Every kind of source with its options, for the help.
std::string list_sources() {
  std::ostringstream out;
  out << "Sources, for configs and the command line; options follow a question mark, as in "
         "idx:FILE?pad=2&limit=9:\n";
  for (const SourceKind& kind : source_kinds()) {
    out << "  " << std::left << std::setw(16) << kind.usage() << kind.help << '\n';
    for (const SourceOption& option : kind.options)
      out << "      " << std::setw(12) << option.name << option.help << '\n';
  }
  out << "Example: segre data inspect streets";
  return out.str();
}

}  // namespace

void add_data(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("data", "Inspect or download data");
  command->require_subcommand(1);
  add_inspect(*command);
  add_fetch(*command);
  command->footer(list_sources());
}

}  // namespace segre::cli
