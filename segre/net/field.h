#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "segre/core/rng.h"
#include "segre/net/unet_plan.h"
#include "segre/space/space.h"

namespace segre {

/// Tensors with their names, in the order they were made.
using NamedList = std::vector<std::pair<std::string, torch::Tensor>>;

/// The network F_theta: everything later sees only this. A program may bring one of its own: experiment/custom_field.h
/// says what it must keep to.
///
///   W   [B, S]       per variable a point of the simplex (what the form of the model shows it, see Model)
///   t   [B] or [1]   time; ignored by fields without time
///   ->  [B, S]       any real values; constants per variable change nothing
class Field {
 public:
  virtual ~Field() = default;
  Field() = default;
  Field(const Field&) = delete;
  Field& operator=(const Field&) = delete;

  virtual torch::Tensor forward(const torch::Tensor& W, const torch::Tensor& t) = 0;
  /// Numbers that one item keeps in memory during a training step, inside the network; for the memory budget.
  virtual int64_t n_activations() const = 0;
  /// Parameters, FLOPs and memory of one item. Unless a network counts its own: a product with every matrix.
  virtual NetCost cost() const;
  /// How many items one thread takes through the network at a time on the CPU, so that their activations stay close.
  virtual int64_t shard_rows() const { return 256; }

  /// What is learned, by name.
  const NamedList& parameters() const { return parameters_; }
  /// What else belongs to the network, such as running statistics, by name.
  const NamedList& buffers() const { return buffers_; }
  /// Moves all of them to a device.
  void to(torch::Device device);
  /// Turns the parameters that allow it into another type, such as bfloat16; the others stay float32.
  void reduce_precision(torch::ScalarType type);
  /// Batch normalisation uses the batch's statistics while training, the running ones otherwise.
  void set_training(bool training) { training_ = training; }
  bool is_training() const { return training_; }

 protected:
  /// Whether a parameter may be kept in a shorter type.
  enum class Precision { full, reducible };
  torch::Tensor add_parameter(const std::string& name, torch::Tensor initial, Precision precision = Precision::full);
  torch::Tensor add_buffer(const std::string& name, torch::Tensor initial);

 private:
  NamedList parameters_;
  NamedList buffers_;
  std::vector<torch::Tensor> reducible_;
  bool training_ = false;
};

/// Which network.
enum class NetKind {
  linear,        ///< one matrix, no bias: the paper's network for the coupled binary variables
  mlp,           ///< dense layers with ReLU
  latent_class,  ///< exact inference in a learned mixture of products; only for the evidence form
  unet,          ///< convolutions, attention and skips over an image, see unet.h
};

/// Numbers the network computes with. Weights are kept and learned in float32 in any case.
enum class NetPrecision {
  automatic,  ///< bfloat16 on CUDA where the network has it (unet), else float32
  float32,
  bfloat16,  ///< convolutions and attention in bfloat16, CUDA only
};

/// Which network, and how large.
struct NetOptions {
  NetKind kind = NetKind::latent_class;
  std::vector<int64_t> hidden = {256, 256};  ///< widths of the hidden layers (mlp)
  int64_t classes = 128;                     ///< number K of products in the mixture (latent_class)
  bool batch_norm = false;                   ///< batch normalisation before each dense layer (mlp), as in the paper
  int64_t time_features =
      8;                    ///< Fourier frequencies of t the network sees (mlp, linear); 0: autonomous, as in the paper
  double input_gain = 1.0;  ///< factor on the network's input (mlp): probabilities of many labels are small
  UNetOptions unet{};       ///< unet
  NetPrecision precision = NetPrecision::automatic;
};

/// Builds the network with weights that depend on the seed alone. Refuses one that would not fit into memory with its
/// gradients and Adam's moments.
std::shared_ptr<Field> make_field(const Space& space, const NetOptions& options, uint64_t seed);

/// Number of parameters.
int64_t n_parameters(const Field& field);

}  // namespace segre
