#pragma once  // internal

#include "segre/config/schema.h"
#include "segre/path/patterns.h"
#include "segre/path/state.h"
#include "segre/train/time_law.h"

namespace segre {

namespace kernels {
struct EvidencePlan;
}

/// What training shows the network besides the state of the flow. Train on the kinds of questions that you will ask.
enum class EvidenceKind {
  uniform,  ///< nothing: one time per item
  known,    ///< for a share of the items, the labels of a random set of variables
  any,      ///< also, for a share of the items, a time of its own for each variable
};

/// How much evidence of which kind.
struct EvidenceOptions {
  EvidenceKind kind = EvidenceKind::uniform;
  double known = 0.6;       ///< share of the items with known variables
  double own_times = 0.25;  ///< share of the items whose variables have their own times (any)
  double erased = 0.5;      ///< share of the items with known variables whose others have no evidence at all
};

/// Declares the keys train.evidence and train.evidence_*.
void declare_evidence_keys(ConfigSchema& schema, EvidenceOptions& options);

/// Draws what training shows the network: a function of (seed, item), except that variables with times of their own
/// have those of other items of the batch. All of it is done on the device, so a captured CUDA step does not need the
/// host: by kernels::draw_evidence on CUDA, which gives the same bits, else by tensor operations.
class EvidenceLaw {
 public:
  /// `unknowns`: whether labels may be kUnknown, which leaves their variables out.
  EvidenceLaw(const Space& space, const EvidenceOptions& options, Unknowns unknowns, uint64_t seed,
              torch::TensorOptions tensors);

  /// Whether nothing is ever shown, and nothing left out.
  bool is_idle() const { return options_.kind == EvidenceKind::uniform && unknowns_ == Unknowns::refuse; }

  /// Uniform numbers that decide what items first_item ... are shown: [count, numbers] float32 on the CPU.
  torch::Tensor numbers(uint64_t first_item, int64_t count) const;

  /// What items are shown.
  struct Draw {
    Known known{};
    torch::Tensor t{};      ///< [K], or [K, n] if variables have their own times
    torch::Tensor plain{};  ///< [K] bool: items that are shown nothing, for the law of times; undefined: all
  };
  /// For the items first ... first + K - 1 of a batch: their labels [K, n]; the times t [B] of the whole batch and the
  /// items' `numbers` on the device; first_cell [1] int64 there: the number of the first of these items times n.
  Draw operator()(const torch::Tensor& labels, const torch::Tensor& t, const torch::Tensor& numbers,
                  const torch::Tensor& first_cell, int64_t first = 0) const;

 private:
  kernels::EvidencePlan plan() const;  // for kernels::draw_evidence
  torch::Tensor cells(Purpose purpose, int64_t count, const torch::Tensor& first_cell) const;

  EvidenceOptions options_;
  Unknowns unknowns_;
  uint64_t seed_;
  torch::TensorOptions tensors_;
  int64_t n_;
  KnownPatterns patterns_;
};

}  // namespace segre
