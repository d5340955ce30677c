#include <ATen/Version.h>
#include <torch/version.h>
#ifdef SEGRE_CUDA
#include <torch/cuda.h>
#endif

#include <filesystem>
#include <iostream>

#include "cli/commands.h"
#include "segre/core/error.h"
#include "segre/core/memory.h"
#include "segre/core/parallel.h"
#include "segre/core/version.h"
#include "segre/experiment/experiment.h"

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

}  // namespace

void add_doctor(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("doctor", "Show what segre finds on this machine");
  command->footer("Example: segre doctor");
  command->callback([] {
    std::cout << "segre      " << release() << " (" << revision() << ")\n"
              << "torch      " << TORCH_VERSION << "\n"
              << "cuda       " << describe_cuda() << "\n"
              << "threads    " << n_threads() << "\n"
              << "isa        " << at::get_cpu_capability() << "\n"
              << "memory     " << format_bytes(available_memory(torch::kCPU)) << " free\n"
              << "plotly.js  " << describe_plotly() << "\n";
  });
}

void add_version(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("version", "Print release and revision");
  command->footer("Example: segre version");
  command->callback(
      [] { std::cout << "segre " << release() << " (" << revision() << "), torch " << TORCH_VERSION << '\n'; });
}

}  // namespace segre::cli
