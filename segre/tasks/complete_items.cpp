#include "segre/tasks/complete_items.h"

#include <algorithm>

#include "segre/core/error.h"
#include "segre/flow/shared_rows.h"

namespace segre {
namespace {

// Completes one rank's items.
CompletedItems complete_own(const Completer& completer, const Known& known, int64_t first,
                            const CompletionWanted& wanted, const WorkCallbacks& callbacks) {
  const auto number = static_cast<uint64_t>(first);
  CompletedItems done{.first = first, .known = known.labels};
  const bool best = wanted.labels && wanted.draws == 0;
  if (best || wanted.probabilities) done.probabilities = completer.probabilities(known, number);
  if (best) {
    done.labels = completer.best(done.probabilities).contiguous().unsqueeze(1);
  } else if (wanted.labels) {
    std::vector<torch::Tensor> draws;
    const int64_t at_once =
        std::max<int64_t>(1, completer.items_per_call() / std::max<int64_t>(1, known.labels.size(0)));
    for (int64_t k = 0; k < wanted.draws; k += at_once) {
      callbacks.check();
      draws.push_back(completer.draws(known, number, k, std::min(at_once, wanted.draws - k)));
    }
    done.labels = torch::cat(draws, 1);
  }
  return done;
}

}  // namespace

int64_t items_per_round(const Completer& completer) { return completer.items_per_call() * completer.ranks()->size(); }

CompletedItems complete_round(const Completer& completer, const torch::Tensor& labels, const torch::Tensor& soft,
                              int64_t first, const CompletionWanted& wanted, const WorkCallbacks& callbacks) {
  const SharedRows rows(completer.ranks(), labels.size(0), completer.rows_per_block());
  const auto [from, to] = rows.own();
  const Known known =
      completer.known_of(labels.slice(0, from, to), soft.defined() ? soft.slice(0, from, to) : torch::Tensor());
  const CompletedItems own = complete_own(completer, known, first + from, wanted, callbacks);
  CompletedItems done{.first = first, .known = rows.gather_labels(completer.space(), own.known)};
  if (own.labels.defined()) done.labels = rows.gather_labels(completer.space(), own.labels);
  if (own.probabilities.defined()) done.probabilities = rows.gather(own.probabilities);
  return done;
}

void complete_items(const Completer& completer, const torch::Tensor& labels, const torch::Tensor& soft,
                    const CompletionWanted& wanted, const std::function<void(const CompletedItems&)>& use,
                    const WorkCallbacks& callbacks) {
  const int64_t N = labels.size(0);
  const int64_t step = items_per_round(completer);
  for (int64_t first = 0; first < N; first += step) {
    const auto evidence = soft.defined() ? soft.slice(0, first, first + step) : soft;
    const CompletedItems done =
        complete_round(completer, labels.slice(0, first, first + step), evidence, first, wanted, callbacks);
    if (completer.ranks()->is_first()) use(done);
    callbacks.report({"completing", std::min(N, first + step), N});
  }
}

torch::Tensor check_evidence(const Space& space, const torch::Tensor& soft, const std::vector<int64_t>& rows,
                             const std::string& what) {
  const int64_t n_rows = rows.empty() ? 0 : rows.back() + 1;
  const int64_t S = space.n_coordinates();
  std::vector<int64_t> shaped = space.item_shape();
  shaped.push_back(space.max_labels());
  const auto row = soft.dim() > 0 ? soft.sizes().slice(1).vec() : std::vector<int64_t>();
  const bool by_variable =
      space.is_uniform() && (row == std::vector<int64_t>{space.n_variables(), space.max_labels()} || row == shaped);
  if ((row != std::vector<int64_t>{S} && !by_variable) || soft.size(0) < n_rows)
    fail_input(
        what, ": has shape ", soft.sizes(), ", expected [", n_rows, ", ", S, "]",
        space.is_uniform() ? concat(" or [", n_rows, ", ", space.n_variables(), ", ", space.max_labels(), "]") : "",
        ": log-likelihoods of every label of every row");
  if (soft.isnan().any().item<bool>())
    fail_input(what, ": holds a value that is not a number, log-likelihoods were expected");
  return soft.reshape({soft.size(0), S}).index_select(0, torch::tensor(rows, torch::kInt64));
}

}  // namespace segre
