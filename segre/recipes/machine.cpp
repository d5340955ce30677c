#include "segre/recipes/machine.h"

#include <cmath>

#include "segre/core/error.h"
#include "segre/core/text.h"
#include "segre/net/net_kinds.h"
#include "segre/recipes/scaling_plan.h"

namespace segre {

void declare_machine_keys(ConfigSchema& schema, Machine& m) {
  constexpr Range kRates{1.0, 1e18};
  constexpr Range kSeconds{0.0, 1.0};
  schema.number("peak_flops", &m.peak_flops, kRates, Later::free, "products per second");
  schema.number("share", &m.share, {1e-6, 1}, Later::free, "share of them that the network reaches");
  schema.number("layer_seconds", &m.layer_seconds, kSeconds, Later::free, "time of a layer however few the items");
  schema.number("memory", &m.memory, kRates, Later::free, "bytes of a GPU");
  schema.number("memory_bandwidth", &m.memory_bandwidth, kRates, Later::free, "bytes per second");
  schema.integer("node_ranks", &m.node_ranks, {1, 1e6}, Later::free, "GPUs of a node");
  schema.number("node_bandwidth", &m.node_bandwidth, kRates, Later::free, "bytes per second and GPU within a node");
  schema.number("wire_bandwidth", &m.wire_bandwidth, kRates, Later::free, "bytes per second and GPU between nodes");
  schema.number("node_latency", &m.node_latency, kSeconds, Later::free, "seconds of a message within a node");
  schema.number("wire_latency", &m.wire_latency, kSeconds, Later::free, "seconds of a message between nodes");
  schema.number("bucket_bytes", &m.bucket_bytes, kRates, Later::free, "gradients sent at a time");
  schema.number("last_bytes", &m.last_bytes, kRates, Later::free, "gradients sent when the backward pass has ended");
  schema.number("overlap", &m.overlap, {0, 1}, Later::free, "share of the others sent during the backward pass");
}

const std::vector<MeasuredSpeed>& measured_speeds() {
  // docs/results.md: "Training speed compared with PyTorch 2.11", "Training a transformer" (243.2 steps of 64 rows).
  static const std::vector<MeasuredSpeed> all{
      {"UNet of 32x32 images", "unet", 2.25e6, 2.525e9, 35, 256, 25'723},
      {"UNet of 128x256 label maps", "unet", 30.38e6, 320.74e9, 68, 16, 474},
      {"transformer of 11.3 million weights", "transformer", 11.3e6, 18.35e9, 8, 64, 64 * 243.2},
  };
  return all;
}

const MeasuredSpeed& nearest_speed(const std::string& kind, double training_flops) {
  const MeasuredSpeed* best = nullptr;
  const auto distance = [&](const MeasuredSpeed& speed) {
    return std::abs(std::log(speed.training_flops / training_flops));
  };
  for (const MeasuredSpeed& speed : measured_speeds())
    if (speed.kind == kind && (best == nullptr || distance(speed) < distance(*best))) best = &speed;
  if (best != nullptr) return *best;
  for (const MeasuredSpeed& speed : measured_speeds())
    if (best == nullptr || measured_share(speed) < measured_share(*best)) best = &speed;
  return *best;
}

std::string share_source(const std::string& kind, double training_flops) {
  const MeasuredSpeed& speed = nearest_speed(kind, training_flops);
  return concat(speed.kind == kind ? "as measured" : "not measured for this kind of network; the lowest that was",
                " on one H200: ", speed.network, ", batch ", speed.batch, ", ", fixed(speed.items_per_second, 0),
                " items/s (docs/results.md)");
}

double measured_share(const MeasuredSpeed& speed) {
  const auto batch = static_cast<double>(speed.batch);
  StepWork empty{.cost = {.n_parameters = static_cast<int64_t>(speed.n_parameters)}, .n_layers = speed.n_layers};
  const double rest = plan_scaling(empty, Machine(), /*ranks=*/1).step;  // what does not depend on the items
  return batch * speed.training_flops / (batch / speed.items_per_second - rest) / Machine().peak_flops;
}

Machine machine_for(const NetOptions& options, const NetCost& cost) {
  Machine machine;
  if (compute_type(options, torch::kCUDA) == torch::kFloat32) machine.peak_flops = kFloat32Flops;
  // Three digits, since more would look as if they were known.
  machine.share = std::round(1e3 * measured_share(nearest_speed(options.kind, cost.training_flops))) / 1e3;
  return machine;
}

}  // namespace segre
