#pragma once

#include "segre/core/rng.h"
#include "segre/path/path.h"
#include "segre/path/state.h"

namespace segre {

/// One draw per item from the conditional path: exactly what an objective needs.
struct PathSample {
  torch::Tensor labels;     ///< [B, n]  the data beta
  torch::Tensor t;          ///< [B]     time, or [B, n]: one for each variable
  torch::Tensor weight;     ///< [B]     weight of the item in the objective; compensates for the law of t
  torch::Tensor v_t;        ///< [B, S]  a_t u_beta + s_t u_0
  torch::Tensor velocity;   ///< [B, S]  a_t' u_beta + s_t' u_0, which is u_beta - u_0 on the e-geodesic; undefined
                            ///< unless requested
  Known known{};            ///< what else the network is shown; v_t is 0 for variables that the flow does not carry
  TrainingRows training{};  ///< set by the trainer
};

/// Reference noise nu_0: u_0 = Pi0 z with z standard normal, a standard normal on T0. Item k uses the numbers k*S ...
/// k*S + S - 1 of the stream, so it is the same in every batch. -> [count, S]
torch::Tensor reference_noise(const Space& space, const RandomStream& random, uint64_t first_item, int64_t count,
                              torch::TensorOptions options);

/// log density of the standard normal on T0 (dimension sum_i (c_i - 1)) at u [*, S] -> [*].
torch::Tensor reference_log_density(const Space& space, const torch::Tensor& u);

/// log N(v; a_t u_beta, s_t^2 1) on T0, the conditional density of the path: v [B, S], corner u_beta [B, S], one t ->
/// [B].
torch::Tensor path_log_density(const Space& space, const Path& path, const torch::Tensor& v,
                               const torch::Tensor& u_beta, double t);

/// Whether a PathSample includes the velocity.
enum class WithVelocity { no, yes };

/// The path at times t ([B] or [B, n]) for the given labels, noise number first_item ... of the stream. The labels
/// [B, n] int64 index memory and are not checked here: see check_labels. They may be kUnknown for variables that
/// `known` leaves out. In float32 this is one fused pass (kernels/path_kernels.h); elsewhere plain tensor
/// operations.
PathSample sample_path(const Space& space, const Path& path, const torch::Tensor& labels, const torch::Tensor& t,
                       const RandomStream& random, uint64_t first_item, WithVelocity with_velocity,
                       const Known& known = {});

/// As above, but reads the position of the first number in the stream, first_item * S, from device memory [1] int64, so
/// that each replay of a captured CUDA step can use a new one.
PathSample sample_path(const Space& space, const Path& path, const torch::Tensor& labels, const torch::Tensor& t,
                       const RandomStream& random, const torch::Tensor& first_number, WithVelocity with_velocity,
                       const Known& known = {});

}  // namespace segre
