#include "segre/net/transformer.h"

#include <algorithm>
#include <cmath>

#include "segre/core/error.h"
#include "segre/data/label_counts.h"
#include "segre/kernels/column_tokens.h"
#include "segre/kernels/residual_norm.h"
#include "segre/net/layers.h"
#include "segre/space/blocks.h"

namespace segre {
namespace {

// Variables with more labels show their evidence through W alone: the noise of so many labels would swamp the token.
constexpr int64_t kMostStandardised = 256;

constexpr double kEmbeddingSpread = 0.2;
constexpr double kLongestTurn = 1e4;  // positions after which the slowest rotation has turned by one radian

// Two thirds of four times the width, as the gate needs three matrices instead of two; a multiple of 8.
int64_t hidden_of(int64_t width) { return std::max<int64_t>(8, width * 8 / 3 / 8 * 8); }

void declare_transformer_keys(ConfigSchema& schema, NetOptions& options) {
  auto& own = options.of<TransformerOptions>();
  schema.integer("net.layers", &own.layers, {1, 256}, Later::fixed, "layers (transformer)");
  schema.integer("net.width", &own.width, {8, 2048}, Later::fixed, "numbers per token, a multiple of 8 (transformer)");
  schema.integer("net.token_heads", &own.heads, {1, 256}, Later::fixed,
                 "attention heads, each of an even part of the width (transformer)");
}

void check_sizes(const TransformerOptions& own) {
  if (own.width % 8 != 0 || own.width % (2 * own.heads) != 0)
    fail_input("net.width = ", own.width, ", net.token_heads = ", own.heads,
               ": the width must be a multiple of 8 and of twice the heads");
}

bool is_rotary(const Space& space) { return shares_labels(space) && space.is(PartKind::sequence); }

FieldReads reads_of(const Space& space) {
  for (int64_t i = 0; i < space.n_variables(); ++i)
    if (space.n_labels(i) <= kMostStandardised) return FieldReads::standardised;
  return FieldReads::strength;
}

// In float64, since a network may be described that no memory holds.
double count_transformer_parameters(const Space& space, const NetOptions& options) {
  const auto& own = options.of<TransformerOptions>();
  const auto d = static_cast<double>(own.width);
  const auto c = static_cast<double>(space.max_labels());
  const auto S = static_cast<double>(space.n_coordinates());
  const double embeddings = (reads_of(space) == FieldReads::standardised ? 2.0 : 1.0) * (shares_labels(space) ? c : S);
  const double positions = is_rotary(space) ? 0.0 : static_cast<double>(space.n_variables());
  const double layer = 4.0 * d * d + 3.0 * d * static_cast<double>(hidden_of(own.width)) + 2.0 * d;
  return (embeddings + positions + 1.0) * d + static_cast<double>(own.layers) * layer + d * d + d +
         (is_rotary(space) ? c : S);
}

// Per token and layer: two sums and norms, query, key and value, their mix, both halves of the gate and their product.
int64_t activations_of(const Space& space, const TransformerOptions& own) {
  const int64_t per_layer = 10 * own.width + 3 * hidden_of(own.width);
  return space.n_variables() * (own.layers * per_layer + 6 * own.width);
}

NetCost cost_of(const Space& space, const NetOptions& options) {
  constexpr double kMostNumbers = 0x1p60;  // more than any memory holds, but an integer still
  const auto& own = options.of<TransformerOptions>();
  NetCost cost{
      .n_parameters = static_cast<int64_t>(std::min(count_transformer_parameters(space, options), kMostNumbers)),
      .n_saved = activations_of(space, own)};
  const auto n = static_cast<double>(space.n_variables());
  const auto d = static_cast<double>(own.width);
  const auto labels = static_cast<double>(space.n_coordinates());
  const double layer = 2.0 * n * (4.0 * d * d + 3.0 * d * static_cast<double>(hidden_of(own.width))) + 4.0 * n * n * d;
  cost.forward_flops = static_cast<double>(own.layers) * layer + 2.0 * n * d * d + 6.0 * labels * d;
  cost.training_flops = 3.0 * cost.forward_flops;
  return cost;
}

std::vector<std::string> lines_of(const Space& space, const TransformerOptions& own) {
  std::vector<std::string> lines{concat("tokens       ", space.n_variables(), " x ", own.width)};
  for (int64_t k = 0; k < own.layers; ++k)
    lines.push_back(
        concat("layer", k, "       attention with ", own.heads, " heads, gated MLP of ", hidden_of(own.width)));
  lines.push_back(concat("labels       ", space.n_coordinates()));
  return lines;
}

NetOutline outline_of(const Space& space, const NetOptions& options) {
  const auto& own = options.of<TransformerOptions>();
  check_sizes(own);
  return {cost_of(space, options), lines_of(space, own)};
}

}  // namespace

TransformerField::TransformerField(const Space& space, const NetOptions& options, uint64_t seed)
    : space_(space),
      options_(options.of<TransformerOptions>()),
      dropout_(options.dropout),
      standardised_(options.standardised),
      shared_(shares_labels(space)),
      rotary_(is_rotary(space)),
      cost_(cost_of(space, options)) {
  check_sizes(options_);
  const int64_t d = options_.width;
  const int64_t hidden = hidden_of(d);
  WeightSource source(seed);
  const auto matrix = [&](const std::string& name, int64_t rows, int64_t columns, double spread) {
    return add_parameter(name, source.normal({rows, columns}).mul_(spread), Precision::reducible);
  };
  const int64_t rows = shared_ ? space.max_labels() : space.n_coordinates();
  embedding_ = matrix("labels", rows, d, kEmbeddingSpread);
  if (reads() == FieldReads::standardised) evidence_ = matrix("evidence", rows, d, kEmbeddingSpread);
  strength_ = matrix("strength", 1, d, kEmbeddingSpread);
  if (!rotary_) position_ = matrix("position", space.n_variables(), d, kEmbeddingSpread);
  const double spread = 1.0 / std::sqrt(static_cast<double>(d));
  for (int64_t k = 0; k < options_.layers; ++k) {
    const std::string name = concat("layer", k, ".");
    Layer layer;
    layer.norm_attention = add_parameter(name + "norm_attention", torch::ones({d}));
    layer.qkv = matrix(name + "qkv", 3 * d, d, spread);
    layer.mix = matrix(name + "mix", d, d, 0.0);  // layers start as the identity
    layer.norm_mlp = add_parameter(name + "norm_mlp", torch::ones({d}));
    layer.up = matrix(name + "up", 2 * hidden, d, spread);
    layer.down = matrix(name + "down", d, hidden, 0.0);
    layers_.push_back(std::move(layer));
  }
  norm_ = add_parameter("norm", torch::ones({d}));
  out_ = matrix("out", d, d, 0.0);
  bias_ = add_parameter("bias", torch::zeros({rotary_ ? space.max_labels() : space.n_coordinates()}));
  refresh();
}

void TransformerField::refresh() {
  if (space_.is_uniform() || (by_block_.defined() && by_block_.device() == embedding_.device())) return;
  by_block_ = space_.variables_from_blocks(embedding_.device()).argsort();
  space_.starts(embedding_.device());  // made now, since no copy to the device may be part of a CUDA graph
}

FieldReads TransformerField::reads() const { return reads_of(space_); }

bool TransformerField::embeds_labels() const { return shared_ && reads() != FieldReads::standardised; }

void TransformerField::fit(const DataSource& source) {
  const torch::NoGradGuard no_grad;
  bias_.copy_(log_frequencies(source, rotary_));
}

// Tokens of variables that share their labels: one matrix product for all. [B, n, width]
torch::Tensor TransformerField::shared_tokens(const FieldInput& input) const {
  const int64_t B = input.W.size(0);
  const int64_t c = space_.max_labels();
  const auto type = embedding_.scalar_type();
  auto x = torch::matmul(input.W.view({B, -1, c}).to(type), embedding_);
  if (embeds_labels() && input.known.defined()) {
    const auto of_known = embedding_.index_select(0, input.known.clamp_min(0).flatten()).view_as(x);
    x = torch::where((input.known >= 0).unsqueeze(2), of_known, x);
  }
  if (evidence_.defined()) x = x + torch::matmul(input.standardised.view({B, -1, c}).to(type), evidence_);
  x = torch::addcmul(x, input.strength.log1p().to(type).unsqueeze(2), strength_);
  return position_.defined() ? x + position_ : x;
}

// Tokens of columns, each with its own embeddings. [B, n, width] Where no kernel serves: one batched product for all
// columns with c labels, with strength and position as two more rows of the matrix.
torch::Tensor TransformerField::column_tokens(const FieldInput& input) const {
  const kernels::ColumnWeights all{embedding_, evidence_, strength_, position_};
  const kernels::ColumnsSeen columns{input.W, input.standardised, input.strength};
  if (fuses_column_tokens(space_, columns, all)) return fused_column_tokens(space_, columns, all);
  const int64_t B = input.W.size(0);
  const int64_t d = options_.width;
  const auto type = embedding_.scalar_type();
  const auto device = input.W.device();
  const auto strength = input.strength.log1p();
  std::vector<torch::Tensor> parts;  // [n_c, B, width] each
  int64_t first = 0;
  for (const Block& block : space_.blocks(device)) {
    const int64_t n = block.n_variables;
    const int64_t c = block.n_labels;
    const bool with_evidence = c <= kMostStandardised;
    const auto rows = by_block_.defined() ? by_block_.slice(0, first, first + n) : torch::Tensor();
    const auto of_variables = [&](const torch::Tensor& x, int64_t axis) {
      return rows.defined() ? x.index_select(axis, rows) : x;
    };
    const auto of_labels = [&](const torch::Tensor& x) {
      return (rows.defined() ? x.index_select(0, block.coordinates) : x).view({n, c, d});
    };
    std::vector<torch::Tensor> seen{block_parts(space_, block, {input.W})[0]};
    std::vector<torch::Tensor> weights{of_labels(embedding_)};
    if (with_evidence) {
      seen.push_back(block_parts(space_, block, {input.standardised})[0]);
      weights.push_back(of_labels(evidence_));
    }
    seen.push_back(of_variables(strength, 1).unsqueeze(2));
    seen.push_back(torch::ones({1, 1, 1}, strength.options()).expand({B, n, 1}));
    weights.push_back(strength_.unsqueeze(0).expand({n, 1, d}));
    weights.push_back(of_variables(position_, 0).unsqueeze(1));
    parts.push_back(torch::bmm(torch::cat(seen, 2).to(type).transpose(0, 1), torch::cat(weights, 1)));
    first += n;
  }
  if (!by_block_.defined()) return parts[0].transpose(0, 1).contiguous();
  return torch::cat(parts, 0).index_select(0, space_.variables_from_blocks(device)).transpose(0, 1).contiguous();
}

torch::Tensor TransformerField::tokens(const FieldInput& input) const {
  return shared_ ? shared_tokens(input) : column_tokens(input);
}

// Rotates pairs of numbers of x [B, heads, n, part] by angles proportional to the position.
torch::Tensor TransformerField::rotated(const torch::Tensor& x) const {
  const int64_t half = x.size(3) / 2;
  const auto options = x.options().dtype(torch::kFloat32).requires_grad(false);
  const auto speed = (torch::arange(half, options) * (-std::log(kLongestTurn) / static_cast<double>(half))).exp();
  const auto angle = torch::arange(x.size(2), options).unsqueeze(1) * speed;
  const auto cos = angle.cos().to(x.scalar_type());
  const auto sin = angle.sin().to(x.scalar_type());
  const auto parts = x.chunk(2, 3);
  return torch::cat({parts[0] * cos - parts[1] * sin, parts[0] * sin + parts[1] * cos}, 3);
}

torch::Tensor TransformerField::attention(const Layer& layer, const torch::Tensor& x) const {
  const int64_t B = x.size(0);
  const int64_t n = x.size(1);
  const int64_t d = options_.width;
  const auto parts = torch::matmul(x, layer.qkv.t()).view({B, n, 3, options_.heads, d / options_.heads}).unbind(2);
  auto q = parts[0].transpose(1, 2);
  auto k = parts[1].transpose(1, 2);
  if (rotary_) {
    q = rotated(q);
    k = rotated(k);
  }
  const auto mixed = torch::scaled_dot_product_attention(q, k, parts[2].transpose(1, 2));
  return torch::matmul(mixed.transpose(1, 2).reshape({B, n, d}), layer.mix.t());
}

// The last tokens times the label embeddings, plus the bias: [B, S].
torch::Tensor TransformerField::message(const torch::Tensor& tokens) const {
  const int64_t B = tokens.size(0);
  const auto y = torch::matmul(tokens, out_.t());
  const auto device = tokens.device();
  if (shared_) {
    const auto logits = torch::matmul(y, embedding_.t()).to(bias_.scalar_type());
    return rotary_ ? (logits + bias_).flatten(1) : logits.flatten(1) + bias_;
  }
  if (fuses_column_logits(space_, y, embedding_, bias_)) return fused_column_logits(space_, y, embedding_, bias_);
  if (space_.is_uniform()) {
    const auto labels = embedding_.view({space_.n_variables(), -1, options_.width});
    return torch::bmm(y.transpose(0, 1), labels.transpose(1, 2))
               .transpose(0, 1)
               .reshape({B, -1})
               .to(bias_.scalar_type()) +
           bias_;
  }
  const auto by_block = y.transpose(0, 1).index_select(0, by_block_);
  std::vector<torch::Tensor> parts;
  int64_t first = 0;
  for (const Block& block : space_.blocks(device)) {
    const auto labels = embedding_.index_select(0, block.coordinates).view({block.n_variables, block.n_labels, -1});
    const auto of_block = by_block.slice(0, first, first + block.n_variables);
    parts.push_back(torch::bmm(of_block, labels.transpose(1, 2)).transpose(0, 1).reshape({B, -1}));
    first += block.n_variables;
  }
  const auto all = torch::cat(parts, 1).index_select(1, space_.coordinates_from_blocks(device));
  return all.to(bias_.scalar_type()) + bias_;
}

torch::Tensor TransformerField::forward(const FieldInput& input) {
  if (!input.strength.defined()) fail("a transformer needs evidence: model.form = \"evidence\"");
  const bool drops = is_training() && input.training.first.defined() && dropout_ > 0.0;
  const auto first_row = drops ? input.training.first * space_.n_variables() : torch::Tensor();
  int64_t n_drops = 0;
  const auto next_dropout = [&]() -> kernels::Dropout {
    if (!drops) return {};
    return {dropout_, RandomStream(input.training.seed, Purpose::dropout).part(n_drops++), first_row};
  };
  auto x = tokens(standardised_ ? input : only_point(input));
  torch::Tensor branch;
  for (const Layer& layer : layers_) {
    const auto before =
        add_norm(x, branch, layer.norm_attention, branch.defined() ? next_dropout() : kernels::Dropout{});
    const auto after = add_norm(before.sum, attention(layer, before.normal), layer.norm_mlp, next_dropout());
    x = after.sum;
    branch = torch::matmul(gate(torch::matmul(after.normal, layer.up.t())), layer.down.t());
  }
  return message(add_norm(x, branch, norm_, next_dropout()).normal).to(input.W.scalar_type());
}

int64_t TransformerField::shard_rows() const {
  constexpr int64_t kNumbers = 1 << 22;  // activations of a shard: products large enough to be fast, yet within caches
  return std::clamp<int64_t>(kNumbers / n_activations(), 1, 256);
}

std::vector<std::string> TransformerField::layers() const { return lines_of(space_, options_); }

NetKind transformer_kind() {
  return {.name = "transformer",
          .help = "attention between variables, for tables and sequences and model.form = \"evidence\"",
          .make = [](const Space& space, const NetOptions& options,
                     uint64_t seed) { return std::make_shared<TransformerField>(space, options, seed); },
          .declare = declare_transformer_keys,
          .count = count_transformer_parameters,
          .outline = outline_of,
          .describe =
              [](const NetOptions& options) {
                const auto& own = options.of<TransformerOptions>();
                return concat("transformer with ", own.layers, " layers of width ", own.width);
              },
          .evidence_only = true,
          .reducible = true,
          .reducible_on_cpu = true};
}

}  // namespace segre
