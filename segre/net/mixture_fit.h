#pragma once  // internal

#include "segre/data/source.h"

namespace segre {

/// A mixture of K products, as logits.
struct FittedMixture {
  torch::Tensor class_logits;  ///< [K] float32
  torch::Tensor label_logits;  ///< [K, S] float32
};

/// Whether a source has enough rows for K classes, and few enough labels, to fit a mixture to it in a moment.
bool can_fit_mixture(const DataSource& source, int64_t n_classes);

/// Fits it by expectation maximisation to nine tenths of the rows (at most 100,000) and stops when it gets worse on the
/// others. Unknown labels are left out; one count per class and variable, spread like the variable's labels, keeps
/// every probability above 0. Deterministic: the classes start at rows taken evenly from the source.
FittedMixture fit_mixture(const DataSource& source, int64_t n_classes);

/// The mean of log p over labels [N, n] int64 under a mixture, unknown labels left out.
double mean_log_probability(const Space& space, const FittedMixture& mixture, const torch::Tensor& labels);

}  // namespace segre
