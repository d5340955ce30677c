#include "segre/net/mlp.h"

#include <cmath>

#include "segre/core/error.h"
#include "segre/kernels/dense.h"
#include "segre/net/layers.h"

namespace segre {
namespace {

constexpr size_t kMaxLayers = 1024;

// Weights, biases, norms and time features.
double count_mlp_parameters(const Space& space, const NetOptions& options) {
  const auto S = static_cast<double>(space.n_coordinates());
  const MlpOptions& own = options.of<MlpOptions>();
  if (own.hidden.size() > kMaxLayers)
    fail_input("net.hidden has ", own.hidden.size(), " layers, expected at most ", kMaxLayers);
  std::vector<double> widths(own.hidden.begin(), own.hidden.end());
  widths.push_back(S);
  double count = 2.0 * static_cast<double>(options.time_features) * widths.front();
  double in = S;
  for (const double width : widths) {
    count += (in + 1.0) * width + (own.batch_norm ? 4.0 * in : 0.0);
    in = width;
  }
  return count;
}

void declare_mlp_keys(ConfigSchema& schema, NetOptions& options) {
  auto& own = options.of<MlpOptions>();
  schema.integers("net.hidden", &own.hidden, {1, 65536}, Later::fixed, "widths of the hidden layers (mlp)");
  schema.flag("net.batch_norm", &own.batch_norm, Later::fixed, "batch normalisation before each dense layer (mlp)");
  schema.number("net.input_gain", &own.input_gain, {1e-3, 1e3}, Later::fixed, "factor on the network's input (mlp)");
}

}  // namespace

MlpField::MlpField(const Space& space, const NetOptions& options, uint64_t seed)
    : n_time_(options.time_features), gain_(options.of<MlpOptions>().input_gain) {
  const MlpOptions& own = options.of<MlpOptions>();
  WeightSource source(seed);
  int64_t in = space.n_coordinates();
  std::vector<int64_t> widths = own.hidden;
  widths.push_back(space.n_coordinates());
  for (size_t k = 0; k < widths.size(); ++k) {
    layers_.push_back(make_layer(source, k, in, widths[k], k + 1 == widths.size(), own.batch_norm));
    in = widths[k];
  }
  if (n_time_ > 0)
    time_weight_ = add_parameter(
        "time_weight", source.uniform({widths[0], 2 * n_time_}, 1.0 / std::sqrt(2.0 * static_cast<double>(n_time_))));
}

MlpField::Layer MlpField::make_layer(WeightSource& source, size_t number, int64_t in, int64_t out, bool last,
                                     bool batch_norm) {
  const double bound = last ? 0.0 : 1.0 / std::sqrt(static_cast<double>(in));
  const std::string name = concat("layer", number, ".");
  Layer layer;
  layer.weight = add_parameter(name + "weight", source.uniform({out, in}, bound));
  layer.bias = add_parameter(name + "bias", source.uniform({out}, bound));
  if (batch_norm) {
    layer.norm_weight = add_parameter(name + "norm.weight", torch::ones({in}));
    layer.norm_bias = add_parameter(name + "norm.bias", torch::zeros({in}));
    layer.norm_mean = add_buffer(name + "norm.mean", torch::zeros({in}));
    layer.norm_var = add_buffer(name + "norm.var", torch::ones({in}));
  }
  return layer;
}

int64_t MlpField::n_activations() const {
  int64_t count = 0;
  for (const Layer& layer : layers_) count += 3 * layer.weight.size(0);  // output, gradient, normalised input
  return count;
}

torch::Tensor MlpField::forward(const FieldInput& input) {
  const auto& W = input.W;
  torch::Tensor h = gain_ == 1.0 ? W : W * gain_;
  for (size_t k = 0; k < layers_.size(); ++k) {
    const Layer& layer = layers_[k];
    if (layer.norm_weight.defined())
      h = torch::batch_norm(h, layer.norm_weight, layer.norm_bias, layer.norm_mean, layer.norm_var, is_training(),
                            /*momentum=*/0.1, /*eps=*/1e-5, /*cudnn_enabled=*/false);
    // Time features enter the first layer as columns beside W; their part of the product is computed separately.
    auto shift = layer.bias;
    if (k == 0 && n_time_ > 0) shift = torch::addmm(layer.bias, time_features(input.t, n_time_), time_weight_.t());
    h = dense(h, layer.weight, shift, k + 1 < layers_.size() ? Activation::relu : Activation::none);
  }
  return h;
}

NetKind mlp_kind() {
  return {.name = "mlp",
          .help = "dense layers",
          .make = [](const Space& space, const NetOptions& options,
                     uint64_t seed) { return std::make_shared<MlpField>(space, options, seed); },
          .declare = declare_mlp_keys,
          .count = count_mlp_parameters,
          .describe =
              [](const NetOptions& options) {
                const size_t n_hidden = options.of<MlpOptions>().hidden.size();
                return concat("MLP with ", n_hidden, n_hidden == 1 ? " hidden layer" : " hidden layers");
              }};
}

}  // namespace segre
