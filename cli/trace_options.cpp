#include "cli/trace_options.h"

#include "cli/commands.h"
#include "cli/options.h"

namespace segre::cli {
namespace {

const std::vector<std::pair<std::string, TraceKind>> kTraces{
    {"exact", TraceKind::exact}, {"lattice", TraceKind::lattice}, {"hutchinson", TraceKind::hutchinson}};

}  // namespace

void add_trace_options(CLI::App& command, TraceArguments& arguments) {
  command.add_option("--trace", arguments.kind,
                     "path, ball: exact; lattice (probes of every stride-th variable, exact for local dependence); "
                     "hutchinson (one probe, large scatter)");
  command.add_option("--stride", arguments.stride, "stride of the lattice")->check(CLI::Range(int64_t{1}, kMost));
  command.add_option("--probes", arguments.probes, "random sign vectors to average over (lattice, hutchinson)")
      ->check(CLI::Range(int64_t{1}, kMost));
}

TraceOptions trace_options(const TraceArguments& arguments) {
  return {.kind = choose<TraceKind>("--trace", arguments.kind, kTraces),
          .stride = arguments.stride,
          .probes = arguments.probes};
}

void require_trace_options_used(const CLI::App& command, TraceKind kind) {
  std::string chosen;
  for (const auto& [name, meaning] : kTraces)
    if (meaning == kind) chosen = "--trace " + name;
  require_used(command, "--stride", kind == TraceKind::lattice, chosen);
  require_used(command, "--probes", kind != TraceKind::exact, chosen);
}

ProposalKind parse_proposal(const std::string& text) {
  return choose<ProposalKind>("--bound", text, {{"path", ProposalKind::path}, {"ball", ProposalKind::ball}});
}

}  // namespace segre::cli
