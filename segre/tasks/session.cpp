#include "segre/tasks/session.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <tuple>

#include "segre/core/log.h"
#include "segre/core/tuning.h"
#include "segre/runs/sampling_flow.h"

namespace segre {
namespace {

constexpr size_t kMostKept = 16;  // samplers, and as many scorers

// Labels or a mask as a key; a bit more than its numbers, since undefined is not empty.
std::string key_of(const torch::Tensor& mask) {
  if (!mask.defined()) return {};
  const auto bytes = mask.to(torch::kCPU, torch::kUInt8).contiguous();
  const auto* first = bytes.const_data_ptr<uint8_t>();
  std::string key(1, '=');
  key.append(first, first + bytes.numel());
  return key;
}

// The bindings below do not compile when an option is added and forgotten here.
auto key_of(const SampleOptions& options, uint64_t seed) {
  const auto& [sampler, steps, stop, t1, readout, tolerance, order, precision] = options;
  return std::tuple(sampler, steps, stop, t1, readout, tolerance, order, precision, seed);
}

auto key_of(const ScoreOptions& options) {
  const auto& [method, error, each, evaluations, control, trace, log_mean, panels, mass, matched, t1, seed, order,
               given, per_variable] = options;
  const auto& [trace_kind, stride, probes] = trace;
  const auto& [share, each_ball] = mass;
  const auto goal = error ? std::optional(std::pair(error->nats, error->share)) : std::nullopt;
  return std::tuple(method, goal, each, evaluations, control, std::tuple(trace_kind, stride, probes), log_mean, panels,
                    std::pair(share, each_ball), matched, t1, seed, order, key_of(given), per_variable);
}

template <class T>
void append(std::vector<T>& all, const std::vector<T>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

// Joins what was found for batches.
CompletedItems joined(const std::vector<CompletedItems>& batches) {
  CompletedItems all{.first = 0};
  std::vector<torch::Tensor> data, known, labels, probabilities;
  for (const CompletedItems& batch : batches) {
    append(all.rows, batch.rows);
    append(all.texts, batch.texts);
    data.push_back(batch.data);
    known.push_back(batch.known);
    if (batch.labels.defined()) labels.push_back(batch.labels);
    if (batch.probabilities.defined()) probabilities.push_back(batch.probabilities);
  }
  if (batches.empty()) return all;
  all.data = torch::cat(data);
  all.known = torch::cat(known);
  if (!labels.empty()) all.labels = torch::cat(labels);
  if (!probabilities.empty()) all.probabilities = torch::cat(probabilities);
  return all;
}

// What every request works with: settings under which results have the same bits on any thread, and its notes.
struct Scope {
  TunedThread tuned{};
  NoteCollector notes{};
};

}  // namespace

struct Session::Kept {
  // The values used last, by their keys.
  template <class Key, class Value>
  class LastUsed {
   public:
    template <class Make>
    std::shared_ptr<const Value> get(const Key& key, const Make& make) {
      const std::lock_guard lock(mutex_);
      const auto at = std::find_if(kept_.begin(), kept_.end(), [&](const auto& kept) { return kept.first == key; });
      if (at == kept_.end()) {
        kept_.emplace_front(key, make());
        if (kept_.size() > kMostKept) kept_.pop_back();
      } else {
        kept_.splice(kept_.begin(), kept_, at);
      }
      return kept_.front().second;
    }

   private:
    std::mutex mutex_;
    std::list<std::pair<Key, std::shared_ptr<const Value>>> kept_;
  };

