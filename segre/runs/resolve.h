#pragma once

#include <functional>

#include "segre/data/source.h"
#include "segre/runs/run_directory.h"

namespace segre {

/// A user's request: a config, a source and assignments that override it.
struct Request {
  std::string config{};  ///< TOML file with some keys or all; empty: none
  std::string data{};    ///< source instead of the config's, with its own validation; empty: the config's
  std::shared_ptr<DataSource> source{};  ///< `data`, if already open or only in memory
  bool own_network = false;              ///< the program brings its network (CustomField), so none is chosen
  std::vector<std::string> set{};        ///< "key=value"
  std::string set_called = "set";        ///< the user's option for assignments, for messages
  std::function<void(const std::string&)> tell = [](const std::string&) {};  ///< told why a recipe was chosen
  std::function<bool()> stop{};  ///< asked now and then while a recipe is chosen; true ends that with Interrupted
};

/// A fully resolved experiment and its data.
struct Resolved {
  Experiment experiment;
  std::shared_ptr<DataSource> source;  ///< the request's for a resumed run: if it has none, the run opens its data with
                                       ///< the labels of its checkpoint
};

/// The recipe for the data, changed by the config and by the rest. The recipe is that for the network that they name,
/// or chooses one; it depends on the device and, unless max_seconds is 0 or the config names the network, fits the
/// training into that time. InputError if there is nothing to learn.
Resolved resolve(const Request& request, torch::Device device, double max_seconds = 0.0);

/// The same for a resumed run: changes the run's config.toml, which may have been edited by hand, or the last
/// checkpoint if that file is gone. train_run rejects changes that would make it a different run.
Resolved resolve_resumed(const Request& request, const RunDirectory& run);

}  // namespace segre
