#pragma once  // internal

#include "segre/core/work.h"
#include "segre/runs/load_run.h"

namespace segre {

/// How to compare the conditionals of a model with those of the known joint distribution that it learned.
struct ConditionalsOptions {
  int64_t samples = 100'000;  ///< of each conditional
  int64_t patterns = 0;       ///< at most this many, chosen at random; 0: all
  uint64_t seed = 1;
};

/// One pattern: some labels are known, and the others are drawn.
struct ConditionalCheck {
  torch::Tensor known;           ///< [n] int64, kUnknown for those drawn
  double total_variation;        ///< between the samples and the exact conditional
  double total_variation_floor;  ///< average for exact samples
  double marginal_kl;            ///< mean over the unknown variables: exact against the model's marginals, nats
};

/// The checks, in the order of enumeration, and their averages.
struct ConditionalsResult {
  std::vector<ConditionalCheck> checks;
  double mean, floor, worst;  ///< of the total variations
  double mean_kl;             ///< of the marginals
};

/// Draws from every conditional p(x_U | x_K) with some but not all variables known and compares with the exact one.
/// InputError if the run did not learn a known joint distribution.
ConditionalsResult check_conditionals(const LoadedRun& run, const ConditionalsOptions& options,
                                      const WorkCallbacks& callbacks = {});

}  // namespace segre
