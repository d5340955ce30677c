#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "segre/io/output.h"
#include "segre/ranks/ranks.h"

namespace segre::cli {

/// Does the work of a command as one of the ranks that a launcher started, or alone: joins the others, works, leaves.
/// Only rank 0 is heard: what the work of others prints or logs is dropped. If one fails, all end: see tell_failure.
void over_ranks(const std::function<void(const std::shared_ptr<Ranks>& ranks)>& work);

/// Gives each of several ranks of this machine its share of the cores, unless OMP_NUM_THREADS sets how many to use.
void share_cores();

/// Lets all commands that work alone refuse, with an InputError, to start as one of several ranks.
void refuse_ranks_where_alone(CLI::App& app);

/// The device that --device means here: "cuda" on one of several ranks is a GPU of its own, if the machine has as many.
std::string device_of_rank(const std::string& name);

/// A file that rank 0 writes, see OutputFile. Other ranks open nothing, and what they write is dropped.
class RanksOutput {
 public:
  RanksOutput(const Ranks& ranks, const std::string& option, const std::string& name);

  /// Lets `fill` write the contents.
  void write(const std::function<void(std::ostream&)>& fill);
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::optional<OutputFile> file_;
};

}  // namespace segre::cli
