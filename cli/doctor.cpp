#include <ATen/Version.h>
#include <torch/version.h>
#ifdef SEGRE_CUDA
#include <torch/cuda.h>
#endif

#include <unistd.h>

#include <filesystem>
#include <iomanip>
#include <iostream>

#include "cli/commands.h"
#include "cli/ranks.h"
#include "segre/core/error.h"
#include "segre/core/memory.h"
#include "segre/core/parallel.h"
#include "segre/core/version.h"
#include "segre/ranks/join.h"
#include "segre/recipes/experiment.h"

namespace segre::cli {
namespace {

std::string describe_cuda() {
#ifdef SEGRE_CUDA
  if (!torch::cuda::is_available()) return "built in, no usable GPU found";
  return concat("built in, ", static_cast<int>(torch::cuda::device_count()), " GPU(s)");
#else
  return "not in this build ('make build CUDA=1')";
#endif
}

std::string describe_plotly() {
  try {
    const std::filesystem::path file = std::filesystem::path(share_folder()) / "plotly.min.js";
    return std::filesystem::exists(file) ? file.string() : "missing: reports cannot be written; run 'make build'";
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::string describe_ranks(const Ranks& ranks) {
  if (!has_gloo()) return "not in this build: Gloo's headers were missing when it was configured (libgloo-dev)";
  if (!ranks.are_many()) return "possible: start segre with torchrun, srun or mpirun";
  return concat(ranks.size(), ", launcher ", find_launch()->launcher, ", engine Gloo");
}

// A line about this rank: where it is, and what it has there.
std::string describe_rank(const Ranks& ranks) {
  char host[256] = "unknown";
  ::gethostname(host, sizeof host - 1);
  const std::string device = device_of_rank("cuda");
  return concat("rank ", std::left, std::setw(6), ranks.rank(), host, ", process ", ::getpid(), ", local rank ",
                find_launch()->local_rank, "; cuda ", describe_cuda(), device == "cuda" ? "" : ", uses " + device, "; ",
                n_threads(), n_threads() == 1 ? " thread; torch " : " threads; torch ", TORCH_VERSION, "\n");
}

// The texts of all ranks, one after another.
std::string gather_text(Ranks& ranks, const std::string& text) {
  auto bytes = torch::empty({static_cast<int64_t>(text.size())}, torch::kUInt8);
  std::copy(text.begin(), text.end(), bytes.data_ptr<uint8_t>());
  const auto all = ranks.gather(bytes);
  return {all.data_ptr<uint8_t>(), all.data_ptr<uint8_t>() + all.numel()};
}

void doctor(Ranks& ranks) {
  std::cout << "segre      " << release() << " (" << revision() << ")\n"
            << "torch      " << TORCH_VERSION << "\n"
            << "cuda       " << describe_cuda() << "\n"
            << "threads    " << n_threads() << "\n"
            << "isa        " << at::get_cpu_capability() << "\n"
            << "memory     " << format_bytes(available_memory(torch::kCPU)) << " free\n"
            << "plotly.js  " << describe_plotly() << "\n"
            << "ranks      " << describe_ranks(ranks) << "\n";
  if (ranks.are_many()) std::cout << gather_text(ranks, describe_rank(ranks));
}

}  // namespace

void add_doctor(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("doctor", "Show what segre finds on this machine, or on those of all ranks");
  command->footer("Example: segre doctor");
  command->callback([] { over_ranks([](const auto& ranks) { doctor(*ranks); }); });
}

void add_version(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("version", "Print release and revision");
  command->footer("Example: segre version");
  command->callback(
      [] { std::cout << "segre " << release() << " (" << revision() << "), torch " << TORCH_VERSION << '\n'; });
}

}  // namespace segre::cli
