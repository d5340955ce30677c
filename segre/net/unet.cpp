#include "segre/net/unet.h"

#include <cmath>
#include <iomanip>

#include "segre/core/error.h"
#include "segre/kernels/bias.h"
#include "segre/kernels/group_norm.h"
#include "segre/net/layers.h"

namespace segre {
namespace {

void declare_unet_keys(ConfigSchema& schema, NetOptions& options) {
  auto& own = options.of<UNetOptions>();
  schema.integer("net.channels", &own.channels, {1, 4096}, Later::fixed, "channels at full resolution (unet)");
  schema.integers("net.channel_mult", &own.channel_mult, {1, 64}, Later::fixed, "factor on channels per level (unet)");
  schema.integer("net.res_blocks", &own.res_blocks, {1, 64}, Later::fixed, "residual blocks per level (unet)");
  schema.integers("net.attention_at", &own.attention_at, {1, 65536}, Later::fixed,
                  "image heights with attention (unet)");
  schema.integer("net.heads", &own.heads, {1, 1024}, Later::fixed, "attention heads (unet)");
}

constexpr double kTimeScale = 1000.0;    // the network sees 1000 t
constexpr double kLongestPeriod = 1e4;   // of the sinusoids, in units of that
constexpr int64_t kAlignedChannels = 8;  // tensor cores need channels in multiples of eight

// [cos(1000 t w_k), sin(1000 t w_k)] with w_k falling geometrically from 1 to 1/10000: t [B] -> [B, dims].
torch::Tensor time_embedding(const torch::Tensor& t, int64_t dims) {
  const int64_t half = dims / 2;
  const auto frequencies =
      (torch::arange(half, t.options()) * (-std::log(kLongestPeriod) / static_cast<double>(half))).exp();
  const auto angle = (kTimeScale * t).unsqueeze(1) * frequencies;
  return torch::cat({angle.cos(), angle.sin()}, 1);
}

// h + skip + bias for [N, pixels, channels]; skip may be undefined.
torch::Tensor add(const torch::Tensor& h, const torch::Tensor& skip, const torch::Tensor& bias) {
  return add_bias(h.flatten(0, 1), skip.defined() ? skip.flatten(0, 1) : skip, bias).view(h.sizes());
}

// One line of text per layer.
std::vector<std::string> lines_of(const UNetPlan& plan) {
  static const char* const kNames[] = {"conv", "residual", "attention", "down", "up"};
  std::vector<std::string> lines;
  for (const UNetLayer& layer : plan.layers())
    lines.push_back(concat(std::left, std::setw(22), layer.name.substr(0, layer.name.size() - 1), std::setw(10),
                           kNames[static_cast<int>(layer.kind)], std::right, std::setw(4), layer.in, " -> ", std::left,
                           std::setw(4), layer.out, std::right, "  ", layer.height, "x", layer.width));
  return lines;
}

}  // namespace

// Creates parameters with the names and initialisation of the public implementation.
class UNetField::Builder {
 public:
  Builder(UNetField& field, uint64_t seed) : field_(field), source_(seed) {}

  Affine norm(const std::string& name, int64_t channels) {
    return {field_.add_parameter(name + "weight", torch::ones({channels})),
            field_.add_parameter(name + "bias", torch::zeros({channels}))};
  }

  Affine linear(const std::string& name, int64_t in, int64_t out) {
    const double bound = 1.0 / std::sqrt(static_cast<double>(in));
    return {field_.add_parameter(name + "weight", source_.uniform({out, in}, bound)),
            field_.add_parameter(name + "bias", source_.uniform({out}, bound))};
  }

  /// A convolution; `gain` 0 makes it start at zero, as the last one of every block does.
  Affine conv(const std::string& name, std::vector<int64_t> shape, double gain = 1.0) {
    double fan_in = 1.0;
    for (size_t k = 1; k < shape.size(); ++k) fan_in *= static_cast<double>(shape[k]);
    const double bound = gain / std::sqrt(fan_in);
    auto weight = source_.uniform(shape, bound);
    if (shape.size() == 4) weight = weight.contiguous(at::MemoryFormat::ChannelsLast);
    return {field_.add_parameter(name + "weight", weight, Precision::reducible),
            field_.add_parameter(name + "bias", source_.uniform({shape[0]}, bound))};
  }

