#pragma once  // internal

#include <string>
#include <vector>

#include "segre/config/schema.h"
#include "segre/net/field.h"
#include "segre/net/net_kinds.h"

namespace segre {

/// All that a plan of training over many GPUs assumes. The defaults are those of H200 SXM in nodes of eight; those
/// without a source are assumptions.
struct Machine {
  double peak_flops = 989e12;  ///< products of bfloat16 matrices, per second (data sheet, without sparsity)
  double share = 0.1;          ///< of the peak that a network reaches; machine_for() takes it from measured_speeds()
  /// Seconds that a step takes per layer of the network, however few its items: the MNIST UNet, 35 layers, takes 6.57,
  /// 9.98 and 17.02 ms for 128, 256 and 512 items (bench/unet.sh, revision 49696d2), a line that starts at 3.1 ms.
  double layer_seconds = 88e-6;
  double memory = 141e9;             ///< bytes (data sheet)
  double memory_bandwidth = 4.3e12;  ///< bytes per second: a copy, measured (data sheet: 4.8e12)
  int64_t node_ranks = 8;            ///< GPUs that NVLink connects
  /// Bytes per second from a GPU to those of its node: NVLink 4 has 450e9 in each direction, of which NCCL's protocol
  /// leaves this (github.com/NVIDIA/nccl-tests/issues/212).
  double node_bandwidth = 370e9;
  /// Bytes per second from a GPU to other nodes: InfiniBand NDR has 400 Gb/s = 50e9, one port per GPU, of which NCCL
  /// reaches 46e9 to 48e9 (github.com/NVIDIA/nccl-tests/issues/290).
  double wire_bandwidth = 46e9;
  double node_latency = 5e-6;   ///< seconds before a message arrives within a node
  double wire_latency = 15e-6;  ///< and in another
  double bucket_bytes = 50e6;   ///< gradients are sent in parts of this size
  double last_bytes = 4e6;      ///< but for the last part, which fills when the backward pass ends
  double overlap = 1.0;         ///< share of the others that are sent during the backward pass
};

/// Products of float32 numbers per second, for networks that do not compute in bfloat16 (data sheet of the H200).
inline constexpr double kFloat32Flops = 67e12;

/// Declares the assumptions as keys: "share", "wire_bandwidth" and so on.
void declare_machine_keys(ConfigSchema& schema, Machine& machine);

/// A training whose speed was measured on one H200.
struct MeasuredSpeed {
  std::string network;  ///< in a few words
  std::string kind;     ///< NetOptions::kind
  double n_parameters;
  double training_flops;  ///< of one item
  int64_t n_layers;
  int64_t batch;
  double items_per_second;  ///< docs/results.md
};

/// All of them.
const std::vector<MeasuredSpeed>& measured_speeds();

/// The one most like a network: of its kind, with about as many FLOPs per item; the slowest if its kind was not
/// measured.
const MeasuredSpeed& nearest_speed(const std::string& kind, double training_flops);

/// Where machine_for() has the share from, as a line of text.
std::string share_source(const std::string& kind, double training_flops);

/// Machine::share that explains a measured speed, with the other assumptions as they are by default.
double measured_share(const MeasuredSpeed& speed);

/// The assumptions for a network: its numbers, and the share that a network like it reached.
Machine machine_for(const NetOptions& options, const NetCost& cost);

}  // namespace segre
