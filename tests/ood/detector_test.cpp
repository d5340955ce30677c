#include "segre/ood/detector.h"

#include "segre/core/text.h"
#include "segre/data/label_counts.h"
#include "segre/likelihood/free_bound.h"
#include "segre/ood/verdict.h"
#include "segre/path/e_geodesic.h"
#include "tests/support/datasets.h"
#include "tests/support/messages.h"
#include "tests/support/reference.h"

namespace segre::detector_test {
namespace {

using test::contains;

const Space& image() {
  static const Space space = Space::image(8, 8, 2);
  return space;
}

torch::Tensor uniforms(at::IntArrayRef shape, uint64_t seed) {
  auto u = torch::empty(shape);
  fill_uniform(u, {seed, Purpose::probe}, 0);
  return u.to(torch::kFloat64);
}

// Images [count, 64] whose share of ones is drawn between two shares.
torch::Tensor images(int64_t count, double fewest, double most, uint64_t seed) {
  const auto share = fewest + (most - fewest) * uniforms({count, 1}, seed);
  return (uniforms({count, 64}, seed + 1) < share).to(torch::kInt64);
}

torch::Tensor counts_of(const Space& space, const torch::Tensor& labels) {
  return count_labels(*make_dataset_source({space, labels.to(label_type(space))}), labels.size(0));
}

const OutsideScore& named(const std::vector<OutsideScore>& scores, const std::string& key) {
  for (const OutsideScore& score : scores)
    if (score.key == key) return score;
  fail("no score ", key);
}

double auroc_of(const std::vector<Separation>& results, const std::string& key) {
  for (const Separation& result : results)
    if (result.key == key) return result.roc.auroc;
  fail("no result ", key);
}

// A share of the nats at the item's own frequency, with a scatter of a tenth.
torch::Tensor nats_of(const torch::Tensor& labels, double share, uint64_t seed) {
  const auto own = simple_models(image(), torch::ones({128}, torch::kInt64))[2];
  return share * own.of(labels) * (0.1 * test::noise({labels.size(0)}, seed)).exp();
}

OutsideDetector calibrated() {
  const auto train = images(400, 0.1, 0.5, 1);
  return {image(), counts_of(image(), train), train, nats_of(train, 0.2, 3)};
}

TEST(OutsideDetector, AreAllThereForImagesAndNamedOnce) {
  const auto labels = images(5, 0.1, 0.5, 10);
  const auto scores = calibrated()(labels, nats_of(labels, 0.2, 12));
  std::vector<std::string> keys;
  for (const OutsideScore& score : scores) {
    keys.push_back(score.key);
    EXPECT_EQ(score.values.sizes(), torch::IntArrayRef({5})) << score.key;
    EXPECT_TRUE(score.values.isfinite().all().item<bool>()) << score.key;
  }
  EXPECT_EQ(keys, (std::vector<std::string>{"recommended", "nats", "ratio_independent", "ratio_shared", "ratio_own",
                                            "ratio_compressed", "ratio_foreground", "difference_independent",
                                            "difference_shared", "difference_own", "difference_compressed",
                                            "typicality", "foreground", "compressed", "boundary"}));
}

TEST(OutsideDetector, RatiosDifferencesAndTypicalityAreWhatTheySay) {
  const auto train = images(400, 0.1, 0.5, 1);
  const auto train_nats = nats_of(train, 0.2, 3);
  const auto counts = counts_of(image(), train);
  const OutsideDetector make(image(), counts, train, train_nats);
  const auto labels = images(7, 0.1, 0.5, 20);
  const auto nats = nats_of(labels, 0.3, 22);
  const auto scores = make(labels, nats);
  const auto independent = simple_models(image(), counts)[0].of(labels);
  EXPECT_LT(test::max_difference(named(scores, "ratio_independent").values, nats / independent), 1e-12);
  EXPECT_LT(test::max_difference(named(scores, "difference_independent").values, nats - independent), 1e-12);
  EXPECT_LT(test::max_difference(named(scores, "ratio_foreground").values, nats / labels.sum(1)), 1e-12);
  EXPECT_LT(test::max_difference(named(scores, "typicality").values, (nats - train_nats.mean()).abs()), 1e-12);
  EXPECT_TRUE(torch::equal(named(scores, "nats").values, nats));
}

TEST(OutsideDetector, TheRecommendedOneIsHeldAgainstMeasuresThatKnowNoTrainingDataAlone) {
  const auto train = images(400, 0.1, 0.5, 1);
  const auto nats = nats_of(train, 0.2, 3);
  const auto counts = counts_of(image(), train);
  const auto models = simple_models(image(), counts);
  const ComplexityFit fit(nats, {models[2].of(train), models[3].of(train)});
  ASSERT_EQ(models[2].key, "own");
  ASSERT_EQ(models[3].key, "compressed");
  const OutsideDetector make(image(), counts, train, nats);
  const auto labels = images(7, 0.1, 0.5, 20);
  const auto values = named(make(labels, nats_of(labels, 0.3, 22)), "recommended").values;
  EXPECT_LT(test::max_difference(
                values, fit.standardised(nats_of(labels, 0.3, 22), {models[2].of(labels), models[3].of(labels)})),
            1e-12);
  EXPECT_EQ(make.how_recommended(),
            concat("On 400 training items, log nats = ", fixed(fit.intercept(), 2), " + ", fixed(fit.exponents()[0], 2),
                   " log(nats by the item's own label frequency) + ", fixed(fit.exponents()[1], 2),
                   " log(nats by compressed size) with a standard deviation of ", fixed(fit.spread(), 3),
                   "; the recommended score is an item's distance above this line, in standard deviations."));
}

TEST(OutsideDetector, AnItemOfOneLabelHasFiniteScores) {
  const auto blank = torch::zeros({2, 64}, torch::kInt64);
  for (const OutsideScore& score : calibrated()(blank, torch::tensor({0.0, 3.0}, torch::kFloat64)))
    EXPECT_TRUE(score.values.isfinite().all().item<bool>()) << score.key;
}

TEST(OutsideDetector, SimpleItemsOfTheWrongKindHideFromNatsAndNotFromTheRecommendedScore) {
  const OutsideDetector make = calibrated();
  const auto inside = images(300, 0.1, 0.5, 30);
  const auto thin = images(300, 0.03, 0.12, 40);  // costs 1.5 times what it should, yet less than inside
  const auto results = compare(make(inside, nats_of(inside, 0.2, 32)), make(thin, nats_of(thin, 0.3, 42)));
  EXPECT_LT(auroc_of(results, "nats"), 0.3);
  EXPECT_GT(auroc_of(results, "recommended"), 0.95);
}

TEST(OutsideDetector, TellTheExactFlowsItemsFromOthers) {
  // A joint of nine binary pixels in which few labelings are likely, scored by its own exact flow.
  const Space space = Space::image(3, 3, 2);
  const auto weights = (3.0 * test::noise({512}, 50)).exp();
  const JointTable table = make_joint_table(space, enumerate_labelings(space), weights);
  const JointOracle oracle(table, make_e_geodesic(0.01));
  const FreeBound bound(flow_of(oracle), TimeDensity(decision_time(space, oracle.path())), {.times = 16});
  const JointSampler draw(table);
  const auto train = draw.draw({1, Purpose::training_data}, 0, 60);
  const auto inside = draw.draw({2, Purpose::training_data}, 0, 60);
  const auto outside = test::some_labels(space, 60);
  const OutsideDetector make(space, counts_of(space, train), train, -bound(train).log_p);
  const auto results = compare(make(inside, -bound(inside).log_p), make(outside, -bound(outside).log_p));
  EXPECT_GT(auroc_of(results, "nats"), 0.85);
  EXPECT_GT(auroc_of(results, "recommended"), 0.8);
}

TEST(OutsideDetector, ATableHasNoScoresThatWereMadeForPictures) {
  const Space space = test::mixed_space();
  const auto train = test::some_labels(space, 40);
  const auto nats = 5.0 + test::noise({40}, 60);
  const auto counts = counts_of(space, train);
  const OutsideDetector make(space, counts, train, nats);
  const auto scores = make(train, nats);
  std::vector<std::string> keys;
  for (const OutsideScore& score : scores) keys.push_back(score.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"recommended", "nats", "ratio_independent", "typicality", "uncommon",
                                            "independent"}));
  // How surprising the combination is: the surprise of the single labels is subtracted.
  const auto independent = simple_models(space, counts)[0].of(train);
  EXPECT_LT(test::max_difference(named(scores, "recommended").values, nats - independent), 1e-12);
  EXPECT_TRUE(torch::equal(make.recommended_error(nats, 0.1 * nats), 0.1 * nats)) << "counted shares have no noise";
  EXPECT_TRUE(make.how_recommended().starts_with("The recommended score is the row's nats minus those of independent"));
}

