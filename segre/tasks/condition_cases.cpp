#include "segre/tasks/condition_cases.h"

#include <algorithm>
#include <cmath>
#include <iomanip>

#include "segre/core/error.h"
#include "segre/core/log.h"

namespace segre {
namespace {

constexpr double kExcluded = -1e4;     // log-likelihood of an impossible label, finite so that products with 0 stay 0
constexpr int64_t kMostStated = 32;    // labels whose probability the chain rule finds
constexpr double kNegligible = -50.0;  // log of the share of an item's probability that a case may lack

// A case while the columns are gone through.
struct Case {
  int64_t item;
  double log_p;
  std::vector<int64_t> labels;  // [n]
  torch::Tensor soft{};         // [S]; undefined: none
};

Known known_of(const std::vector<Case>& cases, int64_t n, int64_t S) {
  const auto R = static_cast<int64_t>(cases.size());
  Known known{.labels = torch::empty({R, n}, torch::kInt64)};
  bool has_soft = false;
  auto* to = known.labels.data_ptr<int64_t>();
  for (const Case& one : cases) {
    to = std::copy(one.labels.begin(), one.labels.end(), to);
    has_soft = has_soft || one.soft.defined();
  }
  if (!has_soft) return known;
  known.soft = torch::zeros({R, S}, torch::kFloat32);
  for (int64_t k = 0; k < R; ++k)
    if (cases[k].soft.defined()) known.soft[k].copy_(cases[k].soft);
  return known;
}

// Goes through the columns of a condition.
class Splitter {
 public:
  Splitter(const Space& space, const Known& known, const AskMarginals& ask) : space_(space), ask_(ask) {
    const auto labels = known.labels.to(torch::kCPU, torch::kInt64).contiguous();
    const int64_t n = space.n_variables();
    n_items_ = labels.size(0);
    for (int64_t k = 0; k < n_items_; ++k) {
      const auto* row = labels.const_data_ptr<int64_t>() + k * n;
      Case one{.item = k, .log_p = 0.0, .labels = {row, row + n}};
      if (known.soft.defined()) one.soft = known.soft[k].to(torch::kCPU, torch::kFloat32);
      cases_.push_back(std::move(one));
    }
  }

  // Cases in which the variable has this label; `counts`: with its probability.
  void know(int64_t variable, int64_t label, bool counts) {
    std::vector<double> shares(space_.n_labels(variable));
    shares[label] = 1.0;
    if (counts) return split(variable, [&](const Case&) { return &shares; }, /*most=*/1, {});
    for (Case& one : cases_) {
      int64_t& known = one.labels[variable];
      if (known != kUnknown && known != label) one.log_p = -INFINITY;
      known = label;
    }
  }

  void limit(const ColumnLimit& limit, int64_t most) {
    const int64_t i = limit.column.first;
    const auto is_cut = [&](int64_t label) { return limit.within.contains(label); };
    split(
        i, [&](const Case&) { return &limit.shares; }, most, is_cut);
    if (limit.within.empty()) return;
    const auto within = [&](const Case& one) -> const std::vector<double>* {
      const auto at = limit.within.find(one.labels[i]);
      return at == limit.within.end() ? nullptr : &at->second;
    };
    split(i + 1, within, most, {});
  }

  ConditionCases take() && {
    ConditionCases out{.known = known_of(cases_, space_.n_variables(), space_.n_coordinates()),
                       .log_p = torch::empty({static_cast<int64_t>(cases_.size())}, torch::kFloat64),
                       .first = std::vector<int64_t>(n_items_ + 1)};
    auto* log_p = out.log_p.data_ptr<double>();
    for (const Case& one : cases_) {
      *log_p++ = one.log_p;
      ++out.first[one.item + 1];
    }
    for (int64_t k = 0; k < n_items_; ++k) out.first[k + 1] += out.first[k];
    return out;
  }

