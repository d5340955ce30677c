#include "segre/net/latent_class.h"

#include "segre/net/layers.h"
#include "segre/simplex/lift.h"

namespace segre {
namespace {

// Keeps logarithms finite where a message vanishes; far below any probability that a sample could show.
constexpr double kTiny = 1e-20;

}  // namespace

LatentClassField::LatentClassField(const Space& space, const NetOptions& options, uint64_t seed) : space_(space) {
  WeightSource source(seed);
  class_logits_ = add_parameter("class_logits", torch::zeros({options.classes}));
  label_logits_ = add_parameter("label_logits", source.normal({options.classes, space.n_coordinates()}));
}

int64_t LatentClassField::n_activations() const {
  // Per variable and class: product, logarithm, running sum, softmax, and as many gradients.
  return 8 * space_.n_variables() * class_logits_.size(0);
}

torch::Tensor LatentClassField::forward(const torch::Tensor& W, const torch::Tensor& /*t*/) {
  const auto q = lift(space_, label_logits_);  // [K, S]
  std::vector<torch::Tensor> evidence;         // per variable [B, K]
  torch::Tensor total = class_logits_.log_softmax(0);
  for (int64_t i = 0; i < space_.n_variables(); ++i) {
    const int64_t at = space_.offset(i);
    const int64_t c = space_.n_labels(i);
    evidence.push_back((W.narrow(1, at, c).mm(q.narrow(1, at, c).t()) + kTiny).log());
    total = total + evidence.back();
  }
  std::vector<torch::Tensor> messages;
  for (int64_t i = 0; i < space_.n_variables(); ++i) {
    const auto classes = (total - evidence[i]).softmax(1);
    messages.push_back((classes.mm(q.narrow(1, space_.offset(i), space_.n_labels(i))) + kTiny).log());
  }
  return torch::cat(messages, 1);
}

}  // namespace segre
