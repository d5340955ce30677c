#include "segre/net/latent_class.h"

#include "segre/core/error.h"
#include "segre/net/layers.h"
#include "segre/net/mixture_fit.h"
#include "segre/path/simplex.h"
#include "segre/space/blocks.h"

namespace segre {
namespace {

// Up to this many variables, one operation for each is fastest.
constexpr int64_t kOneByOne = 8;

}  // namespace

LatentClassField::LatentClassField(const Space& space, const NetOptions& options, uint64_t seed) : space_(space) {
  WeightSource source(seed);
  const int64_t K = options.of<LatentClassOptions>().classes;
  class_logits_ = add_parameter("class_logits", torch::zeros({K}));
  label_logits_ = add_parameter("label_logits", source.normal({K, space.n_coordinates()}));
}

void LatentClassField::fit(const DataSource& source) {
  const int64_t K = class_logits_.size(0);
  if (space_.n_variables() <= kOneByOne || !can_fit_mixture(source, K)) return;
  const auto found = fit_mixture(source, K);
  const torch::NoGradGuard no_grad;
  class_logits_.copy_(found.class_logits);
  label_logits_.copy_(found.label_logits);
}

int64_t LatentClassField::n_activations() const {
  // Per variable and class: product, logarithm, running sum, softmax, and as many gradients.
  return 8 * space_.n_variables() * class_logits_.size(0);
}

// All variables with the same number of labels at once.
torch::Tensor LatentClassField::batched(const torch::Tensor& W) const {
  const auto q = lift(space_, label_logits_);  // [K, S]
  const auto& blocks = space_.blocks(W.device());
  std::vector<torch::Tensor> weights;   // [n_c, c, K] each
  std::vector<torch::Tensor> evidence;  // [n_c, B, K] each
  torch::Tensor total = class_logits_.log_softmax(0);
  for (const Block& block : blocks) {
    weights.push_back(block_parts(space_, block, {q})[0].permute({1, 2, 0}));
    const auto seen = block_parts(space_, block, {W})[0].transpose(0, 1);  // [n_c, B, c]
    evidence.push_back((torch::bmm(seen, weights.back()) + kLeastProbability).log());
    total = total + evidence.back().sum(0);
  }
  std::vector<torch::Tensor> messages;
  for (size_t k = 0; k < blocks.size(); ++k) {
    const auto classes = (total - evidence[k]).softmax(2);
    const auto message = (torch::bmm(classes, weights[k].transpose(1, 2)) + kLeastProbability).log();  // [n_c, B, c]
    messages.push_back(message.transpose(0, 1).reshape({W.size(0), -1}));
  }
  if (space_.is_uniform()) return messages.front();
  return torch::cat(messages, 1).index_select(1, space_.coordinates_from_blocks(W.device()));
}

torch::Tensor LatentClassField::forward(const FieldInput& input) {
  const auto& W = input.W;
  if (space_.n_variables() > kOneByOne) return batched(W);
  const auto q = lift(space_, label_logits_);  // [K, S]
  std::vector<torch::Tensor> evidence;         // per variable [B, K]
  torch::Tensor total = class_logits_.log_softmax(0);
  for (int64_t i = 0; i < space_.n_variables(); ++i) {
    const int64_t at = space_.offset(i);
    const int64_t c = space_.n_labels(i);
    evidence.push_back((W.narrow(1, at, c).mm(q.narrow(1, at, c).t()) + kLeastProbability).log());
    total = total + evidence.back();
  }
  std::vector<torch::Tensor> messages;
  for (int64_t i = 0; i < space_.n_variables(); ++i) {
    const auto classes = (total - evidence[i]).softmax(1);
    messages.push_back((classes.mm(q.narrow(1, space_.offset(i), space_.n_labels(i))) + kLeastProbability).log());
  }
  return torch::cat(messages, 1);
}

NetKind latent_class_kind() {
  return {.name = "latent_class",
          .help = "a mixture of products, for few variables and model.form = \"evidence\"",
          .make = [](const Space& space, const NetOptions& options,
                     uint64_t seed) { return std::make_shared<LatentClassField>(space, options, seed); },
          .declare =
              [](ConfigSchema& schema, NetOptions& options) {
                schema.integer("net.classes", &options.of<LatentClassOptions>().classes, {1, 65536}, Later::fixed,
                               "number of products in the mixture (latent_class)");
              },
          .count =
              [](const Space& space, const NetOptions& options) {
                const auto S = static_cast<double>(space.n_coordinates());
                return (S + 1.0) * static_cast<double>(options.of<LatentClassOptions>().classes);
              },
          .describe =
              [](const NetOptions& options) {
                return concat("mixture of ", options.of<LatentClassOptions>().classes, " products");
              },
          .evidence_only = true};
}

}  // namespace segre
