#include "segre/ood/measures.h"

#include <algorithm>
#include <cmath>

#include "segre/data/label_counts.h"
#include "segre/io/gzip.h"
#include "tests/support/datasets.h"
#include "tests/support/reference.h"

namespace segre::measures_test {
namespace {

constexpr double kRounding = 1e-10;

const Measure& named(const std::vector<Measure>& measures, const std::string& key) {
  for (const Measure& measure : measures)
    if (measure.key == key) return measure;
  fail("no measure ", key);
}

std::vector<std::string> keys(const std::vector<Measure>& measures) {
  std::vector<std::string> out;
  for (const Measure& measure : measures) out.push_back(measure.key);
  return out;
}

torch::Tensor counts_of(const Space& space, const torch::Tensor& labels) {
  const auto source = make_dataset_source({space, labels.to(label_type(space))});
  return count_labels(*source, labels.size(0));
}

double value(const std::vector<Measure>& measures, const std::string& key, const torch::Tensor& labels) {
  return named(measures, key).of(labels.view({1, -1})).item<double>();
}

torch::Tensor image_2x3() { return torch::tensor({0, 1, 1, 0, 0, 2}, torch::kInt64); }

TEST(Measures, CountsOfLabelsAreThoseOfALoop) {
  const Space space = test::mixed_space();
  const auto labels = test::some_labels(space, 50);
  auto wanted = torch::zeros({space.n_coordinates()}, torch::kInt64);
  for (int64_t k = 0; k < 50; ++k)
    for (int64_t i = 0; i < space.n_variables(); ++i) wanted[space.offset(i) + labels[k][i].item<int64_t>()] += 1;
  EXPECT_TRUE(torch::equal(counts_of(space, labels), wanted));
}

TEST(Measures, IndependentVariablesHaveHalfACountMoreForEachLabel) {
  const Space space = test::space_of({2, 3});
  const auto counts = counts_of(space, torch::tensor({{0, 2}, {0, 2}, {1, 0}}, torch::kInt64));
  const auto models = simple_models(space, counts);
  EXPECT_EQ(keys(models), (std::vector<std::string>{"independent"}))
      << "a table shares no labels and has nothing to compress";
  EXPECT_NEAR(value(models, "independent", torch::tensor({0, 1}, torch::kInt64)),
              -std::log(2.5 / 4.0) - std::log(0.5 / 4.5), kRounding);
}

TEST(Measures, IndependentVariablesAreADistribution) {
  const Space space = test::mixed_space();
  const auto models = simple_models(space, counts_of(space, test::some_labels(space, 7)));
  const auto p = (-named(models, "independent").of(enumerate_labelings(space))).exp().sum();
  EXPECT_NEAR(p.item<double>(), 1.0, kRounding);
}

TEST(Measures, OneSharedFrequencyIsTheSameForAllVariables) {
  const Space space = Space::image(2, 3, 3);
  // Of 12 labels seven are 0, three are 1, two are 2.
  const auto seen = torch::stack({image_2x3(), torch::tensor({0, 0, 0, 0, 1, 2}, torch::kInt64)});
  const auto models = simple_models(space, counts_of(space, seen));
  const double all = 13.5;
  EXPECT_NEAR(value(models, "shared", image_2x3()),
              -3.0 * std::log(7.5 / all) - 2.0 * std::log(3.5 / all) - std::log(2.5 / all), kRounding);
}

TEST(Measures, OwnFrequencyIsTheEntropyOfTheItem) {
  const Space space = Space::image(2, 3, 3);
  const auto models = simple_models(space, counts_of(space, image_2x3().view({1, 6})));
  EXPECT_NEAR(value(models, "own", image_2x3()), 3.0 * std::log(2.0) + 2.0 * std::log(3.0) + std::log(6.0), kRounding);
  EXPECT_EQ(value(models, "own", torch::full({6}, 1, torch::kInt64)), 0.0);
}

TEST(Measures, CompressedSizeIsInNatsAndKnowsBitsBytesAndWords) {
  const double per_byte = 8.0 * std::log(2.0);
  const auto size_of = [](int64_t n_labels, const torch::Tensor& labels) {
    const Space space = Space::sequence(labels.numel(), n_labels);
    const auto counts = torch::ones({space.n_coordinates()}, torch::kInt64);
    return value(simple_models(space, counts), "compressed", labels);
  };
  const auto bits = torch::tensor({1, 0, 0, 0, 0, 0, 0, 1, 1, 1}, torch::kInt64);
  EXPECT_NEAR(size_of(2, bits), per_byte * static_cast<double>(deflated_size("\x81\xc0")), kRounding);
  const auto letters = torch::tensor({65, 66, 67, 65, 66, 67}, torch::kInt64);
  EXPECT_NEAR(size_of(100, letters), per_byte * static_cast<double>(deflated_size("ABCABC")), kRounding);
  EXPECT_NEAR(size_of(300, torch::tensor({258, 65}, torch::kInt64)),
              per_byte * static_cast<double>(deflated_size(std::string("\x02\x01\x41\x00", 4))), kRounding);
}

TEST(Deflate, NothingHasNoSizeAndRepetitionIsCheap) {
  EXPECT_EQ(deflated_size(""), 0);
  EXPECT_LT(deflated_size(std::string(1000, 'a')), 20);
  std::string noise(1000, '\0');
  const auto random = test::noise({1000}) * 1e6;
  for (size_t k = 0; k < noise.size(); ++k)
    noise[k] = static_cast<char>(random[static_cast<int64_t>(k)].item<int64_t>() & 0xff);
  EXPECT_GT(deflated_size(noise), 950);
}

TEST(Measures, ForegroundIsWhatIsNotTheMostCommonLabel) {
  const Space image = Space::image(2, 3, 3);
  // Ones are the most common here.
  const auto seen = torch::tensor({{1, 1, 1, 1, 0, 0}}, torch::kInt64);
  EXPECT_EQ(value(baselines(image, counts_of(image, seen)), "foreground", image_2x3()), 4.0);
  const Space table = test::space_of({2, 3});
  const auto rows = torch::tensor({{0, 2}, {0, 2}, {1, 0}}, torch::kInt64);
  const auto of_table = baselines(table, counts_of(table, rows));
  EXPECT_EQ(value(of_table, "uncommon", torch::tensor({0, 2}, torch::kInt64)), 0.0);
  EXPECT_EQ(value(of_table, "uncommon", torch::tensor({1, 2}, torch::kInt64)), 1.0);
  EXPECT_EQ(keys(of_table), (std::vector<std::string>{"uncommon", "independent"})) << "columns have no neighbours";
  EXPECT_EQ(of_table[0].name, "labels other than their column's most common");
}

TEST(Measures, BoundaryIsCountedBetweenNeighbours) {
  // 0 1 1   to the right: 1 + 1, down: 0 1 1 -> 0 0 2: 2; foreground: 3
  // 0 0 2
  const Space image = Space::image(2, 3, 3);
  const auto zeros = torch::zeros({1, 6}, torch::kInt64);
  const auto of_image = baselines(image, counts_of(image, zeros));
  EXPECT_NEAR(value(of_image, "boundary", image_2x3()), 4.0 / 3.0, kRounding);
  EXPECT_EQ(value(of_image, "boundary", zeros), 0.0) << "no foreground";
  const Space sequence = Space::sequence(6, 3);
  EXPECT_EQ(value(baselines(sequence, counts_of(sequence, zeros)), "boundary", image_2x3()), 3.0);
}

}  // namespace
}  // namespace segre::measures_test
