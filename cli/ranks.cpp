#include "cli/ranks.h"

#ifdef SEGRE_CUDA
#include <torch/cuda.h>
#endif

#include <algorithm>
#include <iostream>

#include "segre/core/error.h"
#include "segre/core/log.h"
#include "segre/core/parallel.h"
#include "segre/ranks/join.h"

namespace segre::cli {
namespace {

// Commands that share their work between ranks, or describe them.
constexpr const char* kOverRanks[] = {"train",    "sample", "complete", "predict", "likelihood",
                                      "outliers", "ood",    "evaluate", "doctor"};

// Discards everything written to it.
class Nowhere final : public std::streambuf {
 protected:
  int_type overflow(int_type c) override { return traits_type::not_eof(c); }
  std::streamsize xsputn(const char*, std::streamsize count) override { return count; }
};

// Drops what this program prints while alive, and what it logs from now on.
class Silence {
 public:
  Silence() : out_(std::cout.rdbuf(&nowhere_)), err_(std::cerr.rdbuf(&nowhere_)) {
    send_log_to(nullptr, /*redraws=*/false);
  }
  ~Silence() {
    std::cout.rdbuf(out_);
    std::cerr.rdbuf(err_);
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  Nowhere nowhere_;
  std::streambuf* out_;
  std::streambuf* err_;
};

void require_alone(const std::string& command) {
  const auto launch = find_launch();
  if (!launch || launch->size == 1) return;
  const std::string started = launch->launcher == "environment" ? "WORLD_SIZE sets" : launch->launcher + " started";
  fail_input("segre ", command, " works alone: ", started, " ", launch->size, " ranks; start it without a launcher");
}

}  // namespace

void over_ranks(const std::function<void(const std::shared_ptr<Ranks>& ranks)>& work) {
  const auto ranks = join_ranks();
  std::optional<Silence> silence;
  if (!ranks->is_first()) silence.emplace();
  work(ranks);
  ranks->leave();
}

void share_cores() {
  const auto launch = find_launch();
  if (!launch || launch->local_size < 2 || environment("OMP_NUM_THREADS")) return;
  set_threads(std::max(1, n_threads() / launch->local_size));
}

void refuse_ranks_where_alone(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    const std::string name = command->get_name();
    if (std::find(std::begin(kOverRanks), std::end(kOverRanks), name) != std::end(kOverRanks)) continue;
    command->preparse_callback([name](size_t) { require_alone(name); });
  }
}

std::string device_of_rank(const std::string& name) {
#ifdef SEGRE_CUDA
  const auto launch = find_launch();
  const auto n_gpus = static_cast<int>(torch::cuda::device_count());
  if (name == "cuda" && launch && launch->size > 1 && n_gpus > 0) return concat("cuda:", launch->local_rank % n_gpus);
#endif
  return name;
}

RanksOutput::RanksOutput(const Ranks& ranks, const std::string& option, const std::string& name) : name_(name) {
  if (ranks.is_first()) file_.emplace(option, name);
}

void RanksOutput::write(const std::function<void(std::ostream&)>& fill) {
  if (file_) return file_->write(fill);
  std::ostream nowhere(nullptr);
  fill(nowhere);
}

}  // namespace segre::cli
