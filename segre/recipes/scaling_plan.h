#pragma once  // internal

#include "segre/recipes/experiment.h"
#include "segre/recipes/machine.h"

// A model of how training scales over many GPUs, from the network's cost and what Machine assumes:
//
//   compute   items FLOPs / (share peak) + layers layer_seconds, then the optimiser's pass over the parameters
//   exchange  gradients are summed and the new weights given to everyone: each way, a rank sends (R - 1)/R of their
//             bytes, first halves within its node, then between nodes, in log2 R messages per bucket
//   exposed   the exchange without the gradients that hide behind the backward pass, two thirds of the compute
//   memory    activations; weights to compute with, gradients and the buffers of the exchange; a rank's part of float32
//             weights, moments and averages
//
// Compute and exposed exchange make a step. Measured step times are in docs/scaling.md, next to these predictions.

namespace segre {

/// A training step, as far as it matters to scaling.
struct StepWork {
  NetCost cost{};  ///< of one item
  int64_t n_layers = 1;
  int64_t batch = 1;            ///< items, over all ranks
  int64_t n_shards = 1;         ///< parts of the batch, the most ranks that have something to do; its items on GPUs
  double bytes_per_number = 2;  ///< of activations, gradients and weights to compute with: 2 in bfloat16, 4 in float32
  double sent_bytes_per_number = 2;  ///< of gradients on their way (train.reduce)
  double path_bytes = 0;             ///< of one item besides its activations
};

/// A step of an experiment on GPUs; `outline` is its network's.
StepWork step_work(const Experiment& experiment, const Space& space, const NetOutline& outline);

/// Bytes that a rank sends in a step.
struct SentBytes {
  double in_node;
  double between_nodes;
};

/// Both ways of the exchange: (R - 1)/R of the bytes of gradients and weights in all if nodes are full.
SentBytes sent_bytes(const StepWork& work, const Machine& machine, int64_t ranks);

/// What keeps a number of ranks from being faster.
enum class Bound {
  compute,    ///< nothing else: nine tenths of the time or more
  few_items,  ///< the part of a step that does not depend on the items, or shards that ranks cannot share evenly
  latency,
  bandwidth,
  shards,  ///< more ranks than shards
  memory,  ///< it does not fit
};

/// The name of a bound, in a word or two.
std::string name_of(Bound bound);

/// What is expected of a number of ranks; times in seconds per step, bytes per rank.
struct ScalingRow {
  int64_t ranks;
  int64_t items;         ///< of a step, on the rank with the most
  double compute;        ///< its time, the optimiser's included
  double in_node;        ///< exchange within nodes
  double between_nodes;  ///< and between them
  double exposed;        ///< the part of both that nothing hides
  double step;
  double items_per_second;
  double strong;  ///< efficiency, 1 at best: one rank's time for the batch, divided by ranks * step
  double weak;    ///< the same if every rank has a whole batch
  double memory;
  Bound bound;
};

/// The plan for a number of ranks.
ScalingRow plan_scaling(const StepWork& work, const Machine& machine, int64_t ranks);

}  // namespace segre
