#include "segre/net/field.h"

#include "segre/net/latent_class.h"
#include "segre/net/linear.h"
#include "segre/net/mlp.h"

namespace segre {

std::shared_ptr<Field> make_field(const Space& space, const NetOptions& options, uint64_t seed) {
  switch (options.kind) {
    case NetKind::linear:
      return std::make_shared<LinearField>(space, options, seed);
    case NetKind::mlp:
      return std::make_shared<MlpField>(space, options, seed);
    case NetKind::latent_class:
      return std::make_shared<LatentClassField>(space, options, seed);
  }
  return nullptr;
}

void Field::to(torch::Device device) {
  for (const auto* list : {&parameters_, &buffers_})
    for (const auto& [name, tensor] : *list) tensor.set_data(tensor.to(device));  // in place: every holder sees it
}

torch::Tensor Field::add_parameter(const std::string& name, torch::Tensor initial) {
  initial.requires_grad_(true);
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