TEST(OutsideDetector, ErrorsOfTheRecommendedScoreAreItsSlopeTimesThoseOfTheNats) {
  const OutsideDetector make = calibrated();
  const auto labels = images(6, 0.1, 0.5, 80);
  const auto nats = torch::tensor({0.5, 0.9, 1.1, 3.0, 10.0, 200.0}, torch::kFloat64);
  constexpr double kStep = 1e-6;
  const auto moved = named(make(labels, nats + kStep), "recommended").values;
  const auto slope = (moved - named(make(labels, nats), "recommended").values) / kStep;
  const auto error = make.recommended_error(nats, torch::full({6}, 0.1, torch::kFloat64));
  EXPECT_LT(test::max_difference(error, 0.1 * slope), 1e-5 * error.max().item<double>());
}

OutsideScore score_of(OutsideScore::Family family, const std::vector<double>& values) {
  return {"k", "k", family, torch::tensor(values, torch::kFloat64)};
}

TEST(Compare, LeadsAreDifferencesOnTheSameItems) {
  const auto sets = [](double shift, const torch::Tensor& shared, uint64_t seed) {
    const auto x = shared + 0.2 * test::noise(shared.sizes(), seed) + shift;
    return std::vector<double>(x.data_ptr<double>(), x.data_ptr<double>() + x.numel());
  };
  const auto inside = test::noise({200}, 70), outside = test::noise({150}, 71);
  const RocSamples ours{sets(0.0, inside, 72), sets(1.0, outside, 73)};
  const RocSamples theirs{sets(0.0, inside, 74), sets(0.8, outside, 75)};
  const RocSamples reversed{sets(0.0, -inside, 74), sets(-0.8, -outside, 75)};
  const auto results = compare({score_of(OutsideScore::Family::recommended, ours.inside),
                                score_of(OutsideScore::Family::baseline, theirs.inside),
                                score_of(OutsideScore::Family::baseline, reversed.inside)},
                               {score_of(OutsideScore::Family::recommended, ours.outside),
                                score_of(OutsideScore::Family::baseline, theirs.outside),
                                score_of(OutsideScore::Family::baseline, reversed.outside)});
  EXPECT_EQ(results[1].n_inside, 200);
  EXPECT_EQ(results[1].n_outside, 150);
  const auto estimate = [](const Roc& roc) { return Estimate{roc.auroc, roc.low, roc.high}; };
  const double r = auroc_correlation(ours, theirs);
  EXPECT_GT(r, 0.8) << "most of the noise is common";
  const Estimate lead = difference(estimate(results[0].roc), estimate(results[1].roc), r);
  EXPECT_EQ(results[1].lead.low, lead.low);
  EXPECT_EQ(results[1].lead.high, lead.high);
  EXPECT_GT(lead.low, 0.0) << "the intervals of the two overlap, that of the difference is above 0";
  EXPECT_LT(results[0].roc.low, results[1].roc.high);
  // A score that points backwards counts as if it pointed forwards.
  EXPECT_GT(results[2].lead.value, 0.0);
  EXPECT_NEAR(results[2].lead.value, results[0].roc.auroc - (1.0 - results[2].roc.auroc), 1e-12);
  EXPECT_NEAR(results[2].lead.low, lead.low, 0.03);
  EXPECT_NEAR(results[2].lead.high, lead.high, 0.03);
  // The recommended score has no lead over itself.
  EXPECT_EQ(results[0].lead.value, 0.0);
  EXPECT_EQ(results[0].lead.high, 0.0);
}