 private:
  UNetField& field_;
  WeightSource source_;
};

UNetField::UNetField(const Space& space, const UNetOptions& options, uint64_t seed)
    : plan_(plan_unet(space, options)), cost_(cost_of(plan_)), heads_(options.heads) {
  Builder builder(*this, seed);
  time_in_ = builder.linear("time_embed.0.", plan_.channels, plan_.n_embedding);
  time_out_ = builder.linear("time_embed.2.", plan_.n_embedding, plan_.n_embedding);
  for (const auto& stage : plan_.input) input_.push_back(build(builder, stage));
  middle_ = build(builder, plan_.middle);
  for (const auto& stage : plan_.output) output_.push_back(build(builder, stage));
  const int64_t last = plan_.output.back().back().out;
  last_norm_ = builder.norm("out.0.", last);
  last_conv_ = builder.conv("out.2.", {plan_.n_labels, last, 3, 3}, /*gain=*/0.0);
}

UNetField::Stage UNetField::build(Builder& builder, const UNetPlan::Stage& stage) {
  Stage layers;
  for (const UNetLayer& plan : stage) {
    Layer layer;
    layer.plan = plan;
    const auto& [kind, name, in, out, height, width] = plan;
    switch (kind) {
      case UNetLayer::Kind::conv:
        layer.conv = builder.conv(name, {out, in, 3, 3});
        break;
      case UNetLayer::Kind::down:
        layer.conv = builder.conv(name + "op.", {out, in, 3, 3});
        break;
      case UNetLayer::Kind::up:
        layer.conv = builder.conv(name + "conv.", {out, in, 3, 3});
        break;
      case UNetLayer::Kind::attention:
        layer.norm_in = builder.norm(name + "norm.", in);
        layer.qkv = builder.conv(name + "qkv.", {3 * in, in, 1});
        layer.project = builder.conv(name + "proj_out.", {in, in, 1}, /*gain=*/0.0);
        break;
      case UNetLayer::Kind::residual:
        layer.norm_in = builder.norm(name + "in_layers.0.", in);
        layer.conv_in = builder.conv(name + "in_layers.2.", {out, in, 3, 3});
        layer.embedding = builder.linear(name + "emb_layers.1.", plan_.n_embedding, out);
        layer.norm_out = builder.norm(name + "out_layers.0.", out);
        layer.conv_out = builder.conv(name + "out_layers.3.", {out, out, 3, 3}, /*gain=*/0.0);
        if (in != out) layer.skip = builder.conv(name + "skip_connection.", {out, in, 1, 1});
        layer.shift_at = static_cast<int64_t>(embeddings_.size());
        embeddings_.push_back(layer.embedding);
        break;
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

int64_t UNetField::shard_rows() const {
  // About 64 MB of saved activations per thread: products large enough to be fast, tensors small enough for the caches.
  constexpr int64_t kNumbers = 1 << 24;
  return std::clamp<int64_t>(kNumbers / cost_.n_saved, 1, 256);
}

// The shift from time before the second norm of each residual block, [N, out] each: one product for all blocks.
std::vector<torch::Tensor> UNetField::time_shifts(const torch::Tensor& t, int64_t n_items) const {
  auto h = torch::linear(time_embedding(t, plan_.channels), time_in_.weight, time_in_.bias);
  h = torch::silu(torch::linear(torch::silu(h), time_out_.weight, time_out_.bias));
  std::vector<torch::Tensor> weights;
  std::vector<torch::Tensor> biases;
  std::vector<int64_t> sizes;
  for (const Affine& embedding : embeddings_) {
    weights.push_back(embedding.weight);
    biases.push_back(embedding.bias);
    sizes.push_back(embedding.bias.size(0));
  }
  auto all = torch::linear(h, torch::cat(weights), torch::cat(biases));
  return all.expand({n_items, -1}).split_with_sizes(sizes, 1);
}

UNetField::Feature UNetField::convolve(const Feature& h, const torch::Tensor& weight, int64_t stride) {
  const auto image = h.x.view({h.x.size(0), h.height, h.width, h.x.size(2)}).permute({0, 3, 1, 2});
  const auto out = torch::conv2d(image, weight, {}, stride, /*padding=*/1).permute({0, 2, 3, 1}).contiguous();
  return {out.view({out.size(0), out.size(1) * out.size(2), out.size(3)}), out.size(1), out.size(2)};
}

UNetField::Feature UNetField::upsample(const Feature& h) {
  const auto image = h.x.view({h.x.size(0), h.height, h.width, h.x.size(2)}).permute({0, 3, 1, 2});
  const auto out = torch::upsample_nearest2d(image, {2 * h.height, 2 * h.width}).permute({0, 2, 3, 1}).contiguous();
  return {out.view({out.size(0), -1, out.size(3)}), 2 * h.height, 2 * h.width};
}

UNetField::Feature UNetField::residual(const Layer& layer, const Feature& h, const torch::Tensor& shift) const {
  auto y = group_norm(h.x, layer.norm_in.weight, layer.norm_in.bias, {}, plan_.groups, NormActivation::silu);
  auto out = convolve({y, h.height, h.width}, layer.conv_in.weight, 1);
  // The convolution's bias and the time embedding shift whole channels, so the norm adds them.
  out.x = group_norm(out.x, layer.norm_out.weight, layer.norm_out.bias, shift + layer.conv_in.bias, plan_.groups,
                     NormActivation::silu);
  out = convolve(out, layer.conv_out.weight, 1);
  if (!layer.skip.weight.defined()) {
    out.x = add(out.x, h.x, layer.conv_out.bias);
    return out;
  }
  const auto straight = torch::matmul(h.x, layer.skip.weight.flatten(1).t());
  out.x = add(out.x, straight, layer.conv_out.bias + layer.skip.bias);
  return out;
}

UNetField::Feature UNetField::attention(const Layer& layer, const Feature& h) const {
  const int64_t N = h.x.size(0);
  const int64_t T = h.x.size(1);
  const int64_t C = h.x.size(2);
  const auto y = group_norm(h.x, layer.norm_in.weight, layer.norm_in.bias, {}, plan_.groups, NormActivation::none);
  const auto qkv = add(torch::matmul(y, layer.qkv.weight.squeeze(2).t()), {}, layer.qkv.bias);
  // Channels are [head, (q, k, v), dimension]; attention takes [N, head, T, dimension], which is a view.
  const auto parts = qkv.view({N, T, heads_, 3, C / heads_}).unbind(3);
  const auto mixed =
      torch::scaled_dot_product_attention(parts[0].transpose(1, 2), parts[1].transpose(1, 2), parts[2].transpose(1, 2));
  const auto out = torch::matmul(mixed.transpose(1, 2).reshape({N, T, C}), layer.project.weight.squeeze(2).t());
  return {add(out, h.x, layer.project.bias), h.height, h.width};
}

UNetField::Feature UNetField::run(const Stage& stage, Feature h, const std::vector<torch::Tensor>& shifts) const {
  for (const Layer& layer : stage) {
    switch (layer.plan.kind) {
      case UNetLayer::Kind::residual:
        h = residual(layer, h, shifts[layer.shift_at]);
        break;
      case UNetLayer::Kind::attention:
        h = attention(layer, h);
        break;
      case UNetLayer::Kind::up:
        h = upsample(h);
        [[fallthrough]];
      default:
        h = convolve(h, layer.conv.weight, layer.plan.kind == UNetLayer::Kind::down ? 2 : 1);
        h.x = add(h.x, {}, layer.conv.bias);
    }
  }
  return h;
}

// Pads the labels with zeros, so that tensor cores can be used for images with few labels.
torch::Tensor UNetField::padded(const torch::Tensor& x, int64_t axis) const {
  const int64_t missing = (kAlignedChannels - plan_.n_labels % kAlignedChannels) % kAlignedChannels;
  if (missing == 0 || !x.is_cuda() || x.scalar_type() != torch::kBFloat16) return x;
  std::vector<int64_t> amounts(2 * (x.dim() - axis), 0);
  amounts.back() = missing;
  return torch::constant_pad_nd(x, amounts);
}

torch::Tensor UNetField::forward(const FieldInput& input) {
  const auto& W = input.W;
  const int64_t N = W.size(0);
  const auto type = last_conv_.weight.scalar_type();
  const auto shifts = time_shifts(input.t, N);
  Feature h{padded(W.view({N, plan_.height * plan_.width, plan_.n_labels}).to(type), 2), plan_.height, plan_.width};
  h = convolve(h, padded(input_[0][0].conv.weight, 1), 1);
  h.x = add(h.x, {}, input_[0][0].conv.bias);
  std::vector<torch::Tensor> skips{h.x};
  for (size_t k = 1; k < input_.size(); ++k) {
    h = run(input_[k], h, shifts);
    skips.push_back(h.x);
  }
  h = run(middle_, h, shifts);
  for (const Stage& stage : output_) {
    h.x = torch::cat({h.x, skips.back()}, 2);
    skips.pop_back();
    h = run(stage, h, shifts);
  }
  h.x = group_norm(h.x, last_norm_.weight, last_norm_.bias, {}, plan_.groups, NormActivation::silu);
  h = convolve(h, padded(last_conv_.weight, 0), 1);
  const auto out = h.x.narrow(2, 0, plan_.n_labels).to(W.scalar_type()) + last_conv_.bias;
  return out.flatten(1);
}

std::vector<std::string> UNetField::layers() const { return lines_of(plan_); }

NetKind unet_kind() {
  return {.name = "unet",
          .help = "convolutions and attention, for images",
          .make = [](const Space& space, const NetOptions& options,
                     uint64_t seed) { return std::make_shared<UNetField>(space, options.of<UNetOptions>(), seed); },
          .declare = declare_unet_keys,
          .count =
              [](const Space& space, const NetOptions& options) {
                return static_cast<double>(cost_of(plan_unet(space, options.of<UNetOptions>())).n_parameters);
              },
          .outline =
              [](const Space& space, const NetOptions& options) {
                const UNetPlan plan = plan_unet(space, options.of<UNetOptions>());
                return NetOutline{cost_of(plan), lines_of(plan)};
              },
          .describe =
              [](const NetOptions& options) {
                return concat("UNet with ", options.of<UNetOptions>().channels, " channels");
              },
          .reducible = true};
}

}  // namespace segre