  LastUsed<decltype(key_of(SampleOptions(), 0)), Sampler> samplers;
  LastUsed<decltype(key_of(ScoreOptions())), Scorer> scorers;
};

Session::Session(LoadedRun run, std::string name)
    : run_(std::move(run)), name_(std::move(name)), flow_(sampling_flow(run_)), kept_(std::make_unique<Kept>()) {}

Session::~Session() = default;

std::shared_ptr<const Sampler> Session::sampler(const SampleOptions& options, uint64_t seed) const {
  return kept_->samplers.get(key_of(options, seed), [&] { return std::make_shared<Sampler>(flow_, options, seed); });
}

std::shared_ptr<const Completer> Session::completer(const CompleteOptions& options) const {
  return std::make_shared<Completer>(run_, options, sampler(options.sample, options.seed));
}

std::shared_ptr<const Completer> Session::completer(const PredictRequest& request) const {
  return completer(options_of(request, space(), sampling()));
}

std::shared_ptr<const Scorer> Session::scorer(const ScoreOptions& options) const {
  return kept_->scorers.get(key_of(options), [&] { return std::make_shared<Scorer>(run_, options); });
}

Sampled Session::sample(const SampleRequest& request, const WorkCallbacks& callbacks) const {
  Scope scope;
  const int64_t here = run_.ranks->is_first() ? request.count : 0;
  Sampled out{.space = space(),
              .request = request,
              .labels = torch::empty({here, space().n_variables()}, label_type(space())),
              .cost = {}};
  const auto use = [&](const torch::Tensor& labels, int64_t first) {
    out.labels.slice(0, first, first + labels.size(0)).copy_(labels);
  };
  const auto sampler = this->sampler(request.sample, request.seed);
  out.cost = sample_run(run_, *sampler, request.count, use, callbacks, request.given);
  out.notes = scope.notes.take();
  return out;
}

Completed Session::complete(ItemStream& items, const CompleteRequest& request, const WorkCallbacks& callbacks) const {
  Scope scope;
  const auto completer = this->completer(request.options);
  Completed out{.space = space(), .request = request, .items = {}};
  for (int64_t i = 0; i < space().n_variables(); ++i) out.keeps.push_back(completer->sees_unknown(i));
  std::vector<CompletedItems> batches;
  complete_items(
      *completer, items, request.wanted,
      [&](const CompletedItems& batch) {
        batches.push_back(batch);
        if (batch.labels.defined()) batches.back().labels = batch.labels.to(label_type(space()));
      },
      callbacks);
  out.items = joined(batches);
  out.notes = scope.notes.take();
  return out;
}

Predicted Session::predict(ItemStream& items, const PredictRequest& request, const WorkCallbacks& callbacks) const {
  Scope scope;
  Predicted out{.space = space(), .variable = predicted_variable(space(), request), .items = {}, .quality = {}};
  const auto completer = this->completer(request);
  std::vector<torch::Tensor> probabilities, best, truth, numbers, true_numbers;
  const auto use = [&](const PredictedItems& batch) {
    append(out.items.rows, batch.rows);
    probabilities.push_back(batch.probabilities);
    best.push_back(batch.best);
    truth.push_back(batch.truth);
    if (!batch.numbers.defined()) return;
    numbers.push_back(batch.numbers);
    true_numbers.push_back(batch.true_numbers);
  };
  out.quality = predict_items(*completer, out.variable, items, use, callbacks);
  if (!best.empty()) {
    out.items.probabilities = torch::cat(probabilities);
    out.items.best = torch::cat(best);
    out.items.truth = torch::cat(truth);
  }
  if (!numbers.empty()) {
    out.items.numbers = torch::cat(numbers);
    out.items.true_numbers = torch::cat(true_numbers);
  }
  out.notes = scope.notes.take();
  return out;
}

ScoredData Session::score(const torch::Tensor& labels, const ScoreOptions& options, const WorkCallbacks& callbacks,
                          std::vector<int64_t> file_rows) const {
  Scope scope;
  ScoredData out = (*scorer(options))(labels, callbacks);
  out.file_rows = std::move(file_rows);
  out.notes = scope.notes.take();
  return out;
}

ScoredSpace Session::score_all(const ScoreOptions& options, int64_t n_samples, const WorkCallbacks& callbacks) const {
  Scope scope;
  ScoredSpace out = scorer(options)->all_labelings(n_samples, callbacks);
  out.notes = scope.notes.take();
  return out;
}

RankedRows Session::outliers(const DataSource& source, const DataSource& trained, const OutlierOptions& options,
                             const WorkCallbacks& callbacks) const {
  Scope scope;
  RankedRows out = rank_outliers(run_, source, trained, options, callbacks);
  out.notes = scope.notes.take();
  return out;
}

RunEvaluation Session::evaluate(const EvaluateRunOptions& options, const WorkCallbacks& callbacks) const {
  Scope scope;
  RunEvaluation out = evaluate_run(run_, name_, options, callbacks);
  out.notes = scope.notes.take();
  return out;
}

OutsideReport Session::detect(const DetectOptions& options, const WorkCallbacks& callbacks) const {
  Scope scope;
  OutsideReport out = detect_outside(run_, name_, options, callbacks);
  out.notes = scope.notes.take();
  return out;
}

}  // namespace segre
