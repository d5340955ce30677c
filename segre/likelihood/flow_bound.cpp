#include "segre/likelihood/flow_bound.h"

#include <cmath>
#include <limits>

#include "segre/core/error.h"
#include "segre/core/memory.h"
#include "segre/core/parallel.h"
#include "segre/likelihood/quadrature.h"
#include "segre/path/path_sample.h"

namespace segre {
namespace {

constexpr double kMostSteps = 1e4;                       // from one node to the next; a few are typical
constexpr uint64_t kDrawStride = 0x9e3779b97f4a7c15ULL;  // odd: keeps the seeds of an item's draws distinct

torch::Tensor standard_error(const torch::Tensor& values) {  // [N, K] -> [N]
  if (values.size(1) < 2)
    return torch::full({values.size(0)}, std::numeric_limits<double>::quiet_NaN(), torch::kFloat64);
  return values.std(1) / std::sqrt(static_cast<double>(values.size(1)));
}

// Quadrature error of an item's mean, from the distances between the two rules over the draws: [N, K] -> [N]. The
// 15-node rule is better than its distance from the 7-node rule suggests, so this errs on the safe side. With probes
// most of the distance is their noise, which averages out and is part of the draws' own scatter: only what exceeds
// twice its standard error counts.
torch::Tensor systematic_part(const torch::Tensor& distances, bool exact_trace) {
  const auto mean = distances.mean(1);
  if (exact_trace || distances.size(1) < 2) return mean;
  const auto beyond = mean.square() - 4.0 * standard_error(distances).square();
  return torch::copysign(beyond.clamp_min(0.0).sqrt(), mean);
}

}  // namespace

double BallMass::of_each(int64_t n_variables) const {
  return each ? share : std::pow(share, 1.0 / static_cast<double>(n_variables));
}

struct FlowBound::Rows {
  ProposalDraw proposal{};
  std::vector<uint64_t> seeds{};  // of the rows' signs
  Known known{};
};

FlowBound::FlowBound(Flow flow, const FlowBoundOptions& options)
    : flow_(std::move(flow)),
      options_(options),
      t1_(reading_time(flow_.space, *flow_.path, options.t1)),
      carry_(flow_),
      trace_(flow_, options.trace) {
  if (options_.panels < 1) fail_input("panels = ", options_.panels, ": expected at least 1");
  if (options_.steps_per_node < 1) fail_input("steps_per_node = ", options_.steps_per_node, ": expected at least 1");
  make_nodes();
  if (options_.draws < 1) fail_input("draws = ", options_.draws, ": expected at least 1");
  if (!(options_.mass.share > 0.0 && options_.mass.share < 1.0))
    fail_input("mass = ", options_.mass.share, ": expected a share between 0 and 1");
}

void FlowBound::make_nodes() {
  // Panels of equal length in w = log(1 + sigma), sigma = a/s: close to t if t1 is early, and fine enough if it is late
  // and sigma is large.
  const auto end = flow_.path->at(t1_);
  const double length = std::log1p(end.a / end.s) / static_cast<double>(options_.panels);
  const auto& rule = kronrod_rule();
  for (int64_t panel = 0; panel < options_.panels; ++panel) {
    for (size_t k = 0; k < rule.nodes.size(); ++k) {
      const double sigma = std::expm1(length * (static_cast<double>(panel) + rule.nodes[k]));
      const double scale = length * (1.0 + sigma);  // d sigma
      nodes_.push_back({flow_.path->time_at(sigma), scale * rule.weights[k], scale * rule.gauss_weights[k]});
    }
  }
  for (size_t k = 0; k < nodes_.size(); ++k)  // fails before any work if there are too many
    steps_between(nodes_[k].t, k + 1 < nodes_.size() ? nodes_[k + 1].t : t1_);
}

FlowBound::Rows FlowBound::draw(const torch::Tensor& labels, const std::vector<uint64_t>& seeds,
                                const std::vector<int64_t>& draws) const {
  const auto R = static_cast<int64_t>(draws.size());
  const int64_t n = flow_.space.n_variables();
  Rows rows{.known = known_of(labels, options_.given)};
  if (!rows.known.nothing() && options_.proposal == ProposalKind::ball)
    fail_input("the ball bounds log p of complete items only; choose the path bound");
  auto noise = torch::empty({R, flow_.space.n_coordinates()}, flow_.options);
  auto uniform = torch::empty({options_.proposal == ProposalKind::ball ? R : 0, n}, flow_.options);
  for (int64_t row = 0; row < R; ++row) {
    const auto draw = static_cast<uint64_t>(draws[row]);
    const RandomStream random{seeds[row], Purpose::likelihood_noise};
    noise[row] = reference_noise(flow_.space, random, draw, 1, flow_.options)[0];
    if (uniform.size(0) > 0)
      fill_uniform(uniform[row], {seeds[row], Purpose::likelihood_time}, draw * static_cast<uint64_t>(n));
    rows.seeds.push_back(seeds[row] + kDrawStride * draw);
  }
  rows.proposal = options_.proposal == ProposalKind::path
                      ? draw_from_path(flow_.space, *flow_.path, labels.clamp_min(0), noise, t1_, rows.known)
                      : draw_from_balls(flow_.space, *flow_.path, labels, noise, uniform,
                                        options_.mass.of_each(flow_.space.n_variables()));
  return rows;
}

torch::Tensor FlowBound::weigh(const Rows& rows) const {
  const auto n_nodes = static_cast<int64_t>(nodes_.size());
  const auto end = flow_.path->at(t1_);
  auto x = rows.proposal.v / end.s;
  double now = t1_;
  auto traces = torch::empty({x.size(0), n_nodes}, torch::kFloat64);
  for (int64_t k = n_nodes; k-- > 0;) {
    const double t = nodes_[k].t;
    x = carry_(x, now, t, steps_between(t, now), rows.known);
    now = t;
    const double s = flow_.path->at(t).s;
    const auto D = trace_.is_exact() ? carry_.endpoint(x, t, rows.known) : torch::Tensor();
    traces.select(1, k).copy_(s * trace_(s * x, D, t, rows.seeds, static_cast<uint64_t>(k), rows.known));
  }
  x = carry_(x, now, 0.0, steps_between(0.0, now), rows.known);
  const auto weights = [&](double Node::*member) {
    std::vector<double> all;
    for (const Node& node : nodes_) all.push_back(node.*member);
    return torch::tensor(all, torch::kFloat64);
  };
  const auto integral = traces.mv(weights(&Node::weight));
  const auto error = integral - traces.mv(weights(&Node::gauss_weight));
  const double log_volume = static_cast<double>(flow_.space.n_dims()) * std::log(end.s);
  const auto log_nu = reference_log_density(flow_.space, x.to(torch::kFloat64)).cpu() - log_volume - integral;
  return torch::stack({log_nu + rows.proposal.log_ratio.cpu(), error}, 1);
}

int64_t FlowBound::steps_between(double from, double to) const {
  if (options_.proposal == ProposalKind::path) return options_.steps_per_node;
  // From some states of the ball the backward flow is drawn to the border between two labels at rate kappa^2 sigma/2:
  // Runge-Kutta steps must stay below 2.8 times its inverse.
  const auto high = flow_.path->at(to);
  const auto low = flow_.path->at(from);
  const double kappa = flow_.path->corner_scale(flow_.space.max_labels());
  const double sigma = high.a / high.s;
  const double length = (sigma - low.a / low.s) * 0.5 * kappa * kappa * sigma;
  if (!(length < kMostSteps))
    fail_input("t1 = ", t1_, ": from there the ball takes ", length, " steps between two times, at most ", kMostSteps,
               " are taken; choose an earlier t1, or the path bound");
  return std::max(options_.steps_per_node, static_cast<int64_t>(std::ceil(length)));
}

int64_t FlowBound::evaluations_per_draw() const {
  constexpr int64_t kPerStep = 4;
  constexpr int64_t kPerProduct = 3;
  int64_t evaluations = 0;
  double before = 0.0;
  for (const Node& node : nodes_) {
    evaluations += kPerStep * steps_between(before, node.t) + kPerProduct * trace_.n_products();
    before = node.t;
  }
  return evaluations + kPerStep * steps_between(before, t1_);
}

torch::Tensor FlowBound::trajectory_error(const torch::Tensor& v, const Known& known) const {
  const auto arrive = [&](int64_t factor) {
    auto x = v / flow_.path->at(t1_).s;
    double now = t1_;
    for (auto k = static_cast<int64_t>(nodes_.size()); k-- > 0;) {
      x = carry_(x, now, nodes_[k].t, factor * steps_between(nodes_[k].t, now), known);
      now = nodes_[k].t;
    }
    x = carry_(x, now, 0.0, factor * steps_between(0.0, now), known);
    return reference_log_density(flow_.space, x.to(torch::kFloat64)).cpu();
  };
  // Halved steps have 1/16 of the error.
  return (arrive(1) - arrive(2)) * (16.0 / 15.0);
}

// Splits rows [item, draw] into blocks; on the CPU a block never mixes items, so each is computed separately.
std::vector<FlowBound::Span> FlowBound::blocks_of(int64_t n_items, int64_t n_draws) const {
  const int64_t most = rows_per_block(flow_);
  const int64_t together = flow_.options.device().is_cpu() ? n_draws : n_items * n_draws;
  std::vector<Span> spans;
  for (int64_t group = 0; group < n_items * n_draws; group += together)
    for (int64_t first = 0; first < together; first += most)
      spans.push_back({group + first, std::min(most, together - first)});
  return spans;
}

// [count, 3]: log weight, distance between the two rules and, for draw 0 of an item, the error of its trajectory.
torch::Tensor FlowBound::results_of(const Span& span, const torch::Tensor& labels, const std::vector<uint64_t>& seeds,
                                    int64_t first_draw, int64_t n_draws) const {
  std::vector<int64_t> items;
  std::vector<int64_t> numbers;
  std::vector<uint64_t> row_seeds;
  std::vector<int64_t> firsts;
  for (int64_t row = 0; row < span.count; ++row) {
    const int64_t place = span.first + row;
    items.push_back(place / n_draws);
    numbers.push_back(first_draw + place % n_draws);
    row_seeds.push_back(seeds[items.back()]);
    if (numbers.back() == 0) firsts.push_back(row);
  }
  const auto device = flow_.options.device();
  const auto rows = draw(labels.index_select(0, torch::tensor(items)).to(device), row_seeds, numbers);
  auto error = torch::zeros({span.count, 1}, torch::kFloat64);
  if (!firsts.empty()) {
    const auto places = torch::tensor(firsts);
    const auto v = rows.proposal.v.index_select(0, places.to(device));
    error.index_copy_(0, places, trajectory_error(v, rows.known.select(places)).unsqueeze(1));
  }
  return torch::cat({weigh(rows), error}, 1);
}

LogWeights FlowBound::draws(const torch::Tensor& labels, int64_t first, int64_t count) const {
  const torch::NoGradGuard no_grad;
  check_labels(flow_.space, labels, Unknowns::allow);
  if (first < 0 || count < 1)
    fail_input(count, " draws starting at ", first, " requested, expected 1 or more, starting at 0 or above");
  constexpr double kBytesPerDraw = 5 * 8;  // three results, and a place in a span
  require_memory(kBytesPerDraw * static_cast<double>(labels.size(0)) * static_cast<double>(count),
                 concat(count, " draws of each of ", labels.size(0), " items"), torch::kCPU);
  const auto seeds = item_seeds(labels, options_.seed);
  const auto spans = blocks_of(labels.size(0), count);
  auto results = torch::empty({labels.size(0) * count, 3}, torch::kFloat64);
  for_each_block(static_cast<int64_t>(spans.size()), flow_.options.device().is_cpu(), [&](int64_t k) {
    const torch::NoGradGuard no_grad_here;
    results.narrow(0, spans[k].first, spans[k].count).copy_(results_of(spans[k], labels, seeds, first, count));
  });
  if (!results.isfinite().all().item<bool>())
    fail("the flow led to weights that are not finite; the model's weights may be damaged");
  results = results.view({labels.size(0), count, 3});
  return {results.select(2, 0).contiguous(), results.select(2, 1).contiguous(),
          results.select(2, 2).select(1, 0).contiguous(), options_.trace};
}

torch::Tensor LogWeights::integration_error() const {
  const auto distance = systematic_part(distances, trace.kind == TraceKind::exact);
  // The two must not cancel by chance.
  return torch::copysign(distance.abs() + trajectory.abs(), distance);
}

LogWeights join_draws(const LogWeights& first, const LogWeights& second) {
  return {torch::cat({first.values, second.values}, 1), torch::cat({first.distances, second.distances}, 1),
          first.trajectory, first.trace};
}

void require_exact_trace(const TraceOptions& trace) {
  if (trace.kind == TraceKind::exact) return;
  fail_input(
      "log-mean-exp of weights needs the exact trace: the noise of probes sits inside the exponential and the result "
      "is "
      "not a bound; choose the exact trace, or the mean");
}

ItemScores mean_of_weights(const LogWeights& weights) {
  return {weights.values.mean(1), standard_error(weights.values), weights.integration_error()};
}

ItemScores log_mean_of_weights(const LogWeights& weights) {
  require_exact_trace(weights.trace);
  const auto K = static_cast<double>(weights.values.size(1));
  const auto log_mean = weights.values.logsumexp(1) - std::log(K);
  // The relative spread of the weights is the spread of the logarithm of their mean.
  const auto spread = standard_error((weights.values - log_mean.unsqueeze(1)).exp());
  return {log_mean, spread, weights.integration_error()};
}

}  // namespace segre