TEST(Compare, TwoItemsApartAreNotEnoughForAWin) {
  // AUROC 1 against a constant's 1/2: of two items each this happens by chance.
  const auto results = compare(
      {score_of(OutsideScore::Family::recommended, {1.0, 2.0}), score_of(OutsideScore::Family::baseline, {7.0, 7.0})},
      {score_of(OutsideScore::Family::recommended, {3.0, 4.0}), score_of(OutsideScore::Family::baseline, {7.0, 7.0})});
  EXPECT_EQ(results[1].lead.value, 0.5);
  EXPECT_TRUE(verdict(results).starts_with("NOT SEPARATED: the recommended score has AUROC 1.0000 (95% interval "))
      << verdict(results);
}

TEST(OutsideDetector, RefusesItemsThatAreNotOfTheSpaceOrHaveNoNats) {
  const auto scores = calibrated();
  EXPECT_EQ(test::input_error([&] {
              scores(torch::full({3, 64}, 2, torch::kInt64), torch::ones({3}));
            }),
            "item 0, variable x1: label 2 where 0 to 1 was expected");
  EXPECT_EQ(test::input_error([&] {
              scores(torch::zeros({3, 64}, torch::kInt64), torch::ones({2}));
            }),
            "outside scores need the nats of each of 3 items, found shape [2]");
}

}  // namespace
}  // namespace segre::detector_test
