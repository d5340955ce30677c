// TOML configs, --set assignments, and names of sources with their options; the first byte chooses.

#include "fuzz/samples.h"
#include "fuzz/support.h"
#include "segre/recipes/experiment.h"
#include "segre/sources/source_kinds.h"

namespace {

using namespace segre;

// Made once: the schema points at the experiment, which is reset for each input.
struct Config {
  Experiment experiment;
  ConfigSchema schema = schema_of(experiment);
};

// What was read prints as TOML that reads back the same.
void read_config(Config& config, const std::string& toml) {
  config.schema.read_text(toml, "config.toml");
  const std::string printed = config.schema.to_toml(/*with_help=*/false);
  config.experiment = Experiment();
  config.schema.read_text(printed, "printed.toml");
  fuzz::require(config.schema.to_toml(false) == printed, "a config survives being printed and read");
}

// Opens file sources on small valid files, with the options of the input.
void open_named(const std::string& text, fuzz::Folder& folder) {
  const SourceName name = parse_source_name(text);
  if (!name.has_target()) {
    if (name.kind() != "mixture" && name.kind() != "pinwheel") open_source(text);  // these take long to tabulate
    return;
  }
  const std::string options = text.substr(name.kind().size() + 1 + name.target().size());
  const std::string target = fuzz::sample_target(name.kind(), folder);
  if (!target.empty()) open_source(name.kind() + ":" + target + options);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::Folder folder;
  static Config config;
  static const bool one_thread = (at::set_num_threads(1), true);
  (void)one_thread;
  const auto chosen = fuzz::choose(data, size);
  config.experiment = Experiment();
  fuzz::survive([&] {
    switch (chosen.choice % 3) {
      case 0:
        return read_config(config, chosen.rest);
      case 1:
        return config.schema.set(chosen.rest);
      default:
        return open_named(chosen.rest, folder);
    }
  });
  return 0;
}
