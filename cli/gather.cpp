#include "cli/gather.h"

#include "segre/core/error.h"
#include "segre/experiment/recipe.h"

namespace segre::cli {

namespace {

void apply(const std::string& data, const std::vector<std::string>& set, Experiment& experiment) {
  auto schema = schema_of(experiment);
  if (!data.empty()) experiment.data = data;
  for (const auto& assignment : set) schema.set(assignment);
}

}  // namespace

Experiment changed_experiment(Experiment base, const std::string& data, const std::vector<std::string>& set) {
  apply(data, set, base);
  if (base.data.empty())
    fail_input(
        "nothing to learn: give --data SOURCE, or a CONFIG with data.source; 'segre train --data coupled --out run' is "
        "an example");
  return base;
}

Gathered gather_experiment(const std::string& config, const std::string& data, const std::vector<std::string>& set,
                           torch::Device device, double max_seconds) {
  Experiment base;
  if (!config.empty()) schema_of(base).read_file(config);
  Gathered out{changed_experiment(base, data, set), nullptr};
  out.source = open_source(out.experiment.data);
  if (config.empty()) {
    out.experiment = max_seconds > 0.0 ? fit_recipe(*out.source, device, max_seconds)
                                       : recipe_for(out.source->space(), out.source->n_items(), device);
    apply(data, set, out.experiment);
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

void require_used(const CLI::App& command, const std::string& option, bool used, const std::string& chosen) {
  if (!used && command.count(option) > 0) fail_input(option, " is not used with ", chosen);
}

NetPrecision parse_precision(const std::string& text) {
  return choose<NetPrecision>(
      "--precision", text,
      {{"auto", NetPrecision::automatic}, {"float32", NetPrecision::float32}, {"bfloat16", NetPrecision::bfloat16}});
}

}  // namespace segre::cli
