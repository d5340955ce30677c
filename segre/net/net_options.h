#pragma once

#include <string>

#include "segre/config/option_set.h"
#include "segre/config/schema.h"

namespace segre {

/// The number type that a network computes with. Weights are always stored and learned in float32.
enum class NetPrecision {
  automatic,  ///< bfloat16 on CUDA if the network supports it (unet), else float32
  float32,
  bfloat16,  ///< convolutions and attention in bfloat16, CUDA only
};

/// The kind of network and the options that all kinds share. Each kind has its own struct of options:
/// options.of<MlpOptions>().
struct NetOptions : OptionSet {
  std::string kind = "latent_class";  ///< see net_kinds()
  int64_t time_features = 8;          ///< Fourier frequencies of t as inputs (mlp, linear); 0: autonomous, as in the
                                      ///< paper
  double dropout = 0.0;               ///< share of each layer's output that training drops (transformer, residual)
  bool standardised = true;  ///< show the standardised evidence and its strength (transformer, residual); false: only
                             ///< W, to see what they are worth
  NetPrecision precision = NetPrecision::automatic;
};

}  // namespace segre
