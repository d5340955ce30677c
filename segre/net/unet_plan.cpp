#include "segre/net/unet_plan.h"

#include <algorithm>

#include "segre/core/error.h"

namespace segre {
namespace {

constexpr int64_t kNormGroups = 32;  // as in the public implementation
constexpr int64_t kLeastPerGroup = 4;

// For fewer channels than in the public implementation. A norm over single channels would remove what is constant over
// a channel, which is exactly what time adds; every level has a multiple of the channels, hence at least four per
// group.
int64_t groups_of(const UNetOptions& options) {
  const bool as_public = std::all_of(options.channel_mult.begin(), options.channel_mult.end(),
                                     [&](int64_t factor) { return factor * options.channels % kNormGroups == 0; });
  return as_public ? kNormGroups : options.channels / kLeastPerGroup;
}

// Builds the stages the way the public implementation numbers them.
class Planner {
 public:
  Planner(const Space& space, const UNetOptions& options) : options_(options) {
    plan_.n_labels = space.max_labels();
    plan_.height = height_ = space.image_part()->height();
    plan_.width = width_ = space.image_part()->width();
    plan_.channels = options.channels;
    plan_.n_embedding = 4 * options.channels;
    plan_.groups = groups_of(options);
  }

  UNetPlan operator()() {
    down_the_levels();
    plan_.middle = {layer(UNetLayer::Kind::residual, "middle_block.0.", channels_),
                    layer(UNetLayer::Kind::attention, "middle_block.1.", channels_),
                    layer(UNetLayer::Kind::residual, "middle_block.2.", channels_)};
    up_the_levels();
    return plan_;
  }

 private:
  using Kind = UNetLayer::Kind;

  UNetLayer layer(Kind kind, const std::string& name, int64_t out) {
    const int64_t in = channels_;
    channels_ = out;
    return {kind, name, in, out, height_, width_};
  }

  // A residual block, followed by attention if this height has it.
  UNetPlan::Stage block(const std::string& stage, int64_t out) {
    UNetPlan::Stage layers{layer(Kind::residual, stage + "0.", out)};
    if (std::find(options_.attention_at.begin(), options_.attention_at.end(), height_) != options_.attention_at.end())
      layers.push_back(layer(Kind::attention, stage + "1.", out));
    return layers;
  }

  void add_input(UNetPlan::Stage stage) {
    skips_.push_back(stage.back().out);
    plan_.input.push_back(std::move(stage));
  }

  std::string next_input() const { return concat("input_blocks.", plan_.input.size(), "."); }

  void down_the_levels() {
    channels_ = plan_.n_labels;
    add_input({layer(Kind::conv, "input_blocks.0.0.", options_.channel_mult[0] * options_.channels)});
    for (size_t level = 0; level < options_.channel_mult.size(); ++level) {
      for (int64_t k = 0; k < options_.res_blocks; ++k)
        add_input(block(next_input(), options_.channel_mult[level] * options_.channels));
      if (level + 1 == options_.channel_mult.size()) return;
      height_ /= 2;
      width_ /= 2;
      add_input({layer(Kind::down, next_input() + "0.", channels_)});
    }
  }

  void up_the_levels() {
    for (size_t level = options_.channel_mult.size(); level-- > 0;) {
      for (int64_t k = 0; k <= options_.res_blocks; ++k) {
        channels_ += skips_.back();
        skips_.pop_back();
        const std::string name = concat("output_blocks.", plan_.output.size(), ".");
        auto stage = block(name, options_.channel_mult[level] * options_.channels);
        if (level > 0 && k == options_.res_blocks) {
          height_ *= 2;
          width_ *= 2;
          stage.push_back(layer(Kind::up, concat(name, stage.size(), "."), channels_));
        }
        plan_.output.push_back(std::move(stage));
      }
    }
  }