 private:
  // Replaces every case by one for each label of the variable that has a share, weighted by the share and the label's
  // probability. If that makes more than `most` of an item, all labels but those that are `apart` stay together, as
  // evidence. `shares_in` is nullptr for cases that stay as they are.
  template <class SharesIn>
  void split(int64_t variable, const SharesIn& shares_in, int64_t most,
             const std::function<bool(int64_t label)>& apart) {
    std::vector<Case> open;
    std::vector<Case> done;
    for (Case& one : cases_) {
      const std::vector<double>* shares = shares_in(one);
      const int64_t label = one.labels[variable];
      if (shares != nullptr && label == kUnknown) {
        open.push_back(std::move(one));
        continue;
      }
      if (shares != nullptr) one.log_p += label < 0 ? 0.0 : std::log((*shares)[label]);
      done.push_back(std::move(one));
    }
    const auto p = open.empty() ? torch::Tensor() : marginals(open, variable);
    std::vector<int64_t> of_item(n_items_);
    for (const Case& one : open) ++of_item[one.item];
    for (size_t k = 0; k < open.size(); ++k) {
      const std::vector<double>& shares = *shares_in(open[k]);
      const auto n_left = std::count_if(shares.begin(), shares.end(), [](double share) { return share > 0.0; });
      const bool together = of_item[open[k].item] * n_left > most && n_left > 1;
      add_cases(open[k], variable, shares, p.const_data_ptr<double>() + static_cast<int64_t>(k) * p.size(1), together,
                apart, done);
    }
    cases_ = without_negligible(std::move(done));
  }

  // The marginals of a variable in each case, [cases, c].
  torch::Tensor marginals(const std::vector<Case>& cases, int64_t variable) const {
    const auto all = ask_(known_of(cases, space_.n_variables(), space_.n_coordinates()));
    return all.narrow(1, space_.offset(variable), space_.n_labels(variable)).contiguous();
  }

  void add_cases(const Case& from, int64_t variable, const std::vector<double>& shares, const double* p, bool together,
                 const std::function<bool(int64_t label)>& apart, std::vector<Case>& out) const {
    double mass = 0.0;  // of the labels that stay together
    auto evidence = torch::full({space_.n_labels(variable)}, kExcluded, torch::kFloat32);
    for (int64_t label = 0; label < static_cast<int64_t>(shares.size()); ++label) {
      const double weight = p[label] * shares[label];
      if (!(weight > 0.0)) continue;
      if (together && !(apart && apart(label))) {
        mass += weight;
        evidence[label] = std::log(shares[label]);
        continue;
      }
      Case one = from;
      one.log_p += std::log(weight);
      one.labels[variable] = label;
      out.push_back(std::move(one));
    }
    if (!(mass > 0.0)) return;
    Case all = from;
    all.log_p += std::log(mass);
    all.soft = from.soft.defined() ? from.soft.clone() : torch::zeros({space_.n_coordinates()}, torch::kFloat32);
    all.soft.narrow(0, space_.offset(variable), space_.n_labels(variable)).add_(evidence).clamp_min_(kExcluded);
    out.push_back(std::move(all));
  }

  // The cases in the order of items, without those that hardly add to the probability of theirs.
  std::vector<Case> without_negligible(std::vector<Case> cases) const {
    std::vector<double> best(n_items_, -INFINITY);
    for (const Case& one : cases) best[one.item] = std::max(best[one.item], one.log_p);
    std::erase_if(
        cases, [&](const Case& one) { return !(one.log_p > -INFINITY && one.log_p >= best[one.item] + kNegligible); });
    std::stable_sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) { return a.item < b.item; });
    return cases;
  }

  const Space& space_;
  const AskMarginals& ask_;
  int64_t n_items_ = 0;
  std::vector<Case> cases_;
};

}  // namespace

ConditionCases split_condition(const Space& space, const Condition& condition, const Known& known,
                               const AskMarginals& ask, const SplitOptions& options) {
  Splitter splitter(space, known, ask);
  for (int64_t i = 0; i < space.n_variables(); ++i)
    if (const auto label = condition.labels()[0][i].item<int64_t>(); label >= 0)
      splitter.know(i, label, options.counts_labels);
  // Each column is asked about once for every case of those before it, so those with the fewest labels come first.
  std::vector<std::pair<int64_t, const ColumnLimit*>> limits;
  for (const ColumnLimit& limit : condition.limits())
    limits.emplace_back(std::count_if(limit.shares.begin(), limit.shares.end(), [](double s) { return s > 0.0; }),
                        &limit);
  std::stable_sort(limits.begin(), limits.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [n_left, limit] : limits) splitter.limit(*limit, options.most);
  return std::move(splitter).take();
}

torch::Tensor ConditionCases::log_p_of_items() const {
  auto out = torch::full({n_items()}, -INFINITY, torch::kFloat64);
  for (int64_t k = 0; k < n_items(); ++k)
    if (first[k + 1] > first[k]) out[k] = log_p.slice(0, first[k], first[k + 1]).logsumexp(0);
  return out;
}

