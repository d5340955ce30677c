#pragma once  // internal

#include <functional>

#include "segre/core/rng.h"
#include "segre/flow/draw.h"
#include "segre/path/state.h"
#include "segre/runs/load_run.h"
#include "segre/tasks/condition.h"

namespace segre {

/// The marginals p(x_i = j | known) of open variables: [R] rows of what is known -> [R, S] float64, see
/// Sampler::probabilities.
using AskMarginals = std::function<torch::Tensor(const Known& known)>;

/// How finely a condition is split, see split_condition.
struct SplitOptions {
  /// The most cases of an item that have a label each. More labels stay together in one case, as evidence for all of
  /// them.
  int64_t most = 512;
  /// Whether the probability of labels that are known for certain counts, too; it needs an evaluation for each.
  bool counts_labels = true;
};

/// A condition as cases that exclude each other, each of which is evidence that a flow accepts: p(x | condition) is the
/// mixture of p(x | case) with weights P(case)/P(condition).
///
/// A set of labels, or a range, is a set of cases: one for each label. A range that ends within a label which several
/// levels share is one for each of those levels: evidence on both variables could not say that only some levels of that
/// label alone are meant. The chain rule over the columns gives the probabilities,
///
///   P(case) = prod_i p(x_i = j_i | x_1 = j_1, ..., what else is known) share(j_i)
///
/// with the share of the level's values that lie inside. It is exact if the model's marginals are.
struct ConditionCases {
  Known known;                 ///< what is known in each case, [R] rows
  torch::Tensor log_p;         ///< [R] float64: log P(case | what is known of its item)
  std::vector<int64_t> first;  ///< the first case of each item, and R last

  int64_t n_items() const { return static_cast<int64_t>(first.size()) - 1; }
  /// log P(condition | what is known of the item), [items] float64; -infinity if they contradict each other.
  torch::Tensor log_p_of_items() const;
  /// One case of each item, [items] int64, drawn by their probabilities with number first_item + k of the stream.
  torch::Tensor draw(const RandomStream& random, uint64_t first_item) const;
  /// `count` cases of the first item, with numbers first_sample, first_sample + 1, ...
  torch::Tensor draw_of_first(int64_t count, const RandomStream& random, uint64_t first_sample) const;

 private:
  int64_t case_at(int64_t item, const RandomStream& random, uint64_t number) const;
};

/// Splits a condition, given what else is known of items: labels [B, n], log-likelihoods [B, S] or none. Cases of
/// probability 0 are left out.
ConditionCases split_condition(const Space& space, const Condition& condition, const Known& known,
                               const AskMarginals& ask, const SplitOptions& options = {});

/// The log density of the numbers and dates that a condition states exactly, given their levels; `is_density`: whether
/// there are any.
struct StatedDensity {
  double log = 0.0;
  bool is_density = false;
};
StatedDensity stated_density(const Space& space, const Condition& condition);

/// The probability of a condition when nothing else is known, with notes: the number itself, and a warning if training
/// had next to nothing like it. InputError, starting with `what`, if it is impossible. Nothing for an empty condition.
std::optional<ConditionReport> report_condition(const LoadedRun& run, const Condition& condition,
                                                const AskMarginals& ask, const std::string& what);

/// How many rows a run learned from; NaN if that is not known.
double trained_rows(const LoadedRun& run);

/// The marginals of a sampler, which must live as long as what is returned.
AskMarginals ask_of(const Sampler& sampler);

/// What a condition makes known of samples: the cases that the sampler's seed draws for them. Empty if it is empty.
GivenRows rows_given(const Condition& condition, std::shared_ptr<const Sampler> sampler, uint64_t seed);

/// The random numbers that choose cases of samples.
inline RandomStream case_numbers(uint64_t seed) { return RandomStream(seed, Purpose::fill_order).part(1); }

}  // namespace segre
