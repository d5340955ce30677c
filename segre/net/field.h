#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "segre/core/rng.h"
#include "segre/net/net_cost.h"
#include "segre/space/space.h"

namespace segre {

/// Named tensors in order of creation.
using NamedList = std::vector<std::pair<std::string, torch::Tensor>>;

/// The network F_theta, the only interface that later stages see. A program may supply its own:
/// experiment/custom_field.h lists the requirements.
///
///   W   [B, S]       a point of the simplex per variable; the form of the model decides which, see Model
///   t   [B] or [1]   time; ignored by fields without time
///   ->  [B, S]       any real values; adding a constant per variable changes nothing
class Field {
 public:
  virtual ~Field() = default;
  Field() = default;
  Field(const Field&) = delete;
  Field& operator=(const Field&) = delete;

  virtual torch::Tensor forward(const torch::Tensor& W, const torch::Tensor& t) = 0;
  /// Number of values inside the network that one item keeps in memory during a training step; for the memory budget.
  virtual int64_t n_activations() const = 0;
  /// Parameters, FLOPs and memory of one item. The default counts one product with every matrix.
  virtual NetCost cost() const;
  /// How many items one CPU thread passes through the network at a time, so that their activations stay in cache.
  virtual int64_t shard_rows() const { return 256; }
  /// Its layers in order, one line of text each; may be empty.
  virtual std::vector<std::string> layers() const { return {}; }

  /// The learned tensors, by name.
  const NamedList& parameters() const { return parameters_; }
  /// Other tensors of the network, such as running statistics, by name.
  const NamedList& buffers() const { return buffers_; }
  /// Moves parameters and buffers to a device.
  void to(torch::Device device);
  /// Converts the reducible parameters to another type, such as bfloat16; the others stay float32.
  void reduce_precision(torch::ScalarType type);
  /// Batch normalisation uses the batch's statistics while training, the running ones otherwise.
  void set_training(bool training) { training_ = training; }
  bool is_training() const { return training_; }

 protected:
  /// Whether a parameter may be stored in a shorter type.
  enum class Precision { full, reducible };
  torch::Tensor add_parameter(const std::string& name, torch::Tensor initial, Precision precision = Precision::full);
  torch::Tensor add_buffer(const std::string& name, torch::Tensor initial);

 private:
  NamedList parameters_;
  NamedList buffers_;
  std::vector<torch::Tensor> reducible_;
  bool training_ = false;
};

/// Number of parameters.
int64_t n_parameters(const Field& field);

}  // namespace segre
