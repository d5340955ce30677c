#pragma once  // internal

#include <optional>
#include <vector>

#include "segre/ranks/ranks.h"

namespace segre {

/// How the optimiser's state is divided among ranks: each keeps that of its own numbers of every parameter. All ranks
/// make the same calls.
class StateShares {
 public:
  virtual ~StateShares() = default;
  /// Whether this is rank 0, the one that saves.
  virtual bool is_first() const = 0;
  /// Whether every rank keeps all weights in float32, since those are what ranks give each other; otherwise its own.
  virtual bool keeps_all_weights() const = 0;
  /// The numbers of parameter k, in the order of its memory, whose state this rank keeps.
  virtual Rows own(size_t k) const = 0;
  /// All of something of which every rank has parts, such as the averaged weights, shaped like the parameters, on
  /// `where`; undefined tensors if this rank asks for nothing. parts[k] has own(k).count() numbers in the order of
  /// memory; undefined if that is none.
  virtual std::vector<torch::Tensor> whole(const std::vector<torch::Tensor>& parts,
                                           const std::optional<torch::Device>& where) = 0;
};

}  // namespace segre
