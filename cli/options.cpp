#include "cli/options.h"

#include "cli/ranks.h"
#include "segre/core/device.h"
#include "segre/core/error.h"

namespace segre::cli {

void add_device_option(CLI::App& command, std::string& value) {
  command.add_option("--device", value, "cpu, cuda or cuda:N");
}

LoadedRun load_named(const std::string& run, const std::string& device, const std::string& checkpoint,
                     NetPrecision precision) {
  return load_run(run, parse_device(device, "--device"), parse_checkpoint(checkpoint), precision);
}

LoadedRun load_named(const std::shared_ptr<Ranks>& ranks, const std::string& run, const std::string& device,
                     const std::string& checkpoint, NetPrecision precision) {
  LoadedRun loaded = load_named(run, device_of_rank(device), checkpoint, precision);
  const auto step = torch::full({1}, loaded.step, torch::kInt64);
  ranks->broadcast(step);
  if (step.item<int64_t>() != loaded.step)
    fail(run, ": rank ", ranks->rank(), " loaded step ", loaded.step, ", rank 0 step ", step.item<int64_t>(),
         "; the run is being written: try again");
  loaded.ranks = ranks;
  return loaded;
}

void require_data(const Request& request) {
  if (request.config.empty() && request.data.empty())
    fail_input(
        "nothing to learn: give --data SOURCE, or a CONFIG with data.source; 'segre train --data coupled --out run' is "
        "an example");
}

void add_checkpoint_option(CLI::App& command, std::string& value) {
  command.add_option(
      "--checkpoint", value,
      "checkpoint of the run: last, or best by validation loss; default: set by the run's watch.use_best");
}

Checkpoint parse_checkpoint(const std::string& value) {
  if (value.empty()) return Checkpoint::chosen;
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
