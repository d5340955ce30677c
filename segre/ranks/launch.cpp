#include "segre/ranks/launch.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "segre/core/error.h"

namespace segre {
namespace {

constexpr int kMostRanks = 1'000'000;
constexpr uint16_t kFirstPort = 20000;  // ports derived from a job's name are kFirstPort ... kFirstPort + kPorts - 1
constexpr uint32_t kPorts = 20000;

int64_t integer(const Environment& variables, const std::string& name, int64_t least, int64_t most) {
  const auto text = variables(name);
  if (!text) fail_input("the environment variable ", name, " is not set; a launcher sets it together with the others");
  int64_t value = 0;
  const auto [end, trouble] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (trouble != std::errc() || end != text->data() + text->size() || value < least || value > most)
    fail_input("the environment variable ", name, " is '", *text, "', a number from ", least, " to ", most,
               " was expected");
  return value;
}

int64_t integer_or(const Environment& variables, const std::string& name, int64_t least, int64_t most, int64_t other) {
  return variables(name) ? integer(variables, name, least, most) : other;
}

// Processes of one job agree on a port without talking; jobs at the same time rarely choose the same.
uint16_t port_of(const std::string& job) {
  uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : job) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619U;
  return static_cast<uint16_t>(kFirstPort + hash % kPorts);
}

// The first of "node[07-12,15]-ib,other3": node07-ib.
std::string first_host(const std::string& list) {
  const size_t bracket = list.find('[');
  const size_t comma = list.find(',');
  if (bracket == std::string::npos || comma < bracket) return list.substr(0, comma);
  const size_t end = list.find_first_of(",-]", bracket);
  const size_t close = std::min(list.find(']', bracket), list.size() - 1);
  const std::string suffix = list.substr(close + 1, list.find(',', close) - close - 1);
  return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1) + suffix;
}

// The names under which a launcher gives rank, size, local rank and local size.
struct Names {
  const char* launcher;
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
};
// srun's own variables are those of a step: a batch script, which is not started by srun, has the others too.
constexpr Names kTorchrun{"environment", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
constexpr Names kSrun{"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"};
constexpr Names kOpenMpi{"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                         "OMPI_COMM_WORLD_LOCAL_SIZE"};
constexpr Names kMpich{"mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};

void set_place(Launch& launch, const Environment& variables, const Names& names) {
  if (const auto address = variables("MASTER_ADDR")) {
    launch.address = *address;
    launch.port = static_cast<uint16_t>(integer(variables, "MASTER_PORT", 1, 65535));
    return;
  }
  const auto given_port = integer_or(variables, "MASTER_PORT", 1, 65535, 0);
  if (launch.launcher == std::string("srun")) {
    launch.address = first_host(variables("SLURM_STEP_NODELIST").value_or("127.0.0.1"));
    const std::string step = variables("SLURM_STEP_ID").value_or("0");
    launch.port = port_of(variables("SLURM_JOB_ID").value_or("") + "." + step);
  } else if (launch.local_size == launch.size) {
    launch.address = "127.0.0.1";
    launch.port = port_of(variables("PMIX_NAMESPACE").value_or(variables("PMI_ID").value_or("segre")));
  } else {
    fail_input("the environment variable MASTER_ADDR is not set: ", names.rank, " comes from ", launch.launcher,
               ", which does not set where ranks on several machines meet; set MASTER_ADDR and MASTER_PORT");
  }
  if (given_port > 0) launch.port = static_cast<uint16_t>(given_port);
}

Launch launch_by(const Names& names, const Environment& variables) {
  Launch launch{};
  launch.launcher = names.launcher;
  launch.size = static_cast<int>(integer(variables, names.size, 1, kMostRanks));
  launch.rank = static_cast<int>(integer(variables, names.rank, 0, launch.size - 1));
  launch.local_rank = static_cast<int>(integer_or(variables, names.local_rank, 0, kMostRanks, launch.rank));
  const bool is_number = names.launcher != kSrun.launcher;  // srun writes "2(x3)"
  launch.local_size = is_number ? static_cast<int>(integer_or(variables, names.local_size, 1, kMostRanks, 0)) : 0;
  if (launch.size == 1 && !variables("MASTER_ADDR")) return launch;
  set_place(launch, variables, names);
  return launch;
}

}  // namespace

std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::optional<Launch> find_launch(const Environment& variables) {
  std::optional<Launch> found;
  if (variables("RANK") && variables("WORLD_SIZE")) {
    found = launch_by(kTorchrun, variables);
    found->agent_listens = variables("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True";
    found->attempt = variables("TORCHELASTIC_RESTART_COUNT").value_or("");
    if (variables("TORCHELASTIC_RUN_ID")) found->launcher = "torchrun";
  } else if (variables(kSrun.size)) {
    found = launch_by(kSrun, variables);
  } else if (variables(kOpenMpi.size)) {
    found = launch_by(kOpenMpi, variables);
  } else if (variables(kMpich.size)) {
    found = launch_by(kMpich, variables);
  }
  return found;
}

}  // namespace segre
