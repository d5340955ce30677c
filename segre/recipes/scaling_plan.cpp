#include "segre/recipes/scaling_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace segre {
namespace {

constexpr double kBackward = 2.0 / 3.0;  // of the compute: two products for each forward one
constexpr double kEfficient = 0.9;       // at least this share of the time is compute where compute is the bound
constexpr double kFloat = 4.0;           // bytes
constexpr double kUpdateBytes = 36.0;    // read and written per parameter: weight, two moments, average, gradient, copy
constexpr double kStateBytes = 12.0;     // kept per parameter by one rank: two moments and the average
constexpr double kPathRows = 10.0;       // rows of S floats per item: noise, path, softmax, logits, their gradients

struct Nodes {
  int64_t ranks;  // of one
  int64_t count;
};

Nodes nodes_of(const Machine& machine, int64_t ranks) {
  const int64_t node = std::min(ranks, machine.node_ranks);
  return {node, (ranks + node - 1) / node};
}

// Of all parameters, on their way to the ranks that update them and back.
double gradient_bytes(const StepWork& work) {
  return work.sent_bytes_per_number * static_cast<double>(work.cost.n_parameters);
}
double weight_bytes(const StepWork& work) {
  return work.bytes_per_number * static_cast<double>(work.cost.n_parameters);
}

double others(int64_t n) { return static_cast<double>(n - 1) / static_cast<double>(n); }

// Messages one after another until n ranks have heard of each other.
double rounds(int64_t n) { return static_cast<double>(std::bit_width(static_cast<uint64_t>(n - 1))); }

// One way of the exchange, in seconds.
struct Way {
  double in_node;
  double between_nodes;
  double latency;  // part of both

  double seconds() const { return in_node + between_nodes; }
};

SentBytes sent_one_way(double bytes, const Nodes& nodes) {
  return {others(nodes.ranks) * bytes, others(nodes.count) * bytes / static_cast<double>(nodes.ranks)};
}

Way one_way(double bytes, const Machine& machine, int64_t ranks, double n_messages) {
  const Nodes nodes = nodes_of(machine, ranks);
  const SentBytes sent = sent_one_way(bytes, nodes);
  const double near = n_messages * rounds(nodes.ranks) * machine.node_latency;
  const double far = n_messages * rounds(nodes.count) * machine.wire_latency;
  return {sent.in_node / machine.node_bandwidth + near, sent.between_nodes / machine.wire_bandwidth + far, near + far};
}

struct StepTime {
  double compute;
  Way exchange;  // both ways
  double exposed;

  double seconds() const { return compute + exposed; }
};

StepTime time_step(const StepWork& work, const Machine& machine, int64_t ranks, int64_t items) {
  const double passes = static_cast<double>(items) * work.cost.training_flops / (machine.share * machine.peak_flops) +
                        static_cast<double>(work.n_layers) * machine.layer_seconds;
  const double updated = static_cast<double>(work.cost.n_parameters) / static_cast<double>(ranks);
  const double n_buckets = std::max(1.0, std::ceil(gradient_bytes(work) / machine.bucket_bytes));
  const Way there = one_way(gradient_bytes(work), machine, ranks, n_buckets);
  const Way back = one_way(weight_bytes(work), machine, ranks, n_buckets);
  const double last = std::min(1.0, machine.last_bytes / gradient_bytes(work));
  // Weights come back only once they are updated, which needs the norm of all gradients.
  const double hidden = std::min(machine.overlap * (1.0 - last) * there.seconds(), kBackward * passes);
  const Way exchange{there.in_node + back.in_node, there.between_nodes + back.between_nodes,
                     there.latency + back.latency};
  return {passes + updated * kUpdateBytes / machine.memory_bandwidth, exchange, exchange.seconds() - hidden};
}

double memory_of(const StepWork& work, int64_t ranks, int64_t items) {
  const double of_item = work.bytes_per_number * static_cast<double>(work.cost.n_saved) + work.path_bytes;
  const double buckets = ranks > 1 ? std::max(work.sent_bytes_per_number, work.bytes_per_number) : 0.0;
  const double masters = work.bytes_per_number < kFloat ? kFloat : 0.0;  // of weights that are rounded to compute with
  const double of_parameter =
      2.0 * work.bytes_per_number + buckets + (masters + kStateBytes) / static_cast<double>(ranks);
  return static_cast<double>(items) * of_item + static_cast<double>(work.cost.n_parameters) * of_parameter;
}

// The items of the rank with the most shards.
int64_t most_items(const StepWork& work, int64_t ranks) {
  const int64_t shards = (work.n_shards + ranks - 1) / ranks;
  return (work.batch * shards + work.n_shards - 1) / work.n_shards;
}

// `ideal` is the step's time if the ranks shared one rank's time evenly.
Bound bound_of(const StepTime& time, double ideal) {
  if (ideal >= kEfficient * time.seconds()) return Bound::compute;
  const double few_items = time.compute - ideal;
  const double whole = time.exchange.seconds();
  const double latency = whole > 0.0 ? time.exposed * time.exchange.latency / whole : 0.0;
  const double bandwidth = time.exposed - latency;
  if (few_items >= std::max(latency, bandwidth)) return Bound::few_items;
  return latency > bandwidth ? Bound::latency : Bound::bandwidth;
}

}  // namespace

StepWork step_work(const Experiment& experiment, const Space& space, const NetOutline& outline) {
  const bool reduced = compute_type(experiment.net, torch::kCUDA) == torch::kBFloat16;
  return {.cost = outline.cost,
          .n_layers = std::max<int64_t>(1, static_cast<int64_t>(outline.layers.size())),
          .batch = experiment.train.batch,
          .n_shards = experiment.train.batch,
          .bytes_per_number = reduced ? kFloat / 2.0 : kFloat,
          .sent_bytes_per_number = experiment.train.reduce == ReduceType::bfloat16 ? kFloat / 2.0 : kFloat,
          .path_bytes = kPathRows * kFloat * static_cast<double>(space.n_coordinates())};
}

SentBytes sent_bytes(const StepWork& work, const Machine& machine, int64_t ranks) {
  return sent_one_way(gradient_bytes(work) + weight_bytes(work), nodes_of(machine, ranks));
}

std::string name_of(Bound bound) {
  static const char* const kNames[] = {"compute", "few items", "latency", "bandwidth", "shards", "memory"};
  return kNames[static_cast<int>(bound)];
}

ScalingRow plan_scaling(const StepWork& work, const Machine& machine, int64_t ranks) {
  const auto R = static_cast<double>(ranks);
  const double alone = time_step(work, machine, 1, work.batch).seconds();
  const int64_t items = most_items(work, ranks);
  const StepTime time = time_step(work, machine, ranks, items);
  ScalingRow row{.ranks = ranks,
                 .items = items,
                 .compute = time.compute,
                 .in_node = time.exchange.in_node,
                 .between_nodes = time.exchange.between_nodes,
                 .exposed = time.exposed,
                 .step = time.seconds(),
                 .items_per_second = static_cast<double>(work.batch) / time.seconds(),
                 .strong = alone / (R * time.seconds()),
                 .weak = alone / time_step(work, machine, ranks, work.batch).seconds(),
                 .memory = memory_of(work, ranks, items),
                 .bound = bound_of(time, alone / R)};
  if (ranks > work.n_shards) row.bound = Bound::shards;
  if (row.memory > machine.memory) row.bound = Bound::memory;
  return row;
}

}  // namespace segre
