#pragma once

#include <functional>
#include <memory>
#include <string>

#include "segre/net/field.h"

namespace segre {

/// A network that a program brings in the place of net.kind: a class of its own derived from Field. train_run takes it,
/// and load_run again, since a checkpoint keeps the weights and the name (net.custom) but no code. What it must keep
/// to:
///
/// - Weights are made by add_parameter, other state by add_buffer, both float32, in the constructor: only these are
///   learned, moved to devices and saved, under the names given there. There is at least one parameter.
/// - forward(W, t) gives [B, S] like W, differentiable in the parameters and, for likelihoods by the flow, in W. A row
///   of it depends on that row of W and t alone, unless there are buffers: then a batch comes whole.
/// - On the CPU several threads call forward at once, each with rows of its own; it changes no member.
/// - On CUDA a training step is captured as a graph: forward does not wait for the device or look at values there.
struct CustomField {
  /// What checkpoints call it; not empty. A run loads and resumes only with a network of this name.
  std::string name{};
  /// Makes the network with fresh weights on the CPU, which depend on space and seed alone. It is called more than
  /// once, also for the copy that validation works on, and always gives the same names and shapes.
  std::function<std::shared_ptr<Field>(const Space& space, uint64_t seed)> make{};
};

}  // namespace segre
