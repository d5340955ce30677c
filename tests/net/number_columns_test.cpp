#include "segre/net/number_columns.h"

#include <cmath>
#include <numbers>

#include "segre/net/layers.h"
#include "segre/net/residual.h"
#include "segre/net/tree.h"
#include "tests/net/evidence_input.h"
#include "tests/support/datasets.h"
#include "tests/support/reference.h"
#include "tests/support/threads.h"

namespace segre::number_columns_test {
namespace {

// 10 intervals of which 3 share a label, so that the last label has one, and two single values, 2.5 and 11.
Bins levels() {
  Bins bins;
  for (int k = 0; k <= 10; ++k) bins.edges.push_back(k);
  bins.are_levels = true;
  bins.fine = 3;
  bins.own = {2.5, 11.0};
  return bins;
}

// A column of these levels and one of points with missing values, and a column of labels between them.
Space space() {
  Bins points = levels();
  points.own = {0.0};
  points.are_points = true;
  return Space::table({{"x", 6, {}, levels(), {}, "x"},
                       {"x (within)", 3, {}, {}, {}, "x"},
                       {"colour", 4, {}},
                       {"y", 6, {}, points, {}, "y"},
                       {"y (within)", 3, {}, {}, {}, "y"}});
}
constexpr int64_t kCoarse[] = {0, 3};
constexpr int64_t kShared = 4;  // labels that intervals share

// How many intervals a coarse label has; single values and missing ones have none.
int64_t n_cells(int64_t label) { return label < 3 ? 3 : label == 3 ? 1 : 0; }

// Rows whose fine label is among those that the coarse one has.
torch::Tensor rows(int64_t count) {
  auto labels = test::some_labels(space(), count, 3);
  for (const int64_t i : kCoarse)
    for (int64_t row = 0; row < count; ++row) {
      const int64_t n = std::max<int64_t>(1, n_cells(labels[row][i].item<int64_t>()));
      labels[row][i + 1] = labels[row][i + 1].item<int64_t>() % n;
    }
  return labels;
}

NumberColumns counted() {
  NumberColumns columns(space());
  columns.fit(*make_dataset_source({space(), rows(500)}));
  return columns;
}

// p(b | a) of the definition, from the log messages g of the coarse labels.
double density(const NumberColumns& columns, int64_t pair, const test::Row& g, int64_t a, int64_t b) {
  const auto U = [&](int64_t k) { return columns.within()[pair][a][k].item<double>(); };
  if (n_cells(a) == 0) return b == 0 ? 1.0 : 0.0;
  const auto lead = [&](int64_t label) { return g[label] - columns.log_p()[pair][label].item<double>(); };
  const int64_t above = std::min(a + 1, kShared - 1);
  const int64_t below = std::max<int64_t>(a - 1, 0);
  const double tau = std::tanh(0.5 * (lead(above) - lead(below)) / static_cast<double>(above - below));
  std::vector<double> z(3, 0.0);
  double mean = 0.0;
  for (int64_t k = 0; k < n_cells(a); ++k) {
    z[k] = (2.0 * static_cast<double>(k) + 1.0) / static_cast<double>(n_cells(a)) - 1.0;
    mean += U(k) * z[k];
  }
  double most = 1.0;
  for (int64_t k = 0; k < 3; ++k) most = std::max(most, std::abs(z[k] - mean));
  return U(b) * (1.0 + tau * (z[b] - mean) / most);
}

TEST(NumberColumns, AreFoundInASpace) {
  EXPECT_TRUE(NumberColumns::any(space()));
  EXPECT_FALSE(NumberColumns::any(test::mixed_space()));
  EXPECT_EQ(NumberColumns(space()).fine_variables(), (std::vector<int64_t>{1, 4}));
}

TEST(NumberColumns, CoupleAsLoopsDo) {
  const auto columns = counted();
  const auto input = test::some_evidence(space(), 6, torch::kFloat32);
  const auto message = test::noise({6, space().n_coordinates()}, 5).to(torch::kFloat32);
  const auto found = columns.couple(message, input.W);
  for (int64_t row = 0; row < 6; ++row)
    for (int64_t pair = 0; pair < 2; ++pair) {
      const int64_t at = space().offset(kCoarse[pair]);
      const test::Row g = test::values_of(message[row].slice(0, at, at + 6).to(torch::kFloat64));
      const test::Row h = test::values_of(message[row].slice(0, at + 6, at + 9).to(torch::kFloat64));
      const test::Row s = test::values_of(input.W[row].slice(0, at, at + 9).to(torch::kFloat64));
      double all = 0.0;
      for (int64_t a = 0; a < 6; ++a) all += s[a] * std::exp(g[a]);
      test::Row wanted;
      for (int64_t a = 0; a < 6; ++a) {
        double sum = 0.0;
        for (int64_t b = 0; b < 3; ++b) sum += s[6 + b] * density(columns, pair, g, a, b);
        wanted.push_back(g[a] + std::log(sum));
      }
      for (int64_t b = 0; b < 3; ++b) {
        double sum = 0.0;
        for (int64_t a = 0; a < 6; ++a) sum += s[a] * std::exp(g[a]) / all * density(columns, pair, g, a, b);
        wanted.push_back(h[b] + std::log(sum));
      }
      // Sums of up to 6 products in float32, and their logarithms.
      EXPECT_LT(test::max_difference(found[row].slice(0, at, at + 9), test::tensor_of(wanted)), 2e-5) << row;
    }
  const int64_t colour = space().offset(2);
  EXPECT_TRUE(torch::equal(found.slice(1, colour, colour + 4), message.slice(1, colour, colour + 4)));
}

// The fine labels of each coarse one have the whole of its probability, whatever the message.
TEST(NumberColumns, DensitiesWithinSumToOne) {
  const auto columns = counted();
  const auto message = 3.0 * test::noise({4, space().n_coordinates()}, 6).to(torch::kFloat32);
  for (int64_t pair = 0; pair < 2; ++pair) {
    const int64_t at = space().offset(kCoarse[pair]);
    auto total = torch::zeros({4, 6});
    for (int64_t b = 0; b < 3; ++b) {
      auto W = lift(space(), torch::zeros({4, space().n_coordinates()}));
      W.slice(1, at + 6, at + 9).zero_();
      W.select(1, at + 6 + b).fill_(1.0);
      const auto p = (columns.couple(message, W) - message).slice(1, at, at + 6).exp();
      EXPECT_GE(p.min().item<double>(), 0.0);
      total += p;
    }
    EXPECT_LT((total - 1.0).abs().max().item<double>(), 1e-5) << "pair " << pair;
  }
}

// With the counted frequencies as message, a column of points is the tree whose fine label hangs at its coarse one.
TEST(NumberColumns, PointsAreATreeIfTheMessageIsTheFrequencies) {
  const auto all = space();
  const auto y = Space::table({all.parts()[0].columns[3], all.parts()[0].columns[4]});
  const auto labels = rows(20'000).slice(1, 3, 5).contiguous();
  const auto source = make_dataset_source({y, labels});
  NumberColumns columns(y);
  columns.fit(*source);
  TreeField tree(y);
  tree.fit(*source);
  const auto input = test::some_evidence(y, 8, torch::kFloat32);
  auto message = torch::zeros({8, 9});
  message.slice(1, 0, 6).copy_(columns.log_p()[0]);
  const auto centred = [&](const torch::Tensor& m) { return log_lift(y, m + (input.W + kLeastProbability).log()); };
  const auto found = centred(columns.couple(message, input.W)).exp();
  const auto wanted = centred(tree.forward(input)).exp();
  // They add their one count per label in different ways: of 20,000 rows a label has some 3,000.
  EXPECT_LT((found - wanted).abs().max().item<double>(), 2e-3);
}

// Where a number is known, its waves are cosines of its place among the levels.
TEST(NumberColumns, FeaturesOfAKnownLevelAreCosinesOfItsPlace) {
  const NumberColumns columns(space());
  const int64_t n = columns.size().n_waves() / 2;
  const auto labels = torch::tensor({{1, 2, 0, 3, 0}, {4, 0, 0, 5, 0}, {5, 0, 0, 4, 0}}, torch::kInt64);
  const auto W = one_hot(space(), labels, torch::kFloat32);
  const auto found = columns.features(W, W, torch::zeros_like(W));
  // Interval 5 of 10; interval 9; 2.5 is in interval 2, 11 is above all, 0 in interval 0. The last label is missing.
  const double x[3][2] = {{0.55, 0.95}, {0.3, NAN}, {1.0, 0.1}};
  for (int64_t row = 0; row < 3; ++row)
    for (int64_t pair = 0; pair < 2; ++pair)
      for (int64_t k = 0; k < n; ++k) {
        const double place = x[row][pair];
        const double wanted = std::isnan(place) ? 0.0 : std::cos(std::numbers::pi * static_cast<double>(k + 1) * place);
        EXPECT_NEAR(found[row][pair * n + k].item<double>(), wanted, 1e-5) << row << " " << pair << " " << k;
      }
}

NetOptions options(bool tree) {
  NetOptions options;
  options.kind = "residual";
  options.of<ResidualOptions>() = {.blocks = 1, .width = 6, .tree = tree, .columns = true};
  return options;
}

TEST(NumberColumns, GradientsThroughThemEqualFiniteDifferences) {
  const test::Threads one_thread(1);
  const auto source = make_dataset_source({space(), rows(300)});
  for (const bool tree : {false, true}) {
    ResidualField field(space(), options(tree), 1);
    field.fit(*source);
    test::to_double(field);
    test::randomise(field);
    const auto input = test::some_evidence(space(), 3);
    const auto direction = test::noise({3, space().n_coordinates()}, 3);
    const auto loss = [&] { return (field.forward(input) * direction).sum(); };
    loss().backward();
    // Central differences with h = 1e-6: h^2 times curvature, and rounding 1e-14 / h.
    EXPECT_LT(test::gradient_error(
                  field, [&] { return loss().item<double>(); }, 1e-6),
              1e-6);
  }
}

// The coarse levels have the same pairs here, so they are joined; the fine ones are left to the coupling.
TEST(NumberColumns, AreJoinedByTheirCoarseLevelsInATree) {
  auto labels = rows(2000);
  labels.select(1, 3).copy_(labels.select(1, 0));
  labels.select(1, 4).copy_(labels.select(1, 1));
  ResidualField field(space(), options(true), 1);
  field.fit(*make_dataset_source({space(), labels}));
  const auto parents = test::named(field.buffers(), "tree.parents");
  EXPECT_EQ(parents[3].item<int64_t>(), 0);
  EXPECT_EQ(parents[1].item<int64_t>(), -1);
  EXPECT_EQ(parents[4].item<int64_t>(), -1);
}

TEST(NumberColumns, AreCountedWithTheParameters) {
  const ResidualField field(space(), options(false), 1);
  auto count = static_cast<double>(n_parameters(field));
  for (const auto& [name, buffer] : field.buffers()) count += static_cast<double>(buffer.numel());
  EXPECT_EQ(count, residual_kind().count(space(), options(false)));
}

TEST(NumberColumns, AreLoadedWithTheOtherTensors) {
  const auto source = make_dataset_source({space(), rows(300)});
  ResidualField field(space(), options(true), 1);
  field.fit(*source);
  ResidualField other(space(), options(true), 1);
  for (size_t k = 0; k < field.buffers().size(); ++k) other.buffers()[k].second.copy_(field.buffers()[k].second);
  other.refresh();
  const auto input = test::some_evidence(space(), 5, torch::kFloat32);
  EXPECT_TRUE(torch::equal(other.forward(input), field.forward(input)));
}

}  // namespace
}  // namespace segre::number_columns_test
