#include "segre/net/net_kinds.h"

#include <cstdlib>

#include "segre/config/kinds.h"
#include "segre/core/memory.h"
#include "segre/core/tuning.h"
#include "segre/net/latent_class.h"
#include "segre/net/linear.h"
#include "segre/net/mlp.h"
#include "segre/net/residual.h"
#include "segre/net/transformer.h"
#include "segre/net/tree.h"
#include "segre/net/unet.h"

namespace segre {

const std::vector<NetKind>& net_kinds() {
  static const std::vector<NetKind> all{
      linear_kind(), mlp_kind(), latent_class_kind(), tree_kind(), residual_kind(), transformer_kind(), unet_kind(),
  };
  return all;
}

const NetKind& net_kind(const std::string& name) { return find_kind(net_kinds(), name, "net.kind"); }

void declare_net_keys(ConfigSchema& schema, NetOptions& options) {
  declare_kind_key(schema, "net.kind", &options.kind, net_kinds(), Later::fixed, "the network");
  for (const NetKind& kind : net_kinds())
    if (kind.declare) kind.declare(schema, options);
  schema.integer("net.time_features", &options.time_features, {0, 1024}, Later::fixed,
                 "Fourier frequencies of t; 0: no time (mlp, linear)");
  schema.number("net.dropout", &options.dropout, {0, 0.9}, Later::fixed,
                "share of each layer's output that training drops (transformer, residual)");
  schema.flag("net.standardised", &options.standardised, Later::fixed,
              "show the standardised evidence and its strength, not only softmax(e) (transformer, residual)");
  schema.choice<NetPrecision>(
      "net.precision", &options.precision,
      {{"auto", NetPrecision::automatic}, {"float32", NetPrecision::float32}, {"bfloat16", NetPrecision::bfloat16}},
      Later::free,
      "numbers of products and attention (unet, transformer, residual); auto: bfloat16 on CUDA and, if it has "
      "instructions for them, while training on the CPU; else float32");
}

std::shared_ptr<Field> make_field(const Space& space, const NetOptions& options, uint64_t seed) {
  constexpr double kBytesPerParameter = 5 * 4;  // weight, gradient, two moments, average
  // For at least one item: state, input, output, scale.
  constexpr double kBytesPerCoordinate = 4 * 4;
  const NetKind& kind = net_kind(options.kind);
  const double n_parameters = kind.count ? kind.count(space, options) : 0.0;
  const double bytes =
      kBytesPerParameter * n_parameters + kBytesPerCoordinate * static_cast<double>(space.n_coordinates());
  require_memory(bytes, concat("a network for the ", space.describe()), torch::kCPU);
  return kind.make(space, options, seed);
}

NetOutline outline_net(const Space& space, const NetOptions& options) {
  const NetKind& kind = net_kind(options.kind);
  if (kind.outline) return kind.outline(space, options);
  const auto field = make_field(space, options, /*seed=*/1);
  return {field->cost(), field->layers(), field->couples_items()};
}

std::string describe_net(const NetOptions& options) {
  const NetKind& kind = net_kind(options.kind);
  return kind.describe ? kind.describe(options) : kind.name;
}

namespace {

bool multiplies_bfloat16_fast() {
  if (hides_tiles() && std::getenv("ONEDNN_MAX_CPU_ISA") == nullptr) return false;
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  return __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

}  // namespace

torch::ScalarType compute_type(const NetOptions& options, torch::Device device) {
  if (options.precision == NetPrecision::bfloat16 && device.is_cpu() && !net_kind(options.kind).reducible_on_cpu)
    fail_input("net.precision = \"bfloat16\" with net.kind = \"", options.kind,
               "\" is for CUDA; on the CPU choose \"auto\" or \"float32\"");
  const bool reduced =
      options.precision == NetPrecision::bfloat16 ||
      (options.precision == NetPrecision::automatic && device.is_cuda() && net_kind(options.kind).reducible);
  return reduced ? torch::kBFloat16 : torch::kFloat32;
}

torch::ScalarType training_type(const NetOptions& options, torch::Device device) {
  const bool reduced = options.precision == NetPrecision::automatic && device.is_cpu() &&
                       net_kind(options.kind).reducible_on_cpu && multiplies_bfloat16_fast();
  return reduced ? torch::kBFloat16 : compute_type(options, device);
}

}  // namespace segre
