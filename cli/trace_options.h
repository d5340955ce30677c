#pragma once

#include <CLI/CLI.hpp>

#include "segre/likelihood/flow_bound.h"

namespace segre::cli {

/// Trace options of a command, as typed.
struct TraceArguments {
  std::string kind = "exact";
  int64_t stride = 8;
  int64_t probes = 1;
};

/// Adds --trace, --stride and --probes to a command, and reads their values.
void add_trace_options(CLI::App& command, TraceArguments& arguments);
TraceOptions trace_options(const TraceArguments& arguments);

/// InputError if --stride or --probes was given but the kind of trace does not use it.
void require_trace_options_used(const CLI::App& command, TraceKind kind);

/// Adds --mass, and reads its value: "0.8" of all balls together, "0.8:each" of each one.
void add_mass_option(CLI::App& command, std::string& mass);
BallMass parse_mass(const std::string& text);

/// "path" or "ball"; InputError names --bound otherwise.
ProposalKind parse_proposal(const std::string& text);

}  // namespace segre::cli
