#include "segre/net/residual.h"

#include <cmath>

#include "segre/core/error.h"
#include "segre/kernels/dense.h"
#include "segre/kernels/residual_norm.h"
#include "segre/net/layers.h"
#include "segre/net/number_columns.h"
#include "segre/path/simplex.h"
#include "segre/space/blocks.h"

namespace segre {
namespace {

void declare_residual_keys(ConfigSchema& schema, NetOptions& options) {
  auto& own = options.of<ResidualOptions>();
  schema.integer("net.blocks", &own.blocks, {1, 256}, Later::fixed, "residual blocks (residual)");
  schema.integer("net.block_width", &own.width, {4, 65536}, Later::fixed, "width of the blocks (residual)");
  schema.flag("net.tree", &own.tree, Later::fixed, "start from the message of a Chow-Liu tree (residual)");
  schema.flag("net.columns", &own.columns, Later::fixed,
              "join the coarse and the fine levels of a column of numbers (residual)");
}

double count_residual_parameters(const Space& space, const NetOptions& options) {
  const auto& own = options.of<ResidualOptions>();
  const auto S = static_cast<double>(space.n_coordinates());
  const auto d = static_cast<double>(own.width);
  const auto n = static_cast<double>(space.n_variables());
  const auto columns = own.columns ? NumberColumns::size_of(space) : NumberColumns::Size{};
  const auto waves = static_cast<double>(columns.n_waves());
  const double in = (own.tree ? 3.0 : 2.0) * S + n + static_cast<double>(columns.n_features());
  const auto c = static_cast<double>(space.max_labels());
  const double tree = own.tree ? n * (1.0 + c + c * c) : 0.0;
  return tree + columns.n_buffered() + (in + 1.0) * d + (d + 1.0) * waves +
         static_cast<double>(own.blocks) * (2.0 * d * (d + 1.0) + d) + d + (d + 1.0) * S;
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
  if (own.columns && NumberColumns::any(space)) {
    columns_ = std::make_unique<NumberColumns>(space);
    add_buffer("columns.within", columns_->within());
    add_buffer("columns.log_p", columns_->log_p());
  }
  if (own.tree) {
    tree_ = std::make_unique<TreeField>(space, columns_ ? columns_->fine_variables() : std::vector<int64_t>{});
    for (const auto& [name, buffer] : tree_->buffers()) add_buffer("tree." + name, buffer);  // the same tensors
    gate_ = add_parameter("gate", torch::ones({space.n_variables()}));
  }
  in_ = affine(source, "in",
               (own.tree ? 3 : 2) * S + space.n_variables() + (columns_ ? columns_->size().n_features() : 0), own.width,
               1.0);
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
  if (columns_) waves_ = affine(source, "waves", own.width, columns_->size().n_waves(), 0.0);
  refresh();
}

ResidualField::~ResidualField() = default;

void ResidualField::fit(const DataSource& source) {
  const torch::NoGradGuard no_grad;
  if (columns_) columns_->fit(source);
  if (tree_) return tree_->fit(source);
  out_.bias.copy_(log_frequencies(source, /*shared=*/false));
  if (columns_) out_.bias.mul_(others_);
}

void ResidualField::refresh() {
  if (tree_) tree_->refresh();
  if (!columns_) return;
  columns_->refresh();
  if (others_.defined() && others_.device() == norm_.device()) return;
  auto others = torch::ones({space_.n_coordinates()});
  for (const int64_t i : columns_->fine_variables()) others.narrow(0, space_.offset(i), space_.n_labels(i)).zero_();
  others_ = others.to(norm_.device());
}

int64_t ResidualField::n_activations() const {
  const int64_t d = norm_.size(0);
  constexpr int64_t kOfPairs = 12;  // tensors of all their coarse labels, gradients included
  const int64_t pairs = columns_ ? kOfPairs * columns_->size().pairs * columns_->size().coarse : 0;
  return in_.weight.size(1) + pairs + 2 * d + static_cast<int64_t>(blocks_.size()) * 6 * d;
}

torch::Tensor ResidualField::forward(const FieldInput& input) {
  if (!input.standardised.defined()) fail("a residual network needs evidence: model.form = \"evidence\"");
  const bool drops = is_training() && input.training.first.defined() && dropout_ > 0.0;
  const auto shown = standardised_ ? input : only_point(input);
  std::vector<torch::Tensor> parts{shown.W, 2.0 * shown.standardised, 0.5 * shown.strength.log1p()};
  auto first = tree_ ? tree_->forward(input) : torch::Tensor();
  if (first.defined() && columns_) first = first * others_;
  const auto beliefs = first.defined() ? lift(space_, (input.W + kLeastProbability).log() + first) : input.W;
  if (tree_) parts.push_back(beliefs);
  if (columns_) parts.push_back(columns_->features(beliefs, shown.W, shown.standardised));
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
  const auto last = next(norm_).normal;
  auto message = dense(last, out_.weight, out_.bias, Activation::none).to(input.W.scalar_type());
  if (columns_) {
    const auto amplitudes = dense(last, waves_.weight, waves_.bias, Activation::none);
    message = message + columns_->waves(amplitudes.to(message.scalar_type()));
  }
  if (tree_) message = message + spread(space_, gate_) * first;
  return columns_ ? columns_->couple(message, input.W) : message;
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
