#include "segre/net/field.h"

#include "segre/core/error.h"
#include "segre/core/memory.h"
#include "segre/net/latent_class.h"
#include "segre/net/linear.h"
#include "segre/net/mlp.h"
#include "segre/net/unet.h"

namespace segre {

namespace {

constexpr size_t kMostLayers = 1024;

// Weights, biases, norms and the time's part of an MLP.
double count_mlp(double S, const NetOptions& options) {
  if (options.hidden.size() > kMostLayers)
    fail_input("net.hidden has ", options.hidden.size(), " layers, at most ", kMostLayers, " were expected");
  std::vector<double> widths(options.hidden.begin(), options.hidden.end());
  widths.push_back(S);
  double count = 2.0 * static_cast<double>(options.time_features) * widths.front();
  double in = S;
  for (const double width : widths) {
    count += (in + 1.0) * width + (options.batch_norm ? 4.0 * in : 0.0);
    in = width;
  }
  return count;
}

// In float64: the product may exceed what an integer holds.
double count_parameters(const Space& space, const NetOptions& options) {
  const auto S = static_cast<double>(space.n_coordinates());
  switch (options.kind) {
    case NetKind::linear:
      return S * (S + 2.0 * static_cast<double>(options.time_features));
    case NetKind::latent_class:
      return (S + 1.0) * static_cast<double>(options.classes);
    case NetKind::unet:
      return static_cast<double>(cost_of(plan_unet(space, options.unet)).n_parameters);
    case NetKind::mlp:
      break;
  }
  return count_mlp(S, options);
}

}  // namespace

std::shared_ptr<Field> make_field(const Space& space, const NetOptions& options, uint64_t seed) {
  constexpr double kBytesPerParameter = 5 * 4;  // weight, gradient, two moments, average
  constexpr double kBytesPerCoordinate =
      4 * 4;  // of the one item at least that it is shown: state, input, output, scale
  const double bytes = kBytesPerParameter * count_parameters(space, options) +
                       kBytesPerCoordinate * static_cast<double>(space.n_coordinates());
  require_memory(bytes, concat("a network for the ", space.describe()), torch::kCPU);
  switch (options.kind) {
    case NetKind::linear:
      return std::make_shared<LinearField>(space, options, seed);
    case NetKind::mlp:
      return std::make_shared<MlpField>(space, options, seed);
    case NetKind::latent_class:
      return std::make_shared<LatentClassField>(space, options, seed);
    case NetKind::unet:
      return std::make_shared<UNetField>(space, options.unet, seed);
  }
  return nullptr;
}

void Field::to(torch::Device device) {
  for (const auto* list : {&parameters_, &buffers_})
    for (const auto& [name, tensor] : *list) tensor.set_data(tensor.to(device));  // in place: every holder sees it
}

void Field::reduce_precision(torch::ScalarType type) {
  for (const auto& parameter : reducible_) parameter.set_data(parameter.detach().to(type));
}

NetCost Field::cost() const {
  NetCost cost{.n_parameters = n_parameters(*this), .n_saved = n_activations()};
  for (const auto& [name, parameter] : parameters_)
    if (parameter.dim() == 2) cost.forward_flops += 2.0 * static_cast<double>(parameter.numel());
  cost.training_flops = 3.0 * cost.forward_flops;
  return cost;
}

torch::Tensor Field::add_parameter(const std::string& name, torch::Tensor initial, Precision precision) {
  initial.requires_grad_(true);
  if (precision == Precision::reducible) reducible_.push_back(initial);
  parameters_.emplace_back(name, initial);
  return initial;
}

torch::Tensor Field::add_buffer(const std::string& name, torch::Tensor initial) {
  buffers_.emplace_back(name, initial);
  return initial;
}

int64_t n_parameters(const Field& field) {
  int64_t count = 0;
  for (const auto& [name, parameter] : field.parameters()) count += parameter.numel();
  return count;
}

}  // namespace segre
