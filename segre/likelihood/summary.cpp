#include "segre/likelihood/summary.h"

#include <cmath>
#include <iomanip>
#include <limits>
#include <numbers>
#include <sstream>

#include "segre/core/error.h"

namespace segre {

ScoreSummary summarise(const ItemScores& scores, const Space& space) {
  const int64_t N = scores.log_p.size(0);
  if (N == 0) fail_input("there are no items to score");
  const double root = std::sqrt(static_cast<double>(N));
  return {.n_items = N,
          .n_variables = space.n_variables(),
          .log_p = scores.log_p.mean().item<double>(),
          .sampling_error = N > 1 ? scores.log_p.std().item<double>() / root : std::numeric_limits<double>::quiet_NaN(),
          .estimation_error = std::sqrt(scores.std_error.square().mean().item<double>()) / root};
}

std::string describe(const ScoreSummary& s, ScoreKind kind) {
  const double bit = std::numbers::ln2;
  const auto n = static_cast<double>(s.n_variables);
  std::ostringstream out;
  out << std::setprecision(6) << "-log p per item " << (kind == ScoreKind::lower_bound ? "at most " : "about ")
      << -s.log_p << " nats = " << -s.log_p / bit << " bits = " << -s.log_p / bit / n
      << " bits per variable (divided by " << s.n_variables << " variables)\n"
      << std::setprecision(3);
  if (s.n_items > 1)
    out << "standard error of the mean over " << s.n_items << " items " << s.sampling_error << " nats; ";
  if (std::isnan(s.estimation_error)) {
    out << "a single draw per item tells nothing about the error of estimation";
  } else {
    out << "of estimation alone " << s.estimation_error << " nats";
  }
  return out.str();
}

void require_possible(const ScoreSummary& s) {
  const double error = std::isnan(s.estimation_error) ? s.sampling_error : s.estimation_error;
  if (!std::isfinite(s.log_p)) fail("the scores are not finite: the network gave no usable numbers");
  if (s.log_p > 3.0 * error)
    fail("the mean of log p came out as ", s.log_p, " nats (standard error ", error,
         "), which no distribution of labels has: not a bound. Raise --panels, or use --trace exact");
}

Measured sum_of_probabilities(const ItemScores& scores) {
  const auto p = scores.log_p.exp();
  // An unknown error counts as the whole value.
  const auto relative = torch::where(scores.std_error.isnan(), torch::ones_like(p), scores.std_error);
  return {p.sum().item<double>(), (p * relative).square().sum().sqrt().item<double>()};
}

}  // namespace segre
