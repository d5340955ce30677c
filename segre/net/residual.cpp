#include "segre/net/residual.h"

#include <cmath>

#include "segre/core/error.h"
#include "segre/kernels/dense.h"
#include "segre/kernels/residual_norm.h"
#include "segre/net/layers.h"
#include "segre/path/simplex.h"
#include "segre/space/blocks.h"

namespace segre {
namespace {

void declare_residual_keys(ConfigSchema& schema, NetOptions& options) {
  auto& own = options.of<ResidualOptions>();
  schema.integer("net.blocks", &own.blocks, {1, 256}, Later::fixed, "residual blocks (residual)");
  schema.integer("net.block_width", &own.width, {4, 65536}, Later::fixed, "width of the blocks (residual)");
  schema.flag("net.tree", &own.tree, Later::fixed, "start from the message of a Chow-Liu tree (residual)");
}

double count_residual_parameters(const Space& space, const NetOptions& options) {
  const auto& own = options.of<ResidualOptions>();
  const auto S = static_cast<double>(space.n_coordinates());
  const auto d = static_cast<double>(own.width);
  const auto n = static_cast<double>(space.n_variables());
  const double in = (own.tree ? 3.0 : 2.0) * S + n;
  const auto c = static_cast<double>(space.max_labels());
  const double tree = own.tree ? n * (1.0 + c + c * c) : 0.0;
  return tree + (in + 1.0) * d + static_cast<double>(own.blocks) * (2.0 * d * (d + 1.0) + d) + d + (d + 1.0) * S;
}

}  // namespace

ResidualField::Affine ResidualField::affine(WeightSource& source, const std::string& name, int64_t in, int64_t out,
                                            double gain) {
  const double bound = gain / std::sqrt(static_cast<double>(in));
  return {add_parameter(name + ".weight", source.uniform({out, in}, bound), Precision::reducible),
          add_parameter(name + ".bias", torch::zeros({out}), Precision::reducible)};
}

ResidualField::ResidualField(const Space& space, const NetOptions& options, uint64_t seed)
    : space_(space), dropout_(options.dropout), standardised_(options.standardised) {
  const auto& own = options.of<ResidualOptions>();
  const int64_t S = space.n_coordinates();
  WeightSource source(seed);
  if (own.tree) {
    tree_ = std::make_unique<TreeField>(space);
    for (const auto& [name, buffer] : tree_->buffers()) add_buffer("tree." + name, buffer);  // the same tensors
    gate_ = add_parameter("gate", torch::ones({space.n_variables()}));
  }
  in_ = affine(source, "in", (own.tree ? 3 : 2) * S + space.n_variables(), own.width, 1.0);
  for (int64_t k = 0; k < own.blocks; ++k) {
    const std::string name = concat("block", k);
    Block block;
    block.norm = add_parameter(name + ".norm", torch::ones({own.width}));
    block.up = affine(source, name + ".up", own.width, own.width, 1.0);
    block.down = affine(source, name + ".down", own.width, own.width, 0.0);  // blocks start as the identity
    blocks_.push_back(std::move(block));
  }
  norm_ = add_parameter("norm", torch::ones({own.width}));
  out_ = affine(source, "out", own.width, S, 0.0);
}

void ResidualField::fit(const DataSource& source) {
  if (tree_) return tree_->fit(source);
  const torch::NoGradGuard no_grad;
  out_.bias.copy_(log_frequencies(source, /*shared=*/false));
}

void ResidualField::refresh() {
  if (tree_) tree_->refresh();
}

int64_t ResidualField::n_activations() const {
  const int64_t d = norm_.size(0);
  return in_.weight.size(1) + 2 * d + static_cast<int64_t>(blocks_.size()) * 6 * d;
}

torch::Tensor ResidualField::forward(const FieldInput& input) {
  if (!input.standardised.defined()) fail("a residual network needs evidence: model.form = \"evidence\"");
  const bool drops = is_training() && input.training.first.defined() && dropout_ > 0.0;
  const auto shown = standardised_ ? input : only_point(input);
  std::vector<torch::Tensor> parts{shown.W, 2.0 * shown.standardised, 0.5 * shown.strength.log1p()};
  const auto first = tree_ ? tree_->forward(input) : torch::Tensor();
  if (tree_) parts.push_back(lift(space_, (input.W + kLeastProbability).log() + first));
  const auto seen = torch::cat(parts, 1).to(in_.weight.scalar_type());
  auto h = dense(seen, in_.weight, in_.bias, Activation::none);
  torch::Tensor branch;
  int64_t n_drops = 0;
  const auto next = [&](const torch::Tensor& gain) {
    kernels::Dropout dropout;
    if (drops && branch.defined())
      dropout = {dropout_, RandomStream(input.training.seed, Purpose::dropout).part(n_drops++), input.training.first};
    return add_norm(h, branch, gain, dropout);
  };
  for (const Block& block : blocks_) {
    const auto [sum, normal] = next(block.norm);
    h = sum;
    branch = dense(dense(normal, block.up.weight, block.up.bias, Activation::relu), block.down.weight, block.down.bias,
                   Activation::none);
  }
  const auto message = dense(next(norm_).normal, out_.weight, out_.bias, Activation::none).to(input.W.scalar_type());
  return tree_ ? message + spread(space_, gate_) * first : message;
}

NetKind residual_kind() {
  return {.name = "residual",
          .help = "dense residual blocks, for tables and model.form = \"evidence\"",
          .make = [](const Space& space, const NetOptions& options,
                     uint64_t seed) { return std::make_shared<ResidualField>(space, options, seed); },
          .declare = declare_residual_keys,
          .count = count_residual_parameters,
          .describe =
              [](const NetOptions& options) {
                const auto& own = options.of<ResidualOptions>();
                return concat(own.blocks, " residual blocks of width ", own.width,
                              own.tree ? " on a Chow-Liu tree" : "");
              },
          .evidence_only = true,
          .reducible = true,
          .reducible_on_cpu = true};
}

}  // namespace segre
