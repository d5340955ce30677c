#pragma once  // internal

/// Names of the tensors in Trainer::state() and in checkpoints. No other code spells them out. Those that end in a
/// point are followed by the name of a parameter or buffer of the network.
namespace segre::state_names {

inline constexpr const char* kWeights = "weights.";
inline constexpr const char* kAverages = "ema.";         ///< the averaged weights
inline constexpr const char* kMeans = "adam.m.";         ///< running mean of a weight's gradient
inline constexpr const char* kSquares = "adam.v.";       ///< and of its square
inline constexpr const char* kBuffers = "buffers.";      ///< what the network keeps besides its parameters
inline constexpr const char* kStep = "adam.step";        ///< int64
inline constexpr const char* kTimeSum = "time_law.sum";  ///< [TimeLaw::kBins] float64
inline constexpr const char* kTimeMass = "time_law.mass";
inline constexpr const char* kLossWindow = "metrics.window";  ///< [2] float64: the sum and number of unlogged losses

/// The prefix of the weights that samplers and likelihoods use.
inline const char* weights_in_use(bool averaged) { return averaged ? kAverages : kWeights; }

}  // namespace segre::state_names
