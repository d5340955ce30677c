#include "segre/read/number_levels.h"

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "segre/core/text.h"
#include "tests/support/support.h"

namespace segre::number_levels_test {
namespace {

struct Sample {
  ValueScale scale{};
  std::map<double, int64_t> counts{};

  void add(const std::string& text) { ++counts[*scale.add(text)]; }
  Bins levels() const {
    std::vector<CountedValue> values;
    for (const auto& [value, count] : counts) values.push_back({value, count});
    return choose_levels(scale, values);
  }
};

constexpr int64_t kRows = 8000;

// What a column has in each of kRows rows, from a uniform number.
Sample sample_of(const std::function<std::string(double u)>& text) {
  Sample sample;
  const RandomStream random(1, Purpose::bin_values);
  for (int64_t row = 0; row < kRows; ++row) sample.add(text(uniform_double(random, static_cast<uint64_t>(row))));
  return sample;
}

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

double skewed(double u) { return std::exp(3.0 * u); }

// Columns as people have them: counts with many zeros, prices, hundreds, measurements, dates and times.
std::vector<std::pair<std::string, Sample>> columns() {
  return {{"counts", sample_of([](double u) { return fixed(u < 0.6 ? 0.0 : 400.0 * skewed(u), 0); })},
          {"prices", sample_of([](double u) { return fixed(skewed(u), 2); })},
          {"hundreds", sample_of([](double u) { return fixed(100.0 * std::round(90.0 * skewed(u)), 0); })},
          {"floats", sample_of([](double u) { return u < 0.1 ? "0" : fixed(skewed(u) / 3.0, 18); })},
          {"both signs", sample_of([](double u) { return fixed(20.0 * (u - 0.5) * skewed(u), 3); })},
          {"dates", sample_of([](double u) {
             return concat("20", 10 + static_cast<int>(u * 89), "-0", 1 + static_cast<int>(u * 8000) % 9, "-1",
                           static_cast<int>(u * 80000) % 10);
           })}};
}

std::vector<Bins::Place> places(const Bins& levels) {
  std::vector<Bins::Place> out;
  const auto n = levels.n_intervals() + static_cast<int64_t>(levels.own.size());
  for (int64_t k = 0; k < n; ++k) out.push_back(levels.place_of(k));
  return out;
}

TEST(NumberLevels, FewValuesAreLabels) {
  Sample sample;
  for (int row = 0; row < 100; ++row) sample.add(std::to_string(row % 7));
  const Bins levels = sample.levels();
  EXPECT_EQ(levels.n_intervals(), 0);
  EXPECT_EQ(levels.own, (std::vector<double>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_FALSE(levels.is_measured());
  EXPECT_EQ(levels.n_variables(), 1);
  EXPECT_EQ(levels.name(3), "3");
}

TEST(NumberLevels, ValuesThatRecurHaveLabelsOfTheirOwn) {
  const Bins levels = sample_of([](double u) {
                        return u < 0.6 ? "0" : u < 0.7 ? "40" : fixed(1000.0 * skewed(u), 0);
                      }).levels();
  ASSERT_GE(levels.own.size(), 2U);
  EXPECT_EQ(levels.own[0], 0.0);
  EXPECT_EQ(levels.own[1], 40.0);
  EXPECT_EQ(levels.n_variables(), 2);
  for (int k = 0; k < 1000; ++k) {
    const std::string drawn = levels.draw(levels.place(12'345.0), k / 1000.0);
    EXPECT_NE(drawn, "0");
    EXPECT_NE(drawn, "40");
  }
}

// But for the four lowest and the four highest levels, which share one level's rows.
TEST(NumberLevels, AreAboutEquallyFull) {
  const Sample sample = sample_of([](double u) { return concat(skewed(u)); });
  const Bins levels = sample.levels();
  std::map<int64_t, int64_t> rows;
  for (const auto& [value, count] : sample.counts) rows[levels.number_of(levels.place(value))] += count;
  const int64_t n = levels.n_intervals();
  EXPECT_EQ(static_cast<int64_t>(rows.size()), n);
  const double wanted = static_cast<double>(kRows) / static_cast<double>(n - 6);
  for (const auto& [level, count] : rows)
    EXPECT_NEAR(static_cast<double>(count), level < 4 || level >= n - 4 ? 0.25 * wanted : wanted, 1.0) << level;
}

TEST(NumberLevels, FewLevelsShareALabel) {
  const Bins levels = sample_of([](double u) { return concat(skewed(u)); }).levels();
  EXPECT_EQ(levels.n_intervals(), 256);
  EXPECT_EQ(levels.n_shared(), 32);
  EXPECT_EQ(levels.fine, 8);
}

TEST(NumberLevels, FewerRowsGiveFewerLevels) {
  Sample few, many;
  for (int row = 0; row < 4000; ++row) (row < 200 ? few : many).add(concat(std::sqrt(row + 0.5)));
  EXPECT_LT(few.levels().n_intervals(), 20);
  EXPECT_GT(many.levels().n_intervals(), 100);
}

// Every value drawn is one that such data have: in their range, of their digits, in the level it was drawn from.
TEST(NumberLevels, DrawWhatSuchDataHave) {
  for (const auto& [name, sample] : columns()) {
    const Bins levels = sample.levels();
    for (const Bins::Place place : places(levels))
      for (const double u : {0.0, 0.3, 0.5, 0.999, 1.0 - 0x1p-53}) {
        const std::string text = levels.draw(place, u);
        ValueScale again = sample.scale;
        const auto value = again.add(text);
        ASSERT_TRUE(value) << name << ": " << text;
        EXPECT_TRUE(levels.covers(*value)) << name << ": " << text;
        const Bins::Place back = levels.place(*value);
        EXPECT_EQ(levels.number_of(back), levels.number_of(place)) << name << ": " << text << " for u = " << u;
        const Bins scale = again.with_edges({});
        EXPECT_EQ(scale.decimals, sample.scale.with_edges({}).decimals) << name << ": " << text << " has more digits";
        EXPECT_EQ(scale.unit, levels.unit);
      }
  }
  const Bins hundreds = columns()[2].second.levels();
  for (int k = 0; k < 100; ++k)
    EXPECT_EQ(std::fmod(std::stod(hundreds.draw(hundreds.place(4321.0), k / 100.0)), 100.0), 0.0);
}

// Values on a grid, each with the density of its level times the grid's step, sum to 1 in each level.
TEST(NumberLevels, DensityOfALevelIntegratesToOne) {
  for (const auto& [name, sample] : columns()) {
    const Bins levels = sample.levels();
    const double step = name == "prices" ? 0.01 : name == "both signs" ? 0.001 : name == "hundreds" ? 100.0 : 1.0;
    for (const Bins::Place place : places(levels)) {
      const double density = std::exp(levels.log_density(place));
      const int64_t k = levels.number_of(place);
      if (k >= levels.n_intervals()) {
        EXPECT_EQ(density, 1.0) << name << ": single values have a probability";
        continue;
      }
      const double low = levels.edges[k];
      const double high = levels.edges[k + 1];
      if (name == "floats") {
        EXPECT_NEAR(density * (high - low), 1.0, 1e-9) << name;
        continue;
      }
      std::set<std::string> values;
      const double unit = levels.unit == Bins::Unit::day ? 86'400.0 : 1.0;
      const double most = std::round((high - low) / unit / step) + 1.0;
      for (double u = 0.5 / (8.0 * most); u < 1.0; u += 1.0 / (8.0 * most)) values.insert(levels.draw(place, u));
      EXPECT_NEAR(density * step * static_cast<double>(values.size()), 1.0, 1e-9)
          << name << " in " << low << ", " << high;
    }
  }
}

TEST(NumberLevels, DensitiesFollowTheUnitOfTheColumn) {
  const auto grams = sample_of([](double u) { return fixed(1000.0 * skewed(u), 0); }).levels();
  const auto kilograms = sample_of([](double u) { return fixed(skewed(u), 3); }).levels();
  ASSERT_EQ(grams.n_intervals(), kilograms.n_intervals());
  for (int64_t k = 0; k < grams.n_intervals(); ++k)
    EXPECT_NEAR(kilograms.log_density(kilograms.place_of(k)) - grams.log_density(grams.place_of(k)), std::log(1000.0),
                1e-6);
}

TEST(NumberLevels, ValuesNeverSeenBelongToTheNearestLevel) {
  for (const auto& [name, sample] : columns()) {
    const Bins levels = sample.levels();
    EXPECT_EQ(levels.number_of(levels.place(levels.largest() + 1e9)), levels.number_of(levels.place(levels.largest())))
        << name;
    EXPECT_GT(levels.beyond(levels.largest() + 1e9), 1.0) << name;
    EXPECT_EQ(levels.beyond(0.5 * (levels.least() + levels.largest())), 0.0) << name;
  }
}

TEST(NumberLevels, GoThroughJson) {
  for (const auto& [name, sample] : columns()) {
    const Bins levels = sample.levels();
    const Bins back = Bins::from_json(nlohmann::json::parse(levels.to_json().dump()));
    back.check(name);
    EXPECT_EQ(back.to_json(), levels.to_json());
    EXPECT_EQ(back.draw(back.place_of(3), 0.7), levels.draw(levels.place_of(3), 0.7));
  }
}

}  // namespace
}  // namespace segre::number_levels_test
