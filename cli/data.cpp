#include <iomanip>
#include <iostream>

#include "cli/commands.h"
#include "cli/inspect.h"
#include "segre/core/error.h"
#include "segre/core/memory.h"
#include "segre/data/public_data.h"
#include "segre/data/source_kinds.h"
#include "segre/io/output.h"

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
    const bool fetched = fetch_file(file, folder);
    std::cerr << folder << "/" << file.name << ": " << format_bytes(file.bytes)
              << (fetched ? ", checksum right\n" : ", already there, checksum right\n");
  }
  std::string source = data.source;
  source.replace(source.find('%'), 1, folder);
  std::cerr << "now: segre data inspect '" << source << "'\n";
}

void add_fetch(CLI::App& data) {
  auto* command = data.add_subcommand("fetch", "Download a public data set, checked by its SHA-256");
  auto arguments = std::make_shared<FetchArguments>();
  command->add_option("NAME", arguments->name, "mnist or omniglot")->required();
  command->add_option("--to", arguments->to, "folder for the files (data/NAME unless given)");
  command->add_option("--mirror", arguments->mirror, "address of a folder to get the files from instead");
  command->footer("Example: segre data fetch mnist --to data/mnist");
  command->callback([arguments] { fetch(*arguments); });
}

void add_inspect(CLI::App& data) {
  auto* command = data.add_subcommand("inspect", "Show what a source holds, and a config to start from");
  auto arguments = std::make_shared<InspectArguments>();
  command->add_option("SOURCE", arguments->source, "such as csv:FILE, idx:FILE, png:DIR, glyphs")->required();
  command->add_option("--preview", arguments->preview, "FILE.png for a picture of the first 64 images");
  command->add_option("--config", arguments->config, "FILE.toml for a config to start from");
  command->add_option("--out", arguments->out, "folder for preview.png and config.toml");
  command
      ->add_option(
          "--items", arguments->items,
          "look at the first so many; 0: all; unless given: all that are in memory, else 100,000, and 1,000 of "
          "a source without end")
      ->check(CLI::Range(int64_t{0}, kMost));
  command->add_flag("--json", arguments->json, "print the report as JSON");
  command->footer("Example: segre data inspect 'glyphs?pad=2' --preview glyphs.png --config glyphs.toml");
  command->callback([arguments] { inspect(*arguments); });
}

// Every kind of source with its options, for the help.
std::string list_sources() {
  std::ostringstream out;
  out << "Sources, in configs and on the command line alike; options follow a question mark, as in "
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
  auto* command = app.add_subcommand("data", "Look at data, or download some");
  command->require_subcommand(1);
  add_inspect(*command);
  add_fetch(*command);
  command->footer(list_sources());
}

}  // namespace segre::cli
