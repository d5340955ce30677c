#pragma once  // internal

#include <cstdint>
#include <string>
#include <vector>

#include "segre/net/field.h"
#include "segre/space/space.h"

namespace segre {

/// Size of a UNet.
struct UNetOptions {
  int64_t channels = 32;                          ///< channels at full resolution
  std::vector<int64_t> channel_mult = {1, 2, 2};  ///< factor on `channels` per level; each level halves height and
                                                  ///< width
  int64_t res_blocks = 2;                         ///< residual blocks per level
  std::vector<int64_t> attention_at = {};         ///< image heights at which blocks are followed by attention
  int64_t heads = 4;                              ///< attention heads
};

/// One layer of a UNet and the extent of its output.
struct UNetLayer {
  enum class Kind { conv, residual, attention, down, up };
  Kind kind;
  std::string name;  ///< prefix of its parameters, as in the public implementation: "input_blocks.3.1."
  int64_t in;        ///< channels
  int64_t out;
  int64_t height;
  int64_t width;
};

/// The layers of the UNet of Dhariwal and Nichol (Diffusion models beat GANs on image synthesis, 2021), in order of
/// execution. Each stage of `input` passes its output to the mirrored stage of `output`, which joins it to its own
/// input along the channels.
struct UNetPlan {
  using Stage = std::vector<UNetLayer>;
  int64_t n_labels;  ///< channels of input and output
  int64_t height;
  int64_t width;
  int64_t channels;     ///< width of the time embedding's input
  int64_t n_embedding;  ///< and of its output
  int64_t groups;       ///< of every normalisation: 32, as in the public implementation, or a quarter of `channels` if
                        ///< the channels of some level are not a multiple of 32
  std::vector<Stage> input;
  Stage middle;
  std::vector<Stage> output;

  /// All layers in order.
  std::vector<UNetLayer> layers() const;
};

/// Plans a UNet for an image space. InputError if the image cannot be halved often enough, if the channels are not a
/// multiple of four, or if the heads do not divide the channels of a level.
UNetPlan plan_unet(const Space& space, const UNetOptions& options);

/// The cost of a plan. Only matrix products and convolutions count as FLOPs.
NetCost cost_of(const UNetPlan& plan);

}  // namespace segre
