#pragma once

#include <functional>
#include <memory>
#include <string>

#include "segre/config/kinds.h"
#include "segre/config/schema.h"
#include "segre/net/field.h"

namespace segre {

/// The number type that a network computes with. Weights are always stored and learned in float32.
enum class NetPrecision {
  automatic,  ///< bfloat16 on CUDA if the network supports it (unet), else float32
  float32,
  bfloat16,  ///< convolutions and attention in bfloat16, CUDA only
};

/// The kind of network and the options that all kinds share. Each kind has its own struct of options:
/// options.of<MlpOptions>().
struct NetOptions : OptionSet {
  std::string kind = "latent_class";  ///< see net_kinds()
  int64_t time_features = 8;          ///< Fourier frequencies of t as inputs (mlp, linear); 0: autonomous, as in the
                                      ///< paper
  double dropout = 0.0;               ///< share of each layer's output that training drops (transformer, residual)
  bool standardised = true;  ///< show the standardised evidence and its strength (transformer, residual); false: only
                             ///< W, to see what they are worth
  NetPrecision precision = NetPrecision::automatic;
};

/// A kind of network: everything that the rest of segre knows about it. To add one, define it in a new file and list it
/// in net_kinds.cpp; docs/extending.md has a worked example.
struct NetKind {
  std::string name;  ///< the value of net.kind
  std::string help;  ///< a few words
  /// Builds it with weights that depend only on the seed.
  std::function<std::shared_ptr<Field>(const Space& space, const NetOptions& options, uint64_t seed)> make;
  /// Declares its config keys, "net.something", bound to its struct in the options.
  std::function<void(ConfigSchema& schema, NetOptions& options)> declare{};
  /// Its number of parameters, known before allocating memory. In float64, since the product may overflow an integer.
  /// If unset, the network's size is not checked beforehand.
  std::function<double(const Space& space, const NetOptions& options)> count{};
  /// Its outline, likewise known before allocating memory. If unset, outline_net builds the network.
  std::function<NetOutline(const Space& space, const NetOptions& options)> outline{};
  /// Describes a network with these options in a few words, "UNet with 32 channels"; if unset, its name is used.
  std::function<std::string(const NetOptions& options)> describe{};
  bool evidence_only = false;     ///< works in the evidence form only
  bool reducible = false;         ///< computes in bfloat16 on CUDA by default
  bool reducible_on_cpu = false;  ///< can do so on a CPU as well, and trains so if the CPU is fast at it
  bool counted = false;           ///< Field::fit finds all there is to learn
};

/// All kinds of networks.
const std::vector<NetKind>& net_kinds();

/// Looks up a kind by name. InputError lists the names if it is unknown.
const NetKind& net_kind(const std::string& name);

/// Declares net.kind, the shared keys, and the keys of every kind.
void declare_net_keys(ConfigSchema& schema, NetOptions& options);

/// Builds the network. InputError if it does not fit into memory with its gradients and Adam's moments.
std::shared_ptr<Field> make_field(const Space& space, const NetOptions& options, uint64_t seed);

/// Cost and layers of the network that make_field would build. Networks whose kind has an outline may be larger than
/// the memory; InputError, as make_field, for the others.
NetOutline outline_net(const Space& space, const NetOptions& options);

/// A short human-readable description of the network.
std::string describe_net(const NetOptions& options);

/// The number type that a trained network computes with on a device. InputError if it cannot.
torch::ScalarType compute_type(const NetOptions& options, torch::Device device);

/// The type while it is trained. With net.precision = "auto", this is bfloat16 also on CPUs with instructions for its
/// products, which are twice as fast; weights, their averages and Adam's moments stay float32.
torch::ScalarType training_type(const NetOptions& options, torch::Device device);

}  // namespace segre
