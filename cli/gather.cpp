#include "cli/gather.h"

#include "segre/core/error.h"

namespace segre::cli {

Gathered gather_experiment(const std::string& config, const std::string& data, const std::vector<std::string>& set) {
  Gathered out;
  if (!config.empty()) schema_of(out.experiment).read_file(config);
  const auto take_overrides = [&] {
    auto schema = schema_of(out.experiment);
    if (!data.empty()) out.experiment.data = data;
    for (const auto& assignment : set) schema.set(assignment);
  };
  take_overrides();
  if (out.experiment.data.empty())
    fail_input(
        "nothing to learn: give --data SOURCE, or a CONFIG with data.source; 'segre train --data coupled --out run' is "
        "an example");
  out.source = open_source(out.experiment.data);
  if (config.empty()) {
    out.experiment = recipe_for(out.source->space(), out.source->n_items());
    take_overrides();
  }
  return out;
}

void add_checkpoint_option(CLI::App& command, std::string& value) {
  command.add_option("--checkpoint", value, "which one of the run: last, or best by validation loss");
}

Checkpoint parse_checkpoint(const std::string& value) {
  if (value == "last") return Checkpoint::last;
  if (value == "best") return Checkpoint::best;
  fail_input("--checkpoint ", value, ": expected last or best");
}

uint64_t parse_seed(const std::string& text) {
  Experiment experiment;
  schema_of(experiment).set("seed=" + text, "--seed");
  return static_cast<uint64_t>(experiment.seed);
}

NetPrecision parse_precision(const std::string& text) {
  return choose<NetPrecision>(
      "--precision", text,
      {{"auto", NetPrecision::automatic}, {"float32", NetPrecision::float32}, {"bfloat16", NetPrecision::bfloat16}});
}

}  // namespace segre::cli
