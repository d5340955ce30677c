#pragma once  // internal

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace segre {

/// What a launcher passes to a process about its place among the others.
struct Launch {
  int rank;
  int size;
  int local_rank;       ///< among the ranks of this machine
  int local_size;       ///< the number of those; 0: unknown
  std::string address;  ///< where the ranks meet
  uint16_t port;
  bool agent_listens;    ///< the launcher itself answers there (torchrun), not rank 0
  std::string attempt;   ///< differs between restarts by the same launcher
  std::string launcher;  ///< "torchrun", "srun", "mpirun" or "environment"
};

/// The value of an environment variable; nothing if unset or empty.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// The environment of this process.
std::optional<std::string> environment(const std::string& name);

/// Reads RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT (torchrun, or anything that sets them), else what
/// srun or mpirun (Open MPI, MPICH) set. Nothing if no launcher started this process. InputError names a variable that
/// is missing or wrong.
std::optional<Launch> find_launch(const Environment& variables = environment);

}  // namespace segre