  UNetOptions options_;
  UNetPlan plan_{};
  int64_t channels_ = 0;
  int64_t height_;
  int64_t width_;
  std::vector<int64_t> skips_;
};

constexpr size_t kMostLevels = 17;  // the last would reduce 65,536 pixels to one

void check(const Space& space, const UNetOptions& options) {
  if (!space.is(PartKind::image))
    fail_input("net.kind = \"unet\" is for images with one set of labels; the data are a ", space.describe(),
               "; choose net.kind = \"mlp\"");
  if (options.channel_mult.empty()) fail_input("net.channel_mult is empty; expected one factor per level");
  if (options.channel_mult.size() > kMostLevels)
    fail_input("net.channel_mult has ", options.channel_mult.size(), " levels, expected at most ", kMostLevels,
               ": each halves the image");
  const int64_t shrink = int64_t{1} << (options.channel_mult.size() - 1);
  for (const int64_t extent : space.item_shape())
    if (extent % shrink != 0)
      fail_input("net.channel_mult has ", options.channel_mult.size(), " levels, which halve the image to 1/", shrink,
                 "; height and width must be multiples of ", shrink, ", the data are ", space.item_shape()[0], "x",
                 space.item_shape()[1], " (the source option pad, or height and width, makes them so)");
  if (groups_of(options) != kNormGroups && options.channels % kLeastPerGroup != 0)
    fail_input("net.channels = ", options.channels, ": expected a multiple of ", kLeastPerGroup,
               ", the channels of a group of the normalisation");
  for (const int64_t factor : options.channel_mult) {
    const int64_t channels = factor * options.channels;
    if (channels % options.heads != 0)
      fail_input("net.heads = ", options.heads, " does not divide the ", channels, " channels of a level");
  }
}

constexpr double kMostNumbers = 0x1p60;  // more than any memory holds, but its bytes still fit an integer

constexpr int64_t kTaps = 9;  // of a 3x3 convolution

int64_t parameters_of(const UNetLayer& layer, int64_t n_embedding) {
  const int64_t in = layer.in;
  const int64_t out = layer.out;
  switch (layer.kind) {
    case UNetLayer::Kind::residual:
      return 2 * in + kTaps * in * out + out + (n_embedding + 1) * out + 2 * out + kTaps * out * out + out +
             (in == out ? 0 : (in + 1) * out);
    case UNetLayer::Kind::attention:
      return 2 * in + (in + 1) * 3 * in + (in + 1) * in;
    default:
      return kTaps * in * out + out;
  }
}

double flops_of(const UNetLayer& layer, int64_t n_embedding) {
  const auto pixels = static_cast<double>(layer.height * layer.width);
  const auto in = static_cast<double>(layer.in);
  const auto out = static_cast<double>(layer.out);
  switch (layer.kind) {
    case UNetLayer::Kind::residual:
      return 2.0 * (pixels * (kTaps * in * out + kTaps * out * out + (layer.in == layer.out ? 0.0 : in * out)) +
                    static_cast<double>(n_embedding) * out);
    case UNetLayer::Kind::attention:
      return 2.0 * (pixels * 4.0 * in * in + 2.0 * pixels * pixels * in);
    default:
      return 2.0 * pixels * kTaps * in * out;
  }
}

// In float64, since many layers of a huge image overflow an integer.
double saved_by(const UNetLayer& layer) {
  const auto pixels = static_cast<double>(layer.height * layer.width);
  switch (layer.kind) {
    case UNetLayer::Kind::residual:  // joined input, two normalised inputs of convolutions, the state between them,
                                     // output
      return pixels * static_cast<double>(2 * layer.in + 3 * layer.out);
    case UNetLayer::Kind::attention:  // normalised input, q, k, v, result of attention, output
      return pixels * static_cast<double>(6 * layer.in);
    case UNetLayer::Kind::up:
      return pixels * static_cast<double>(layer.in + layer.out);
    default:
      return pixels * static_cast<double>(layer.out);
  }
}

}  // namespace

std::vector<UNetLayer> UNetPlan::layers() const {
  std::vector<UNetLayer> all;
  for (const Stage& stage : input) all.insert(all.end(), stage.begin(), stage.end());
  all.insert(all.end(), middle.begin(), middle.end());
  for (const Stage& stage : output) all.insert(all.end(), stage.begin(), stage.end());
  return all;
}

UNetPlan plan_unet(const Space& space, const UNetOptions& options) {
  check(space, options);
  return Planner(space, options)();
}

NetCost cost_of(const UNetPlan& plan) {
  NetCost cost;
  const int64_t E = plan.n_embedding;
  const int64_t last = plan.output.back().back().out;
  const int64_t pixels = plan.height * plan.width;
  // Time embedding, then the last norm and convolution.
  cost.n_parameters = (plan.channels + 1) * E + (E + 1) * E + 2 * last + (kTaps * last + 1) * plan.n_labels;
  const auto n_pixels = static_cast<double>(pixels);
  cost.forward_flops = 2.0 * (static_cast<double>((plan.channels + E) * E) +
                              n_pixels * static_cast<double>(kTaps * last * plan.n_labels));
  double saved = n_pixels * static_cast<double>(last + 2 * plan.n_labels);
  for (const UNetLayer& layer : plan.layers()) {
    cost.n_parameters += parameters_of(layer, E);
    cost.forward_flops += flops_of(layer, E);
    saved += saved_by(layer);
  }
  cost.n_saved = static_cast<int64_t>(std::min(saved, kMostNumbers));
  // Backward takes two products for each forward one; the first layer needs no gradient of its input.
  cost.training_flops = 3.0 * cost.forward_flops - flops_of(plan.input[0][0], E);
  return cost;
}

}  // namespace segre
