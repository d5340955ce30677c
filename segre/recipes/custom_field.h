#pragma once

#include <functional>
#include <memory>
#include <string>

#include "segre/net/field.h"

namespace segre {

/// A network that a program supplies instead of net.kind: its own class derived from Field. Both train_run and load_run
/// need it, since a checkpoint stores the weights and the name (net.custom) but no code. Requirements:
///
/// - The constructor creates weights with add_parameter and other state with add_buffer, both float32: only these are
///   learned, moved to devices and saved, under the names given there. There is at least one parameter.
/// - forward returns [B, S] like W, differentiable in the parameters and, for likelihoods by the flow, in W. Each row
///   depends only on that row of its input, unless couples_items() is true: then batches are not split.
/// - On the CPU several threads call forward concurrently, each with its own rows, so it must not modify members.
/// - On CUDA a training step is captured as a graph, so forward must not wait for the device or read values from it.
struct CustomField {
  /// Its name in checkpoints; not empty. A run can be loaded and resumed only with a network of the same name.
  std::string name{};
  /// Creates the network on the CPU with fresh weights that depend only on space and seed. It is called more than once,
  /// also for validation's copy, and must always produce the same names and shapes.
  std::function<std::shared_ptr<Field>(const Space& space, uint64_t seed)> make{};
};

}  // namespace segre
