#include <cmath>
#include <limits>

#include "segre/model/model.h"
#include "segre/path/path_sample.h"
#include "segre/space/blocks.h"
#include "tests/support/reference.h"
#include "tests/support/statistics.h"

// What a network is shown besides its point: the evidence, and how strong it is.

namespace segre::field_input_test {
namespace {

using test::both_paths;
using test::FixedField;
using test::max_difference;
using test::mixed_space;
using test::noise;
using test::tangent_noise;

// A few dozen rounded float64 operations, relative to numbers above 1.
constexpr double kRounding = 1e-12;
// The same in float32.
constexpr double kSingleTol = 5e-5;

Model model_with(const Space& space, const std::shared_ptr<const Path>& path, FieldReads reads,
                 Form form = Form::evidence, torch::TensorOptions options = torch::kFloat64) {
  return {space, path, form, std::make_shared<FixedField>(noise({space.n_coordinates()}, 1, options), reads)};
}

torch::Tensor one_time(double t) { return torch::full({1}, t, torch::kFloat64); }

// Times of four items with five variables, around t.
torch::Tensor own_times(double t) {
  return t * (0.5 + 0.1 * torch::arange(20, torch::kFloat64).view({4, 5}).remainder(7));
}

// Four items of the mixed space: some variables known, none, some left out, only one to be found.
torch::Tensor some_known() {
  return torch::tensor({{1, -1, 4, -1, -1}, {-1, -1, -1, -1, -1}, {-2, 2, -1, -2, -1}, {0, 0, 0, -1, 6}},
                       torch::kInt64);
}

// 2 kappa^2 (a/s)^2.
double strength_at(const Path& path, int64_t n_labels, double t) {
  const auto at = path.at(t);
  return 2.0 * std::pow(path.corner_scale(n_labels) * at.a / at.s, 2);
}

void expect_near(const torch::Tensor& found, double wanted, double tol = kRounding) {
  EXPECT_NEAR(found.item<double>(), wanted, tol * std::max(1.0, std::abs(wanted)));
}

TEST(FieldInput, StrengthIsThatOfEachVariablesTime) {
  const Space space = mixed_space();
  const auto v = tangent_noise(space, 4);
  for (const auto& [path, t] : both_paths()) {
    const Model model = model_with(space, path, FieldReads::strength);
    const auto own = own_times(t);
    const auto of_items = own.select(1, 0).clone();
    const auto g_own = model.field_input({v, own}).strength;
    const auto g_of_items = model.field_input({v, of_items}).strength;
    const auto g_of_all = model.field_input({v, one_time(t)}).strength;
    EXPECT_EQ(model.field_input({v, one_time(0.0)}).strength.abs().max().item<double>(), 0.0);
    for (int64_t b = 0; b < 4; ++b)
      for (int64_t i = 0; i < 5; ++i) {
        SCOPED_TRACE(concat(path->name(), ", item ", b, ", variable ", i));
        const int64_t c = space.n_labels(i);
        expect_near(g_own[b][i], strength_at(*path, c, own[b][i].item<double>()));
        expect_near(g_of_items[b][i], strength_at(*path, c, of_items[b].item<double>()));
        expect_near(g_of_all[b][i], strength_at(*path, c, t));
      }
  }
}

TEST(FieldInput, AKnownLabelIsAsStrongAsTheDecisionTimeAndOneLeftOutSaysNothing) {
  const Space space = mixed_space();
  const auto v = tangent_noise(space, 4);
  const Known known{.labels = some_known()};
  for (const auto& [path, t] : both_paths()) {
    const auto times = own_times(t);
    const auto g = model_with(space, path, FieldReads::strength).field_input({v, times, known}).strength;
    const double t1 = decision_time(space, *path);
    for (int64_t b = 0; b < 4; ++b)
      for (int64_t i = 0; i < 5; ++i) {
        SCOPED_TRACE(concat(path->name(), ", item ", b, ", variable ", i));
        const auto mark = known.labels[b][i].item<int64_t>();
        const double open = strength_at(*path, space.n_labels(i), times[b][i].item<double>());
        const double most = strength_at(*path, space.n_labels(i), t1);
        expect_near(g[b][i], mark >= 0 ? most : mark == kLeftOut ? 0.0 : open);
      }
  }
}

TEST(FieldInput, SoftEvidenceAddsStrength) {
  const Space space = mixed_space();
  const auto v = tangent_noise(space, 4);
  for (const auto& [path, t] : both_paths()) {
    const Model model = model_with(space, path, FieldReads::strength);
    const auto with = [&, at = one_time(t)](const torch::Tensor& soft) {
      return model.field_input({v, at, {.soft = soft}}).strength;
    };
    const auto none = model.field_input({v, one_time(t)}).strength;
    const auto soft = noise({4, 20}, 5);
    // A spread that rounding keeps 1e-16 below that of equal labels is an angle of 1e-8.
    EXPECT_LT(max_difference(with(torch::zeros_like(soft)), none), 1e-6);
    EXPECT_GT((with(soft) - none).min().item<double>(), 0.0);
    EXPECT_GT((with(3.0 * soft) - with(soft)).min().item<double>(), 0.0);
    // Log odds L of two labels are the mean of a path with kappa^2 (a/s)^2 = |L|, and the strength is twice that.
    const auto odds = (soft.select(1, 0) - soft.select(1, 1)).abs();
    EXPECT_LT(max_difference((with(soft) - none).select(1, 0), 2.0 * ((1.0 + odds.square()).sqrt() - 1.0)), 1e-9);
  }
}

// The strength of soft evidence is the g at which a path's evidence has that size on average, for any number of labels:
// E|e|^2 = (c - 1)(g^2 / 4c + g / 2). Here no label is limited.
TEST(FieldInput, SoftEvidenceIsAsStrongAsAPathsOfItsSize) {
  const Space space = mixed_space();
  const auto v = tangent_noise(space, 4);
  const auto soft = noise({4, 20}, 5);
  for (const auto& [path, t] : both_paths()) {
    const Model model = model_with(space, path, FieldReads::strength);
    const auto g =
        model.field_input({v, one_time(t), {.soft = soft}}).strength - model.field_input({v, one_time(t)}).strength;
    for (int64_t i = 0; i < 5; ++i) {
      const auto c = static_cast<double>(space.n_labels(i));
      const auto of_variable = soft.narrow(1, space.offset(i), space.n_labels(i));
      const auto size = (of_variable - of_variable.mean(1, true)).square().sum(1);
      const auto of_path = (c - 1.0) * (g.select(1, i).square() / (4.0 * c) + 0.5 * g.select(1, i));
      EXPECT_LT(max_difference(of_path, size), 1e-9) << path->name() << ", " << c << " labels";  // g is a difference
    }
  }
}

TEST(FieldInput, StandardisedIsTheEvidenceOverItsSize) {
  const Space space = mixed_space();
  const auto v = tangent_noise(space, 4);
  const Known known{.labels = some_known()};
  for (const auto& [path, t] : both_paths()) {
    const auto times = own_times(t);
    const auto input = model_with(space, path, FieldReads::standardised).field_input({v, times, known});
    for (int64_t b = 0; b < 4; ++b)
      for (int64_t i = 0; i < 5; ++i) {
        SCOPED_TRACE(concat(path->name(), ", item ", b, ", variable ", i));
        const int64_t c = space.n_labels(i);
        const auto mark = known.labels[b][i].item<int64_t>();
        const auto at = path->at(times[b][i].item<double>());
        const double g = input.strength[b][i].item<double>();
        for (int64_t j = 0; j < c; ++j) {
          const double e = path->corner_scale(c) * at.a / (at.s * at.s) * v[b][space.offset(i) + j].item<double>();
          const double corner = 0.5 * g * ((j == mark ? 1.0 : 0.0) - 1.0 / static_cast<double>(c));
          const double seen = mark >= 0 ? corner : mark == kLeftOut ? 0.0 : e;
          expect_near(input.standardised[b][space.offset(i) + j], seen / std::sqrt(1.0 + g));
        }
      }
  }
}

TEST(FieldInput, StandardisedCountsSoftEvidenceToo) {
  const Space space = mixed_space();
  const auto v = tangent_noise(space, 4);
  const auto soft = noise({4, 20}, 5);
  for (const auto& [path, t] : both_paths()) {
    const auto input = model_with(space, path, FieldReads::standardised).field_input({v, one_time(t), {.soft = soft}});
    const auto centred =
        soft - spread(space, reduce_blocks(space, {soft}, [](const auto& in) { return in[0].mean(-1); }));
    const auto e = v * evidence_scale(space, *path, one_time(t)) + centred;
    for (int64_t i = 0; i < 5; ++i) {
      const auto size = (1.0 + input.strength.select(1, i)).sqrt().unsqueeze(1);
      const auto part = [&](const torch::Tensor& x) { return x.narrow(1, space.offset(i), space.n_labels(i)); };
      EXPECT_LT(max_difference(part(input.standardised) * size, part(e)), 10 * kRounding);  // evidence of size 10
    }
  }
}

// Soft evidence is what is left after a constant per variable, which says nothing. What no path shows is limited: a
// label that trails by 1e4 nats or is impossible is shown like one that trails by five, and a lead like that of a
// decision.
TEST(FieldInput, SoftEvidenceIsShownAsFarAsTrainingShowsIt) {
  const Space space = mixed_space();
  const auto v = tangent_noise(space, 4);
  const auto soft = 0.5 * noise({4, 20}, 5);
  for (const auto& [path, t] : both_paths()) {
    const Model model = model_with(space, path, FieldReads::standardised);
    const auto shown = [&, at = one_time(t)](const torch::Tensor& with) {
      return model.field_input({v, at, {.soft = with}});
    };
    const auto plain = shown(soft);
    const auto more = spread(space, 50.0 * noise({4, 5}, 7));
    EXPECT_LT(max_difference(shown(soft + more).standardised, plain.standardised), 1e-9);
    EXPECT_LT(max_difference(shown(soft + more).strength, plain.strength), 1e-9);
    EXPECT_LT(max_difference(shown(soft + more).t, plain.t), 1e-9);
    for (const double behind : {-1e4, -std::numeric_limits<double>::infinity()}) {
      auto excluded = soft.clone();
      for (const int64_t i : {1, 2, 4}) excluded.select(1, space.offset(i)).fill_(behind);
      auto trailing = excluded.clone();
      for (const int64_t i : {1, 2, 4}) {
        const auto rest = soft.narrow(1, space.offset(i) + 1, space.n_labels(i) - 1);
        const auto second = rest.size(1) > 1 ? std::get<0>(rest.topk(2, 1)).select(1, 1) : rest.select(1, 0);
        trailing.select(1, space.offset(i)).copy_(second - 5.0);
      }
      EXPECT_LT(max_difference(shown(excluded).standardised, shown(trailing).standardised), 1e-9) << behind;
      EXPECT_LT(max_difference(shown(excluded).strength, shown(trailing).strength), 1e-9) << behind;
      // A variable of which one label is left is shown as certain as a decision.
      auto only = torch::full({4, 20}, behind);
      only.index_fill_(1, space.starts(torch::kCPU), 0.0);
      const auto certain = shown(only);
      EXPECT_TRUE(certain.standardised.isfinite().all().item<bool>());
      EXPECT_LT(certain.standardised.abs().max().item<double>(), 30.0) << behind;
    }
  }
}

// Given the label, the log-likelihood ratio of two labels is normal with variance g. Its mean is g/2 if the first is
// the label, and 0 if neither is.
TEST(FieldInput, StrengthIsTheVarianceOfLogLikelihoodRatios) {
  constexpr int64_t kItems = 20'000;
  const Space space = test::space_of({3});
  const auto labels = torch::zeros({kItems, 1}, torch::kInt64);
  for (const auto& [path, middle] : both_paths()) {
    const double t = 0.5 * middle;
    const auto times = torch::full({kItems}, t, torch::kFloat32);
    const auto sample = sample_path(space, *path, labels, times, {1, Purpose::probe}, 0, WithVelocity::no);
    const Model model = model_with(space, path, FieldReads::standardised, Form::evidence, torch::kFloat32);
    const auto input = model.field_input({sample.v_t, times});
    const auto e = (input.standardised * (1.0 + input.strength).sqrt()).to(torch::kFloat64);
    const double g = strength_at(*path, 3, t);
    const auto expect_moments = [&](const torch::Tensor& ratio, double mean) {
      EXPECT_NEAR(ratio.mean().item<double>(), mean, test::kSigmas * std::sqrt(g / static_cast<double>(kItems)));
      EXPECT_NEAR(ratio.var().item<double>(), g, test::kSigmas * g * std::sqrt(2.0 / static_cast<double>(kItems)));
    };
    expect_moments(e.select(1, 0) - e.select(1, 1), 0.5 * g);
    expect_moments(e.select(1, 1) - e.select(1, 2), 0.0);
  }
}

TEST(FieldInput, InFloat32IsTheSame) {
  const Space space = mixed_space();
  const auto v = tangent_noise(space, 4);
  const Known known{.labels = some_known(), .soft = noise({4, 20}, 5)};
  for (const auto& [path, t] : both_paths()) {
    const auto exact = model_with(space, path, FieldReads::standardised).field_input({v, own_times(t), known});
    const auto single =
        model_with(space, path, FieldReads::standardised, Form::evidence, torch::kFloat32)
            .field_input({v.to(torch::kFloat32), own_times(t).to(torch::kFloat32), known.to(torch::kFloat32)});
    EXPECT_EQ(single.strength.scalar_type(), torch::kFloat32);
    EXPECT_EQ(single.standardised.scalar_type(), torch::kFloat32);
    const auto scale = [](const torch::Tensor& x) { return std::max(1.0, x.abs().max().item<double>()); };
    EXPECT_LT(max_difference(single.strength, exact.strength), kSingleTol * scale(exact.strength));
    EXPECT_LT(max_difference(single.standardised, exact.standardised), kSingleTol * scale(exact.standardised));
  }
}

TEST(FieldInput, HasOnlyWhatTheNetworkReads) {
  const Space space = mixed_space();
  const auto v = tangent_noise(space, 4);
  const auto [path, t] = both_paths().front();
  const State state{v, one_time(t)};
  const auto shown = [&, along = path](FieldReads reads, Form form) {
    return model_with(space, along, reads, form).field_input(state);
  };
  const auto point = shown(FieldReads::point, Form::evidence);
  EXPECT_FALSE(point.strength.defined());
  EXPECT_FALSE(point.standardised.defined());
  const auto strength = shown(FieldReads::strength, Form::evidence);
  EXPECT_TRUE(strength.strength.defined());
  EXPECT_FALSE(strength.standardised.defined());
  for (const Form form : {Form::velocity, Form::endpoint}) {
    const auto other = shown(FieldReads::standardised, form);
    EXPECT_TRUE(other.W.defined());
    EXPECT_FALSE(other.strength.defined()) << "only the evidence form has any";
    EXPECT_FALSE(other.standardised.defined());
  }
}

TEST(FieldInput, ReachesTheNetworkWithWhatIsKnownAndTheItemsNumber) {
  const Space space = mixed_space();
  const auto [path, t] = both_paths().front();
  const auto field = std::make_shared<FixedField>(noise({20}), FieldReads::standardised);
  const Model model(space, path, Form::evidence, field);
  const Known known{.labels = some_known()};
  const auto first = torch::full({1}, 40, torch::kInt64);
  const State state{tangent_noise(space, 4), one_time(t), known, {.seed = 1, .first = first}};
  model.network_output(state);
  const auto input = model.field_input(state);
  EXPECT_TRUE(torch::equal(field->shown.W, input.W));
  EXPECT_TRUE(torch::equal(field->shown.t, input.t));
  EXPECT_TRUE(torch::equal(field->shown.strength, input.strength));
  EXPECT_TRUE(torch::equal(field->shown.standardised, input.standardised));
  EXPECT_TRUE(torch::equal(field->shown.known, known.labels));
  EXPECT_EQ(field->shown.training.first.item<int64_t>(), 40);
}

}  // namespace
}  // namespace segre::field_input_test
