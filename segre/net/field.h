#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "segre/core/rng.h"
#include "segre/data/source.h"
#include "segre/path/state.h"

namespace segre {

/// The cost of one item.
struct NetCost {
  int64_t n_parameters = 0;
  double forward_flops = 0;   ///< multiply and add counted as two
  double training_flops = 0;  ///< forward and backward
  int64_t n_saved = 0;        ///< numbers kept for the backward pass
};

/// What is known of a network before its weights exist.
struct NetOutline {
  NetCost cost;                     ///< Field::cost
  std::vector<std::string> layers;  ///< Field::layers
  bool couples_items = false;       ///< Field::couples_items
};

/// Named tensors in order of creation.
using NamedList = std::vector<std::pair<std::string, torch::Tensor>>;

/// What a network is shown of a state.
struct FieldInput {
  torch::Tensor W;  ///< [B, S] a point of the simplex per variable; the form of the model decides which, see Model
  torch::Tensor t;  ///< [B] or [1] time; ignored by fields without time
  /// [B, n] how much is known of each variable: the variance g of the log-likelihood ratio of two labels given the
  /// label; 0 without evidence, that of the decision time if the label is known. Undefined unless the field reads it.
  torch::Tensor strength{};
  /// [B, S] the evidence e / sqrt(g + 1), whose noise has the same size at all times. Undefined unless the field reads
  /// it.
  torch::Tensor standardised{};
  torch::Tensor known{};    ///< [B, n] Known::labels; undefined if nothing is known
  TrainingRows training{};  ///< for dropout
};

/// The same without evidence beyond W: strength and standardised evidence are 0.
FieldInput only_point(const FieldInput& input);

/// What a field reads besides W and t, so that nothing is computed in vain. Only the evidence form has more.
enum class FieldReads { point, strength, standardised };

/// The network F_theta, the only interface that later stages see: it maps what it is shown to any real values [B, S],
/// where adding a constant per variable changes nothing. A program may supply its own: recipes/custom_field.h lists
/// the requirements. Threads call forward() at the same time.
class Field {
 public:
  virtual ~Field() = default;
  Field() = default;
  Field(const Field&) = delete;
  Field& operator=(const Field&) = delete;

  virtual torch::Tensor forward(const FieldInput& input) = 0;
  /// What forward reads; `standardised` includes the strength.
  virtual FieldReads reads() const { return FieldReads::point; }
  /// Whether forward looks up the known labels in FieldInput::known by itself. W then need not show their corners, of
  /// which there may be 65,536 numbers each.
  virtual bool embeds_labels() const { return false; }
  /// Looks at the data before the first step of a training: what can be counted need not be learned.
  virtual void fit(const DataSource& /*source*/) {}
  /// Called after buffers changed (fit, a loaded checkpoint, another device), for what is derived from them.
  virtual void refresh() {}
  /// Whether items of a batch influence each other, as in batch normalisation; such batches are not split.
  virtual bool couples_items() const { return !buffers_.empty(); }
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
  /// Batch normalisation uses the batch's statistics while training, the running ones otherwise. Writes nothing if it
  /// is so already: threads may share a network in use.
  void set_training(bool training) {
    if (training_ != training) training_ = training;
  }
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
