#include "segre/eval/evaluation.h"

#include <algorithm>
#include <cmath>

#include "segre/core/error.h"
#include "segre/eval/metric_text.h"
#include "segre/eval/total_variation.h"
#include "segre/space/check_labels.h"

namespace segre {
namespace {

constexpr int64_t kMostLabelings = int64_t{1} << 16;  // whose frequencies are compared individually
constexpr int64_t kMostSimulated = int64_t{1} << 16;  // labelings of a table to simulate samples from
constexpr int64_t kNeighbourBlock = 1024;             // items between two progress reports

bool above(const Estimate& value, const Estimate& reference) { return value.value > reference.high; }

// The mean difference that other items have, as labels of the space that is compared.
std::optional<Estimate> difference_of(const Space& space, const torch::Tensor& items, const torch::Tensor& held_out) {
  if (!items.defined()) return std::nullopt;
  return Estimate{mean_difference(space, items, held_out)};
}

// The three metrics that summarise a comparison of frequencies. `data`: the items as labels of the space compared.
void add_frequencies(std::vector<Metric>& metrics, const std::string& group, const std::string& thing,
                     const EvaluationData& data, const FrequencyComparison& found, const std::string& where,
                     const std::string& scale) {
  metrics.push_back({group, concat("mean difference of the shares, per ", thing), found.difference,
                     found.difference_floor, Better::lower, above(found.difference, found.difference_floor), scale,
                     difference_of(data.space, data.real, data.held_out),
                     difference_of(data.space, data.independent, data.held_out)});
  if (found.largest_at < 0) return;
  metrics.push_back({group,
                     "largest difference, in standard errors",
                     {found.largest},
                     found.largest_floor,
                     Better::lower,
                     found.largest > found.largest_floor.high,
                     where});
  Estimate none;
  none.high = 0.0;
  metrics.push_back({group,
                     concat("share of ", thing, "s significantly off"),
                     {found.significant},
                     none,
                     Better::lower,
                     found.n_significant > 0,
                     concat(found.n_significant, " beyond ", short_number(found.largest_floor.high),
                            " standard errors, which 95 of 100 exact samples never exceed")});
}

// "x1 = yes: 31.2% of samples, 25.0% of held-out items".
std::string shares_text(const FrequencyComparison& found, const std::string& what) {
  return concat(what, ": ", percent_text(found.samples[found.largest_at].item<double>()), " of samples, ",
                percent_text(found.held_out[found.largest_at].item<double>()), " of held-out items");
}

// Names the pair and the two labels of a cell.
std::string cell_text(const Space& original, const Space& merged, const Space& cells, const PairFamily& pairs,
                      int64_t at) {
  const int64_t k = cells.variable_of_coordinate(torch::kCPU)[at].item<int64_t>();
  const int64_t i = pairs.first[k].item<int64_t>();
  const int64_t j = pairs.second[k].item<int64_t>();
  const int64_t cell = at - cells.offset(k);
  const auto part = [&](int64_t variable, int64_t label) {
    return concat(variable_text(original, variable), " = ", merged.label_name(variable, label));
  };
  return concat(part(i, cell / merged.n_labels(j)), " and ", part(j, cell % merged.n_labels(j)));
}

}  // namespace

void add_shares(Evaluation& out, const EvaluationData& data, uint64_t seed, const std::string& thing) {
  out.marginals = compare_frequencies(data.space, data.samples, data.held_out, seed);
  std::string where;
  if (const int64_t at = out.marginals.largest_at; at >= 0) {
    const int64_t i = data.space.variable_of_coordinate(torch::kCPU)[at].item<int64_t>();
    where = shares_text(out.marginals, label_text(data.space, i, at - data.space.offset(i)));
  }
  add_frequencies(out.metrics, "marginals", thing, data, out.marginals, where, "");
}

void add_pairs(Evaluation& out, const EvaluationData& data, uint64_t seed) {
  const auto families = choose_pairs(data.space);
  if (families.empty()) return;
  const MergedLabels merged = merge_rare_labels(data.space, torch::cat({data.samples, data.held_out}));
  for (const PairFamily& pairs : families) {
    const Space cells = pair_space(merged.space, pairs);
    const auto of_pairs = [&](const torch::Tensor& items) {
      return items.defined() ? pair_labels(merged.space, pairs, merged.apply(items)) : items;
    };
    const EvaluationData compared{.space = cells,
                                  .samples = of_pairs(data.samples),
                                  .held_out = of_pairs(data.held_out),
                                  .train = {},
                                  .real = of_pairs(data.real),
                                  .independent = of_pairs(data.independent)};
    auto found = compare_frequencies(cells, compared.samples, compared.held_out, seed);
    const std::string where =
        found.largest_at < 0 ? ""
                             : shares_text(found, cell_text(data.space, merged.space, cells, pairs, found.largest_at));
    const int64_t P = pairs.first.numel();
    const std::string part = P == pairs.n_there ? "all of them" : concat(P, " of ", pairs.n_there);
    add_frequencies(out.metrics, pairs.name, "pair", compared, found, where,
                    concat(part, "; independent variables with the right shares give ",
                           short_number(dependence(merged.space, pairs, found.held_out))));
    out.pairs.push_back({pairs, std::move(found)});
  }
}

Metric beside(const std::string& group, const std::string& name, const Estimate& value, const Estimate& reference,
              const std::string& note, double correlation) {
  const Estimate distance = difference(value, reference, correlation);
  return {group,
          name,
          value,
          reference,
          Better::reference,
          excludes(distance, 0.0),
          concat("difference ", estimate_text(distance), note.empty() ? "" : "; ", note)};
}

namespace {

void add_image_statistics(Evaluation& out, const EvaluationData& data) {
  const int64_t background = background_label(data.space, data.held_out);
  const auto samples = image_statistics(data.space, data.samples, background);
  const auto held_out = image_statistics(data.space, data.held_out, background);
  const std::string group = "images";
  const std::string ground = concat("background: label ", data.space.label_name(0, background));
  out.metrics.push_back(beside(group, "pixels off the background, mean", mean_estimate(samples.foreground),
                               mean_estimate(held_out.foreground), ground));
  out.metrics.push_back(beside(group, "pixels off the background, standard deviation",
                               spread_estimate(samples.foreground), spread_estimate(held_out.foreground)));
  out.metrics.push_back(beside(group, "share of neighbouring pixels that differ", mean_estimate(samples.boundary),
                               mean_estimate(held_out.boundary)));
}

Neighbours search(const EvaluationData& data, const torch::Tensor& items, int64_t k, const EvaluationOptions& options,
                  const std::string& what) {
  std::vector<torch::Tensor> distance, row;
  for (int64_t first = 0; first < items.size(0); first += kNeighbourBlock) {
    const int64_t end = std::min(first + kNeighbourBlock, items.size(0));
    const Neighbours found = nearest_items(data.space, items.slice(0, first, end), data.train, k, options.device);
    distance.push_back(found.distance);
    row.push_back(found.row);
    options.callbacks.report({what, end, items.size(0)});
  }
  return {torch::cat(distance), torch::cat(row)};
}

// Says only what was found: a reader would take a legend for a verdict.
std::string copies_note(const Estimate& more) {
  if (more.low > 0.0) return "more than held-out items: the model repeats training items";
  return more.high < 0.0 ? "fewer than held-out items" : "as many as held-out items, within the error";
}

std::string nearer_note(const Estimate& nearer) {
  if (nearer.low > 0.5) return "nearer than held-out items: it memorises, or its samples are too plain";
  return nearer.high < 0.5 ? "farther than held-out items: its samples are odder than they should be"
                           : "as near as held-out items, within the error";
}

void add_memorisation(Evaluation& out, const EvaluationData& data, const EvaluationOptions& options) {
  if (!data.train.defined()) return;
  const int64_t k = std::min(options.neighbours, data.train.size(0));
  out.of_samples = search(data, data.samples, k, options, "nearest to samples");
  out.of_held_out = search(data, data.held_out, 1, options, "nearest to held-out items");
  const auto found = judge_memorisation(out.of_samples.distance.select(1, 0), out.of_held_out.distance.select(1, 0));
  const std::string group = "memorisation";
  out.metrics.push_back(beside(group, "exact copies of training items", found.copies, found.natural_copies,
                               copies_note(difference(found.copies, found.natural_copies))));
  Estimate half;
  half.value = 0.5;
  out.metrics.push_back({group, "chance that a sample is nearer to the training items than a held-out item",
                         found.nearer, half, Better::reference, excludes(found.nearer, 0.5),
                         nearer_note(found.nearer)});
  out.metrics.push_back(beside(group, "distance to the nearest training item, median", found.median,
                               found.natural_median, "variables whose labels differ"));
  out.metrics.push_back(
      beside(group, "distance to the nearest training item, 5% quantile", found.nearest5, found.natural_nearest5));
}

// 95% quantile of the total variation of exact samples, by simulation.
double simulated_total_variation(const JointTable& table, int64_t N, uint64_t seed) {
  const JointSampler sampler(table);
  std::vector<double> values;
  for (int64_t k = 0; k < FrequencyComparison::kPermutations; ++k) {
    LabelingCounts counts(table.space);
    counts.add(sampler.draw({seed, Purpose::evaluation_rows}, static_cast<uint64_t>(k * N), N));
    values.push_back(total_variation(table, counts));
  }
  return quantile_of(std::move(values), 0.95);
}

void add_known_total_variation(Evaluation& out, const EvaluationData& data, uint64_t seed) {
  const JointTable& table = *data.joint;
  const int64_t N = data.samples.size(0);
  LabelingCounts counts(data.space);
  counts.add(data.samples.to(torch::kInt64));
  // Delta method: each sample adds the sign of its labeling's excess; labelings outside the table are in excess.
  const auto shares = counts.counts(table.labelings).to(torch::kFloat64) / static_cast<double>(N);
  const double mean = (shares * (shares - table.p).sign()).sum().item<double>() + 1.0 - shares.sum().item<double>();
  const double error = 0.5 * std::sqrt(std::max(0.0, 1.0 - mean * mean) / static_cast<double>(N));
  const Estimate value = normal_estimate(total_variation(table, counts), error, 0.0, 1.0);
  Estimate floor;
  floor.value = total_variation_floor(table, N);
  std::optional<bool> differs;
  if (table.p.numel() <= kMostSimulated) {
    floor.high = simulated_total_variation(table, N, seed);
    differs = above(value, floor);
  }
  out.metrics.push_back({"all variables together", "total variation to the exact distribution", value, floor,
                         Better::lower, differs, concat(table.p.numel(), " labelings have positive probability")});
}

void add_total_variation(Evaluation& out, const EvaluationData& data, uint64_t seed) {
  if (data.joint != nullptr && LabelingCounts::serves(data.space)) return add_known_total_variation(out, data, seed);
  if (data.space.n_labelings(kMostLabelings) > kMostLabelings) return;
  // Each labeling that occurs becomes a label of a single variable.
  auto numbers = torch::zeros({data.samples.size(0) + data.held_out.size(0)}, torch::kInt64);
  const auto labels = torch::cat({data.samples, data.held_out}).to(torch::kInt64);
  for (int64_t i = 0; i < data.space.n_variables(); ++i)
    numbers = numbers * data.space.n_labels(i) + labels.select(1, i);
  const auto [seen, number] = at::_unique(numbers, /*sorted=*/true, /*return_inverse=*/true);
  const Space space = Space::table({{"labeling", seen.numel(), {}}});
  const auto of = number.unsqueeze(1);
  const auto found =
      compare_frequencies(space, of.slice(0, 0, data.samples.size(0)), of.slice(0, data.samples.size(0)), seed);
  out.metrics.push_back({"all variables together", "total variation between samples and held-out items",
                         found.difference, found.difference_floor, Better::lower,
                         above(found.difference, found.difference_floor),
                         concat(seen.numel(), " of ", data.space.n_labelings(kMostLabelings), " labelings occur")});
}

}  // namespace

Evaluation evaluate(const EvaluationData& data, const EvaluationOptions& options) {
  check_integer_labels(data.space, data.samples);
  check_integer_labels(data.space, data.held_out);
  if (data.train.defined()) check_integer_labels(data.space, data.train);
  if (data.samples.size(0) < 2 || data.held_out.size(0) < 2)
    fail_input("evaluating needs at least two samples and two held-out items, found ", data.samples.size(0), " and ",
               data.held_out.size(0));
  Evaluation out;
  add_shares(out, data, options.seed, data.space.is(PartKind::image) ? "pixel" : "variable");
  add_pairs(out, data, options.seed);
  if (data.space.is(PartKind::image)) add_image_statistics(out, data);
  add_total_variation(out, data, options.seed);
  add_memorisation(out, data, options);
  return out;
}

}  // namespace segre
