// The built-in endless sources: glyphs and streets.

#include <set>

#include "segre/io/sha256.h"
#include "segre/sources/glyphs.h"
#include "segre/sources/streets.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"
#include "tests/support/threads.h"

namespace segre::generated_test {
namespace {

std::unique_ptr<DataSource> open(const std::string& text) {
  const SourceName name = parse_source_name(text);
  return name.kind() == "glyphs" ? make_glyphs_source(name) : make_streets_source(name);
}

std::string sum_of(const torch::Tensor& labels) {
  const auto bytes = labels.to(torch::kUInt8).contiguous();
  Sha256 sum;
  sum.add(bytes.data_ptr<uint8_t>(), static_cast<size_t>(bytes.numel()));
  return sum.hex().substr(0, 16);
}

double share(const torch::Tensor& labels, int64_t label) {
  return (labels == label).to(torch::kFloat64).mean().item<double>();
}

class Generated : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(BuiltIn, Generated,
                         testing::Values("glyphs", "glyphs?pad=2&classes=3,8&seed=1", "streets",
                                         "streets?height=33&width=71"));

TEST_P(Generated, AnItemDependsOnItsNumberAlone) {
  const auto source = open(GetParam());
  const auto together = source->rows(0, 40);
  for (const int64_t item : {0, 1, 17, 39}) EXPECT_TRUE(source->rows(item, 1).equal(together.slice(0, item, item + 1)));
}

TEST_P(Generated, ThreadsDoNotChangeItems) {
  const auto source = open(GetParam());
  const auto draw = [&](int threads) {
    const test::Threads limit(threads);
    return source->rows(0, 200);
  };
  EXPECT_TRUE(draw(1).equal(draw(4)));
}

TEST_P(Generated, ItemsDiffer) {
  const auto rows = open(GetParam())->rows(0, 300);
  std::set<std::string> sums;
  for (int64_t item = 0; item < rows.size(0); ++item) sums.insert(sum_of(rows[item]));
  EXPECT_EQ(sums.size(), 300U);
}

TEST_P(Generated, LabelsAreOfTheSpace) {
  const auto source = open(GetParam());
  EXPECT_EQ(source->n_items(), 0);
  EXPECT_EQ(test::input_error([&] { check_labels(source->space(), source->rows(5, 20)); }), "");
}

TEST_P(Generated, TheTrainingStreamFollowsItsSeedAndIsNotTheRows) {
  const auto source = open(GetParam());
  const auto one = source->items({1, Purpose::training_data}, 0, 8);
  EXPECT_TRUE(one.slice(0, 3, 5).equal(source->items({1, Purpose::training_data}, 3, 2)));
  EXPECT_FALSE(one.equal(source->items({2, Purpose::training_data}, 0, 8)));
  EXPECT_FALSE(one.equal(source->items({1, Purpose::validation_data}, 0, 8)));
  for (const uint64_t seed : {0, 1})
    EXPECT_FALSE(source->rows(0, 8).equal(source->items({seed, Purpose::training_data}, 0, 8)));
}

TEST_P(Generated, TheOptionSeedChangesTheRowsAndTheTrainingStream) {
  const std::string name = GetParam();
  if (name.find("seed=") != std::string::npos) GTEST_SKIP() << "has a seed of its own";
  const std::string seeded = name + (name.find('?') == std::string::npos ? "?" : "&") + "seed=7";
  EXPECT_FALSE(open(name)->rows(0, 4).equal(open(seeded)->rows(0, 4)));
  const RandomStream random(1, Purpose::training_data);
  EXPECT_FALSE(open(name)->items(random, 0, 4).equal(open(seeded)->items(random, 0, 4)));
}

// MNIST at > 0.5 has 6.9% of ink in ones, 15.6% in zeros, 12.2% over all.
TEST(Glyphs, TheInkIsLikeThatOfHandwriting) {
  const double all = share(open("glyphs")->rows(0, 2000), 1);
  EXPECT_GT(all, 0.10);
  EXPECT_LT(all, 0.15);
  const double ones = share(open("glyphs?classes=1")->rows(0, 500), 1);
  const double zeros = share(open("glyphs?classes=0")->rows(0, 500), 1);
  EXPECT_GT(ones, 0.05);
  EXPECT_LT(ones, 0.09);
  EXPECT_GT(zeros, 1.6 * ones);
}

// The mean pictures of two digits are farther apart than those of two halves of one digit: every digit occurs.
TEST(Glyphs, EveryDigitHasItsOwnShape) {
  std::vector<torch::Tensor> means;
  for (int digit = 0; digit < 10; ++digit) {
    const auto rows = open(concat("glyphs?classes=", digit))->rows(0, 400).to(torch::kFloat64);
    const auto mean = rows.mean(0);
    const double spread = (rows.slice(0, 0, 200).mean(0) - rows.slice(0, 200, 400).mean(0)).norm().item<double>();
    for (const auto& other : means) EXPECT_GT((mean - other).norm().item<double>(), 2.5 * spread) << digit;
    means.push_back(mean);
  }
}

TEST(Glyphs, TheBorderIsEmptyAndPaddingAddsToIt) {
  const auto source = open("glyphs?pad=3");
  EXPECT_EQ(source->space().item_shape(), (std::vector<int64_t>{34, 34}));
  const auto images = source->rows(0, 200).view({200, 34, 34});
  EXPECT_EQ(images.slice(1, 0, 3).sum().item<int64_t>() + images.slice(2, 31, 34).sum().item<int64_t>(), 0);
  const auto inner = images.slice(1, 3, 31).slice(2, 3, 31).reshape({200, 28 * 28});
  EXPECT_TRUE(inner.equal(open("glyphs")->rows(0, 200)));
}

TEST(Glyphs, WrongOptionsAreNamed) {
  EXPECT_TRUE(test::contains(test::input_error([] { open("glyphs?classes=3,12"); }), "option classes is '3,12'"));
  EXPECT_TRUE(test::contains(test::input_error([] { open("glyphs?padding=2"); }), "unknown option padding"));
  EXPECT_TRUE(test::contains(test::input_error([] { open("glyphs:file"); }), "glyphs is built in and reads no file"));
}

// Changing these changes every experiment on the built-in data: it must be intended.
TEST(Glyphs, ItemsAreThoseOfTheLastRelease) { EXPECT_EQ(sum_of(open("glyphs")->rows(0, 64)), "d84f622630ffeefc"); }
TEST(Glyphs, TrainingItemsAreThoseOfTheLastRelease) {
  EXPECT_EQ(sum_of(open("glyphs")->items({1, Purpose::training_data}, 0, 64)), "d9e57879256a8e0b");
}
TEST(Streets, ItemsAreThoseOfTheLastRelease) { EXPECT_EQ(sum_of(open("streets")->rows(0, 16)), "88e32156153b931f"); }

TEST(Streets, TheLabelsAreTheCategoriesOfCityscapes) {
  const Space space = open("streets")->space();
  EXPECT_EQ(space.item_shape(), (std::vector<int64_t>{64, 128}));
  EXPECT_EQ(space.label_name(0, kVehicle), "vehicle");
  EXPECT_EQ(space.label_set().colours[kSky], (std::array<uint8_t, 3>{70, 130, 180}));
}

// Bands around the shares in Cityscapes: flat 39%, construction 22%, nature 16%, void 10%, vehicle 7%, sky 4%, object
// 2%, human 1%; ours has more sky because its houses are lower.
TEST(Streets, LabelsHaveTheSharesOfAStreet) {
  const auto rows = open("streets?height=128&width=256")->rows(0, 300);
  const auto within = [&](StreetLabel label, double low, double high) {
    EXPECT_GT(share(rows, label), low) << int{label};
    EXPECT_LT(share(rows, label), high) << int{label};
  };
  within(kVoid, 0.03, 0.10);
  within(kFlat, 0.30, 0.45);
  within(kConstruction, 0.12, 0.30);
  within(kObject, 0.004, 0.03);
  within(kNature, 0.08, 0.25);
  within(kSky, 0.04, 0.15);
  within(kHuman, 0.004, 0.03);
  within(kVehicle, 0.04, 0.12);
}

TEST(Streets, TheSkyIsAboveAndTheBonnetBelow) {
  const auto images = open("streets")->rows(0, 100).view({100, 64, 128});
  EXPECT_EQ((images.slice(1, 32, 64) == kSky).sum().item<int64_t>(), 0);
  EXPECT_TRUE((images.select(1, 63).select(1, 64) == kVoid).all().item<bool>());
}

TEST(Streets, TheSameSceneIsSeenAtEverySize) {
  const auto small = open("streets?height=64&width=128")->rows(0, 30).view({30, 64, 128});
  const auto large = open("streets?height=192&width=384")->rows(0, 30).view({30, 192, 384});
  const auto middle = large.slice(1, 1, 192, 3).slice(2, 1, 384, 3);
  // Pixels on an edge may fall on either side, and thin poles are kept a pixel wide.
  EXPECT_GT((small == middle).to(torch::kFloat64).mean().item<double>(), 0.97);
}

TEST(Streets, AnySizeFromEightWorks) {
  for (const char* size : {"height=8&width=8", "height=9&width=301", "height=101&width=8", "height=37&width=53"}) {
    const auto source = open(concat("streets?", size));
    EXPECT_EQ(test::input_error([&] { check_labels(source->space(), source->rows(0, 10)); }), "") << size;
  }
  EXPECT_TRUE(test::contains(test::input_error([] { open("streets?height=1&width=64"); }),
                             "option height is '1', a whole number from 8 to 4096 was expected"));
}

}  // namespace
}  // namespace segre::generated_test
