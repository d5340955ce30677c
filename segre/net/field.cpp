#include "segre/net/field.h"

namespace segre {

FieldInput only_point(const FieldInput& input) {
  FieldInput out = input;
  out.strength = torch::zeros_like(input.strength);
  if (input.standardised.defined()) out.standardised = torch::zeros_like(input.standardised);
  return out;
}

void Field::to(torch::Device device) {
  for (const auto* list : {&parameters_, &buffers_})
    for (const auto& [name, tensor] : *list) tensor.set_data(tensor.to(device));  // in place, so every holder sees it
  refresh();
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
