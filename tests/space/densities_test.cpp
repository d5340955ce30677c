#include "segre/space/densities.h"

#include <gtest/gtest.h>

#include <cmath>

#include "segre/core/error.h"
#include "segre/read/number_levels.h"
#include "tests/support/support.h"

namespace segre::densities_test {
namespace {

// Two columns of numbers and one of labels. Measurements from 0 to 80 in four intervals of two labels, 50 with its own;
// counts from 0 to 9 in two intervals, 4 with its own; missing values.
Space space() {
  Bins measured{Bins::Unit::number, {0, 10, 20, 40, 80}, Bins::kAnyDecimals};
  measured.are_levels = true;
  measured.fine = 2;
  measured.own = {50};
  Bins counted{Bins::Unit::number, {0, 5, 9}, 0};
  counted.are_levels = true;
  counted.own = {4};
  return Space::table({{"x", 4, {"[0, 20)", "[20, 80]", "50", "(missing)"}, measured, {}, "x"},
                       {"x (within)", 2, {}, {}, {}, "x"},
                       {"sky", 2, {"rain", "sun"}},
                       {"n", 3, {"[0, 5)", "[5, 9]", "4"}, counted}});
}

TEST(Densities, AreThoseOfWidthsAndCounts) {
  const auto labels = torch::tensor({{0, 0, 0, 0},     // 10 wide; 0, 1, 2 or 3
                                     {0, 1, 1, 1},     // 10 wide; 5 to 9
                                     {1, 1, 0, 2},     // 40 wide; 4
                                     {2, 0, 0, -1},    // 50; unknown
                                     {3, 0, 0, 0},     // missing
                                     {-1, -1, 0, 1}},  // unknown
                                    torch::kInt64);
  const auto found = log_densities(space(), labels);
  const auto none = [](double x) { return -std::log(x); };
  const auto expected = torch::tensor({{none(10), 0.0, 0.0, none(4)},
                                       {none(10), 0.0, 0.0, none(5)},
                                       {none(40), 0.0, 0.0, 0.0},
                                       {0.0, 0.0, 0.0, 0.0},
                                       {0.0, 0.0, 0.0, none(4)},
                                       {0.0, 0.0, 0.0, none(5)}},
                                      torch::kFloat64);
  EXPECT_LT((found - expected).abs().max().item<double>(), 1e-12);
}

TEST(Densities, AreUndefinedWithoutNumbers) {
  const Space labels = Space::table({{"sky", 2, {"rain", "sun"}}});
  EXPECT_FALSE(log_densities(labels, torch::zeros({3, 1}, torch::kInt64)).defined());
  EXPECT_FALSE(has_density(labels, labels.columns()[0]));
  EXPECT_TRUE(has_density(space(), space().columns()[0]));
}

// The levels of values, all with the same digits, as a table reads them.
Bins levels_of(const std::vector<std::string>& texts) {
  ValueScale scale;
  std::map<double, int64_t> counts;
  for (const std::string& text : texts) ++counts[*scale.add(text)];
  std::vector<CountedValue> values;
  for (const auto& [value, count] : counts) values.push_back({value, count});
  return choose_levels(scale, values);
}

// Values of three kinds: whole numbers with zeros, hundredths, and floating-point numbers with all their digits.
std::vector<std::string> values_of(int kind, int64_t n_rows) {
  std::vector<std::string> texts;
  const RandomStream random(7, Purpose::bin_values);
  for (int64_t row = 0; row < n_rows; ++row) {
    const double u = uniform_double(random, static_cast<uint64_t>(row));
    const double value = std::exp(4.0 * u);
    char text[64];
    std::snprintf(text, sizeof text,
                  kind == 0   ? "%.0f"
                  : kind == 1 ? "%.2f"
                              : "%.17g",
                  kind == 0 && u < 0.3 ? 0.0
                  : kind == 0          ? 100.0 * value
                                       : value);
    texts.emplace_back(text);
  }
  return texts;
}

// Whatever the probabilities of the labels, those of all values sum to 1: on a grid the density times its step summed
// over all values that are no labels, elsewhere integrated, and the values with labels of their own. Values between 0,
// which recurs, and the first level belong to none: they are scored as the nearest.
TEST(Densities, IntegrateToOne) {
  for (const int kind : {0, 1, 2}) {
    const Bins bins = levels_of(values_of(kind, 4000));
    ASSERT_GT(bins.n_intervals(), 40) << kind;
    const int64_t n = bins.n_intervals() + static_cast<int64_t>(bins.own.size());
    const double p = 1.0 / static_cast<double>(n);  // of each
    const double step = kind == 0 ? 1.0 : kind == 1 ? 0.01 : 0.0;
    double sum = p * static_cast<double>(bins.own.size());
    if (step > 0.0) {
      const auto last = static_cast<int64_t>(std::llround(bins.largest() / step));
      for (auto k = static_cast<int64_t>(std::llround(bins.edges.front() / step)); k <= last; ++k) {
        const Bins::Place place = bins.place(bins.parse(bins.text_of(static_cast<double>(k) * step)).value());
        if (bins.number_of(place) < bins.n_intervals()) sum += p * std::exp(bins.log_density(place)) * step;
      }
    } else {
      // By rectangles, finer than the levels: an edge within one costs at most its share of the level.
      constexpr int64_t kRectangles = 2'000'000;
      const double width = (bins.largest() - bins.least()) / kRectangles;
      for (int64_t k = 0; k < kRectangles; ++k) {
        const double value = bins.least() + (static_cast<double>(k) + 0.5) * width;
        sum += p * std::exp(bins.log_density(bins.place(value))) * width;
      }
    }
    EXPECT_NEAR(sum, 1.0, 1e-3) << kind;
  }
}

// A column in thousandths of its unit has the same levels, and densities that are a thousand times as small.
TEST(Densities, FollowTheUnit) {
  for (const int kind : {1, 2}) {
    const auto texts = values_of(kind, 2000);
    std::vector<std::string> scaled;
    for (const std::string& text : texts) {
      char wide[64];
      std::snprintf(wide, sizeof wide, kind == 1 ? "%.0f" : "%.17g", 1000.0 * std::stod(text));
      scaled.emplace_back(wide);
    }
    const Bins one = levels_of(texts);
    const Bins other = levels_of(scaled);
    ASSERT_EQ(one.n_intervals(), other.n_intervals());
    ASSERT_EQ(one.fine, other.fine);
    for (size_t row = 0; row < texts.size(); ++row) {
      const auto a = one.place(*one.parse(texts[row]));
      const auto b = other.place(*other.parse(scaled[row]));
      ASSERT_EQ(one.number_of(a), other.number_of(b)) << row;
      // Edges have 16 digits, and levels are no narrower than 1e-4 of their place.
      if (one.number_of(a) >= one.n_intervals()) continue;
      ASSERT_NEAR(other.log_density(b), one.log_density(a) - std::log(1000.0), 1e-9) << row;
    }
  }
}

}  // namespace
}  // namespace segre::densities_test
