#include "segre/tasks/complete_items.h"

#include <algorithm>

#include "segre/flow/row_blocks.h"

namespace segre {
namespace {

// Completes one rank's items.
CompletedItems complete_own(const Completer& completer, const Known& known, int64_t first,
                            const CompletionWanted& wanted, const WorkCallbacks& callbacks) {
  const auto number = static_cast<uint64_t>(first);
  CompletedItems done{.first = first, .known = known.labels};
  const bool best = wanted.labels && wanted.draws == 0;
  if (best || wanted.probabilities || wanted.summary) done.probabilities = completer.probabilities(known, number);
  if (wanted.summary) done.summary = summarise_numbers(completer, known, *wanted.summary, done.probabilities);
  if (best) {
    const auto fill = wanted.best == Best::row ? fill_rows : fill_cells;
    const FilledRows filled = fill(completer, known, done.probabilities);
    done.labels = filled.labels.unsqueeze(1);
    done.numbers = filled.numbers;
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

// Completes the next items, number `first` and after it, for every rank.
CompletedItems complete_round(const Completer& completer, const ItemBatch& batch, int64_t first,
                              const CompletionWanted& wanted, const WorkCallbacks& callbacks) {
  const SharedRows rows(completer.ranks(), batch.labels.size(0), completer.rows_per_block());
  const auto [from, to] = rows.own();
  const Known known = completer.known_of(batch.labels.slice(0, from, to),
                                         batch.soft.defined() ? batch.soft.slice(0, from, to) : torch::Tensor());
  const CompletedItems own = complete_own(completer, known, first + from, wanted, callbacks);
  CompletedItems done{.first = first,
                      .rows = batch.rows,
                      .texts = batch.texts,
                      .data = batch.labels,
                      .known = rows.gather_labels(completer.space(), own.known)};
  if (own.labels.defined()) done.labels = rows.gather_labels(completer.space(), own.labels);
  if (own.probabilities.defined()) done.probabilities = rows.gather(own.probabilities);
  if (own.numbers.defined()) done.numbers = rows.gather(own.numbers);
  if (own.summary.defined()) done.summary = rows.gather(own.summary);
  return done;
}

}  // namespace

int64_t items_per_round(const Completer& completer) { return completer.items_per_call() * completer.ranks()->size(); }

int64_t complete_everywhere(const Completer& completer, ItemStream& items, const CompletionWanted& wanted,
                            const std::function<void(const CompletedItems&)>& use, const WorkCallbacks& callbacks) {
  int64_t done = 0;
  for (;;) {
    const ItemBatch batch = items.next(items_per_round(completer));
    if (batch.labels.size(0) == 0) return done;
    use(complete_round(completer, batch, done, wanted, callbacks));
    done += batch.labels.size(0);
    callbacks.report({wanted.called, done, std::max(done, items.count())});
  }
}

int64_t complete_items(const Completer& completer, ItemStream& items, const CompletionWanted& wanted,
                       const std::function<void(const CompletedItems&)>& use, const WorkCallbacks& callbacks) {
  const auto first_only = [&](const CompletedItems& done) {
    if (completer.ranks()->is_first()) use(done);
  };
  return complete_everywhere(completer, items, wanted, first_only, callbacks);
}

}  // namespace segre
