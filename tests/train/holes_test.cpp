#include "segre/train/holes.h"

#include <tuple>

#include "segre/flow/sampler.h"
#include "segre/net/latent_class.h"
#include "segre/net/mlp.h"
#include "segre/net/net_kinds.h"
#include "segre/net/residual.h"
#include "segre/net/tree.h"
#include "segre/path/e_geodesic.h"
#include "segre/train/trainer.h"
#include "tests/support/support.h"
#include "tests/support/threads.h"

namespace segre::holes_test {
namespace {

constexpr int64_t kRows = 20'000;

// Whole rows of z, x and y: x depends on z, and y on x.
torch::Tensor whole_rows() {
  const auto u = [](uint64_t column) {
    return fill_uniform(torch::empty({kRows}), RandomStream(1, Purpose::probe).part(column), 0);
  };
  const auto z = u(0) < 0.5;
  const auto x = u(1) < torch::where(z, 0.8, 0.3);
  const auto y = u(2) < torch::where(x, 0.9, 0.2);
  return torch::stack({z, x, y}, 1).to(torch::kInt64);
}

// The same with x missing at random: in 70% of the rows with z = 1, and in 5% of the others.
std::unique_ptr<DataSource> missing_at_random() {
  const Space space = Space::table({{"z", 2, {}}, {"x", 2, {}}, {"y", 2, {}}});
  const auto rows = whole_rows();
  const auto u = fill_uniform(torch::empty({kRows}), RandomStream(1, Purpose::probe).part(3), 0);
  const auto hole = u < torch::where(rows.select(1, 0) == 1, 0.7, 0.05);
  rows.select(1, 1).masked_fill_(hole, kUnknown);
  return make_dataset_source({.space = space, .labels = rows, .unknowns = Unknowns::allow});
}

Model trained(const DataSource& source, const NetOptions& net, int64_t steps, double lr = 3e-3, bool fills = true) {
  const test::Threads one_thread(1);
  const Model model(source.space(), make_e_geodesic(0.01), Form::evidence, make_field(source.space(), net, 1));
  model.field().fit(source);
  TrainOptions options;
  options.steps = steps;
  options.batch = 256;
  options.schedule.lr = lr;
  options.evidence.kind = EvidenceKind::any;
  options.fill_holes = fills;
  Trainer trainer(model, source, options, 1);
  while (trainer.n_steps() < steps) trainer.step();
  load_weights(model.field(), trainer.state(), /*averaged=*/true);
  return model;
}

NetOptions small_net(const std::string& kind) {
  NetOptions net;
  net.kind = kind;
  net.of<MlpOptions>().hidden = {64, 64};
  net.of<LatentClassOptions>().classes = 8;
  net.of<ResidualOptions>().blocks = 2;
  net.of<ResidualOptions>().width = 64;
  return net;
}

// The rows' own frequencies of z = 1, and of x = 1 and y = 1 given z = 1, are those of samples, and of what the model
// says of a row of which nothing or z = 1 is known. Leaving the holes out, samples had z = 1 in a quarter of the rows.
TEST(TrainingHoles, OneModelGivesOneAnswer) {
  const auto source = missing_at_random();
  const auto whole = whole_rows().to(torch::kFloat64);
  const auto mean_of = [](const torch::Tensor& rows, int64_t column) {
    return rows.select(1, column).to(torch::kFloat64).mean().item<double>();
  };
  const auto with_z = [](const torch::Tensor& rows) { return rows.index({rows.select(1, 0) == 1}); };
  // Three standard deviations of a share of 10,000 rows twice, and as much for a network trained for seconds.
  constexpr double kTolerance = 3.0 * 0.007 + 0.02;
  // A tree is counted, and a mixture learns by large steps.
  const std::tuple<const char*, int64_t, double> kinds[] = {
      {"residual", 1000, 3e-3}, {"mlp", 1000, 3e-3}, {"latent_class", 1000, 0.05}, {"tree", 50, 3e-3}};
  for (const auto& [kind, steps, lr] : kinds) {
    const Model model = trained(*source, small_net(kind), steps, lr);
    const Sampler sampler(model, {}, 1);
    const auto samples = sampler.draw(0, kRows).labels;
    const auto known = torch::tensor({{kUnknown, kUnknown, kUnknown}, {int64_t{1}, kUnknown, kUnknown}}, torch::kInt64);
    const auto told = sampler.probabilities({.labels = known}, 0);
    for (int64_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(mean_of(samples, i), mean_of(whole, i), kTolerance) << kind << ", samples, " << i;
      EXPECT_NEAR(told[0][2 * i + 1].item<double>(), mean_of(whole, i), kTolerance) << kind << ", marginal, " << i;
      if (i == 0) continue;
      EXPECT_NEAR(mean_of(with_z(samples), i), mean_of(with_z(whole), i), kTolerance)
          << kind << ", samples given z, " << i;
      EXPECT_NEAR(told[1][2 * i + 1].item<double>(), mean_of(with_z(whole), i), kTolerance)
          << kind << ", given z, " << i;
    }
  }
}

constexpr int64_t kCopies = 8;

// How often two columns agree, on average over the pairs.
double agreement(const torch::Tensor& rows) {
  const auto ones = rows.to(torch::kFloat64).sum(1);
  const auto pairs = (ones * (ones - 1.0) + (kCopies - ones) * (kCopies - ones - 1.0)) / 2.0;
  return pairs.mean().item<double>() / (kCopies * (kCopies - 1) / 2.0);
}

// Copies of a coin, each wrong in one case out of twenty, that are missing all together in half of the rows. Left out,
// they are learned from the other half. Filled, the last five are drawn at once, and what they lose of their
// dependence is learned: two columns agreed in 0.79 of the samples when thirds were drawn at once.
TEST(TrainingHoles, OfABlockOfColumnsKeepTheirDependence) {
  const auto u = [](uint64_t part, int64_t columns) {
    return fill_uniform(torch::empty({kRows, columns}), RandomStream(2, Purpose::probe).part(part), 0);
  };
  const auto rows = (u(0, 1) < 0.5).logical_xor(u(1, kCopies) < 0.05).to(torch::kInt64);
  const auto source = make_dataset_source({.space = test::binary_space(kCopies),
                                           .labels = rows.masked_fill(u(2, 1) < 0.5, kUnknown),
                                           .unknowns = Unknowns::allow});
  // A standard deviation of a share of 20,000 rows is 0.002; the rest is for networks trained for seconds.
  constexpr double kTolerance = 0.02;
  constexpr double kLost = 0.04;
  const std::tuple<const char*, int64_t, double> kinds[] = {{"residual", 1000, 3e-3}, {"latent_class", 1000, 0.05}};
  for (const auto& [kind, steps, lr] : kinds)
    for (const bool fills : {true, false}) {
      const Model model = trained(*source, small_net(kind), steps, lr, fills);
      const double found = agreement(Sampler(model, {}, 1).draw(0, kRows).labels);
      EXPECT_NEAR(found, agreement(rows), fills ? kTolerance + kLost : kTolerance) << kind << ", " << fills;
    }
}

TEST(TrainingHoles, DependOnTheSeedAndTheItemOnly) {
  const auto source = missing_at_random();
  const Model model = trained(*source, small_net("latent_class"), 20);
  const auto labels = source->rows(0, 64);
  const auto cell = [](int64_t item) { return torch::full({1}, 3 * item, torch::kInt64); };
  const TrainingHoles holes(model, 5);
  const auto all = holes(labels, cell(0));
  EXPECT_TRUE(torch::equal(holes(labels, cell(0)), all));
  EXPECT_FALSE(torch::equal(holes(labels, cell(64)), all));
  EXPECT_FALSE(torch::equal(TrainingHoles(model, 6)(labels, cell(0)), all));
}

TEST(TrainingHoles, KeepWhatIsKnownAndTheShareOfHoles) {
  const auto source = missing_at_random();
  const Model model = trained(*source, small_net("latent_class"), 20);
  const auto labels = source->rows(0, kRows);
  const auto found = TrainingHoles(model, 5)(labels, torch::zeros({1}, torch::kInt64));
  const auto kept = (labels != kUnknown).logical_and(found != kUnknown);
  EXPECT_TRUE(torch::equal(found.masked_select(kept), labels.masked_select(kept)));
  // Half of the items get the holes of another, so half as many cells are unknown: 20,000 coins.
  const double holes = (labels == kUnknown).to(torch::kFloat64).mean().item<double>();
  EXPECT_NEAR((found == kUnknown).to(torch::kFloat64).mean().item<double>(), 0.5 * holes,
              5.0 * 0.5 * holes / std::sqrt(kRows * 3 * holes));
  // Holes of training say nothing about the row: as many rows with z = 1 lose x as others.
  const auto lost = (found.select(1, 1) == kUnknown).to(torch::kFloat64);
  const auto z = found.select(1, 0) == 1;
  const double with = lost.masked_select(z).mean().item<double>();
  const double without = lost.masked_select(z.logical_not()).mean().item<double>();
  EXPECT_NEAR(with, without, 5.0 * std::sqrt(0.19 * 0.81 * 4.0 / kRows));
}

}  // namespace
}  // namespace segre::holes_test
