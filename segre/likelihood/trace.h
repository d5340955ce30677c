#pragma once  // internal

#include "segre/flow/state_blocks.h"

namespace segre {

/// How the trace of the endpoint's Jacobian is computed.
enum class TraceKind {
  exact,       ///< a vector-Jacobian product for every direction of T0
  lattice,     ///< one for each residue class of a lattice of variables: exact for local Jacobians, else unbiased
  hutchinson,  ///< random signs on all directions at once: unbiased but noisy
};

struct TraceOptions {
  TraceKind kind = TraceKind::exact;
  int64_t stride = 8;  ///< of the lattice, along each axis of the variables
  int64_t probes = 1;  ///< independent draws of signs to average over (hutchinson, lattice)
};

/// tr dD/dv over T0 by products with probes: p^T J p summed over probes whose supports partition the directions of T0.
/// Random signs inside a probe make the products between different directions vanish on average; probes of a single
/// direction have none.
class Trace {
 public:
  Trace(Flow flow, const TraceOptions& options);

  bool is_exact() const { return options_.kind == TraceKind::exact; }
  /// Maximum number of vector-Jacobian products per row.
  int64_t n_products() const { return n_classes_ * options_.probes; }

  /// v [R, S] at one time -> [R] float64 on the device. `D` is the endpoint at v; each row's seed and `number`
  /// determine its signs.
  torch::Tensor operator()(const torch::Tensor& v, const torch::Tensor& D, double t, const std::vector<uint64_t>& seeds,
                           uint64_t number, const Known& known = {}) const;

 private:
  torch::Tensor exact(const torch::Tensor& v, const torch::Tensor& D, double t, const Known& known) const;
  torch::Tensor probed(const torch::Tensor& v, double t, const torch::Tensor& signs, const Known& known) const;
  torch::Tensor products(const torch::Tensor& v, double t, const Known& known, const torch::Tensor& rows,
                         const torch::Tensor& probes) const;

  Flow flow_;
  TraceOptions options_;
  int64_t n_classes_;
  torch::Tensor class_of_;  // [n_dims] int64: the probe of each direction, on the device
  StateBlocks products_;    // (state, probe) -> p^T J p
};

/// Maps coordinates in the orthonormal bases of the variables' tangent spaces to vectors of T0: [*, n_dims] -> [*, S].
torch::Tensor tangent_vectors(const Space& space, const torch::Tensor& coordinates);

/// The variable that each of the n_dims directions belongs to, [n_dims] int64 on the CPU.
torch::Tensor variable_of_direction(const Space& space);

/// Which probe each direction belongs to, [n_dims] int64, numbered from 0: all different (exact), the residue class of
/// its variable and its index within the variable (lattice), all 0 (hutchinson).
torch::Tensor probe_classes(const Space& space, const TraceOptions& options);

}  // namespace segre
