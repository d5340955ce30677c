#include "cli/trace_options.h"

#include "cli/commands.h"
#include "cli/options.h"
#include "segre/core/error.h"
#include "segre/space/bins.h"

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

void add_mass_option(CLI::App& command, std::string& mass) {
  command.add_option("--mass", mass,
                     "ball: share of the proposal's normal distributions inside the balls of all variables together "
                     "(0.8); 0.8:each is that of every variable, as the paper prints it");
}

BallMass parse_mass(const std::string& text) {
  constexpr std::string_view kEach = ":each";
  const bool each = text.ends_with(kEach);
  const std::string number = each ? text.substr(0, text.size() - kEach.size()) : text;
  const auto share = parse_number(number);
  if (!share || !(*share > 0.0 && *share < 1.0))
    fail_input("--mass ", text, ": expected a share between 0 and 1, such as 0.8 or 0.8:each");
  return {.share = *share, .each = each};
}

ProposalKind parse_proposal(const std::string& text) {
  return choose<ProposalKind>("--bound", text, {{"path", ProposalKind::path}, {"ball", ProposalKind::ball}});
}

}  // namespace segre::cli