torch::Tensor ConditionCases::draw(const RandomStream& random, uint64_t first_item) const {
  auto chosen = torch::empty({n_items()}, torch::kInt64);
  for (int64_t k = 0; k < n_items(); ++k) chosen[k] = case_at(k, random, first_item + static_cast<uint64_t>(k));
  return chosen;
}

torch::Tensor ConditionCases::draw_of_first(int64_t count, const RandomStream& random, uint64_t first_sample) const {
  auto chosen = torch::empty({count}, torch::kInt64);
  auto* to = chosen.data_ptr<int64_t>();
  for (int64_t k = 0; k < count; ++k) *to++ = case_at(0, random, first_sample + static_cast<uint64_t>(k));
  return chosen;
}

int64_t ConditionCases::case_at(int64_t item, const RandomStream& random, uint64_t number) const {
  const auto* p = log_p.const_data_ptr<double>();
  const double total = log_p.slice(0, first[item], first[item + 1]).logsumexp(0).item<double>();
  const double u = uniform_double(random, number);
  int64_t at = first[item];
  for (double sum = std::exp(p[at] - total); sum <= u && at + 1 < first[item + 1];) sum += std::exp(p[++at] - total);
  return at;
}

StatedDensity stated_density(const Space& space, const Condition& condition) {
  StatedDensity found;
  if (!condition.values()) return found;
  const auto* labels = condition.labels().const_data_ptr<int64_t>();
  for (const auto& [first, value] : *condition.values()) {
    const Bins& bins = *space.bins(first);
    if (!value.exact || labels[first] >= bins.n_shared()) continue;
    const bool is_two = space.column_of(first).n_variables == 2;
    found.log += bins.log_density({labels[first], is_two ? labels[first + 1] : 0});
    found.is_density = found.is_density || !bins.are_points;
  }
  return found;
}

double trained_rows(const LoadedRun& run) {
  const bool is_known = run.data && run.data->n_items > 0;
  return is_known ? static_cast<double>(run.data->n_items - run.data->n_held_out) : NAN;
}

AskMarginals ask_of(const Sampler& sampler) {
  return [&sampler](const Known& known) { return sampler.probabilities(known, 0); };
}

GivenRows rows_given(const Condition& condition, std::shared_ptr<const Sampler> sampler, uint64_t seed) {
  if (condition.empty()) return {};
  if (condition.limits().empty())
    return [labels = condition.labels()](int64_t, int64_t count) {
      return Known{.labels = labels.expand({count, -1})};
    };
  const Space& space = sampler->space();
  const Known nothing{.labels = torch::full({1, space.n_variables()}, kUnknown, torch::kInt64)};
  const auto cases = split_condition(space, condition, nothing, ask_of(*sampler), {.counts_labels = false});
  return [cases, seed](int64_t first, int64_t count) {
    return cases.known.select(cases.draw_of_first(count, case_numbers(seed), static_cast<uint64_t>(first)));
  };
}

namespace {

void note_report(const ConditionReport& report, double n_rows) {
  if (report.is_density) {
    note("log p of the condition ", report.text, ": ", std::setprecision(4), report.log_p,
         ", a density in the units of its numbers");
  } else {
    note("log p of the condition ", report.text, ": ", std::setprecision(4), report.log_p, ", a probability of ",
         std::exp(report.log_p));
  }
  if (report.expected_rows < 1.0)
    note("training had next to nothing like ", report.text, ": of its ", static_cast<int64_t>(n_rows), " rows ",
         std::setprecision(2), report.expected_rows,
         " are expected to be; what follows from it is hardly more than a guess");
}

}  // namespace

std::optional<ConditionReport> report_condition(const LoadedRun& run, const Condition& condition,
                                                const AskMarginals& ask, const std::string& what) {
  if (condition.empty()) return std::nullopt;
  const Space& space = run.model.space();
  ConditionReport report{.text = condition.text().empty() ? "on labels" : condition.text(), .log_p = NAN};
  report.expected_rows = NAN;
  if ((condition.labels() >= 0).sum().item<int64_t>() > kMostStated) return report;
  const Known nothing{.labels = torch::full({1, space.n_variables()}, kUnknown, torch::kInt64)};
  const double mass = split_condition(space, condition, nothing, ask).log_p_of_items()[0].item<double>();
  if (mass == -INFINITY) fail_input(what, " ", condition.text(), ": is impossible to the model");
  const StatedDensity density = stated_density(space, condition);
  report.log_p = mass + density.log;
  report.is_density = density.is_density;
  const double n_rows = trained_rows(run);
  report.expected_rows = n_rows * std::exp(mass);
  note_report(report, n_rows);
  return report;
}

}  // namespace segre
