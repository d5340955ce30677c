#include "segre/train/evidence.h"

#include <cmath>

#include "tests/support/reference.h"
#include "tests/support/statistics.h"

namespace segre::evidence_test {
namespace {

using test::kSigmas;
using test::mixed_space;
using test::some_labels;

constexpr int64_t kItems = 20'000;
constexpr EvidenceKind kKinds[] = {EvidenceKind::uniform, EvidenceKind::known, EvidenceKind::any};

// Times of a batch: all different and none of them 0, so that they tell where they come from.
torch::Tensor some_times(int64_t count) {
  return (torch::arange(count) + 0.5) * (0.9 / static_cast<double>(count)) + 0.05;
}

// What items first_item ... of a training are told.
EvidenceLaw::Draw tell(const EvidenceOptions& options, const torch::Tensor& labels, const torch::Tensor& t,
                       Unknowns unknowns = Unknowns::refuse, int64_t first_item = 0, uint64_t seed = 3) {
  const EvidenceLaw law(mixed_space(), options, unknowns, seed, torch::kFloat32);
  const auto first_cell = torch::full({1}, first_item * mixed_space().n_variables(), torch::kInt64);
  return law(labels, t, law.numbers(static_cast<uint64_t>(first_item), labels.size(0)), first_cell);
}

// A share p of independent items, within five standard errors.
void expect_share(const torch::Tensor& items, double p, const char* what) {
  const auto n = static_cast<double>(items.numel());
  EXPECT_NEAR(items.to(torch::kFloat64).mean().item<double>(), p, kSigmas * std::sqrt(p * (1.0 - p) / n)) << what;
}

// Which items are at time 0 in all variables: t [B] or [B, n].
torch::Tensor at_zero(const torch::Tensor& t) { return t.dim() == 1 ? t == 0.0 : (t == 0.0).all(1); }

TEST(EvidenceLaw, TellsNothingUnlessAsked) {
  const EvidenceLaw law(mixed_space(), {}, Unknowns::refuse, 3, torch::kFloat32);
  EXPECT_TRUE(law.is_idle());
  const auto t = some_times(8);
  const auto told = law(some_labels(mixed_space(), 8), t, {}, {});
  EXPECT_TRUE(told.t.is_same(t));
  EXPECT_TRUE(told.known.nothing());
  EXPECT_FALSE(told.plain.defined()) << "all of them";
  for (const EvidenceKind kind : kKinds)
    EXPECT_EQ(EvidenceLaw(mixed_space(), {.kind = kind}, Unknowns::refuse, 3, torch::kFloat32).is_idle(),
              kind == EvidenceKind::uniform);
  EXPECT_FALSE(EvidenceLaw(mixed_space(), {}, Unknowns::allow, 3, torch::kFloat32).is_idle());
}

TEST(EvidenceLaw, ShowsAShareOfTheItemsSomeLabels) {
  const EvidenceOptions options{.kind = EvidenceKind::known, .known = 0.3, .own_times = 0.5, .erased = 0.25};
  const auto labels = some_labels(mixed_space(), kItems);
  const auto t = some_times(kItems);
  const auto told = tell(options, labels, t);
  ASSERT_EQ(told.t.dim(), 1) << "variables have no times of their own";
  const auto& marks = told.known.labels;
  EXPECT_TRUE((marks == labels).logical_or(marks == kUnknown).all().item<bool>()) << "what is shown is true";
  EXPECT_FALSE(told.known.soft.defined());
  expect_share(told.plain, 0.7, "told nothing");
  EXPECT_TRUE((marks == kUnknown).all(1).logical_or(told.plain.logical_not()).all().item<bool>());
  // The others show every number of labels from 0 to 5 equally often: none to one in six of them.
  const auto some = told.plain.logical_not();
  expect_share((marks >= 0).sum(1).masked_select(some) == 0, 1.0 / 6.0, "an empty set");
  expect_share((marks >= 0).sum(1).masked_select(some) == 5, 1.0 / 6.0, "all variables");
  // Some of these have no other evidence.
  const auto erased = at_zero(told.t);
  EXPECT_FALSE(erased.logical_and(told.plain).any().item<bool>());
  expect_share(erased.masked_select(some), 0.25, "erased");
  EXPECT_TRUE(torch::equal(told.t.masked_select(erased.logical_not()), t.masked_select(erased.logical_not())))
      << "the others keep their time";
}

TEST(EvidenceLaw, GivesAShareOfTheItemsTimesOfOtherItems) {
  const EvidenceOptions options{.kind = EvidenceKind::any, .known = 0.5, .own_times = 0.4, .erased = 0.2};
  const auto labels = some_labels(mixed_space(), kItems);
  const auto t = some_times(kItems);
  const auto told = tell(options, labels, t);
  ASSERT_EQ(told.t.sizes(), (std::vector<int64_t>{kItems, 5}));
  const auto erased = at_zero(told.t);
  // Five times drawn from 20,000 are not all an item's own by chance.
  const auto own = (told.t != t.unsqueeze(1)).any(1).logical_and(erased.logical_not());
  expect_share(erased, 0.5 * 0.2, "erased");
  expect_share(own, 0.4 * (1.0 - 0.5 * 0.2), "times of their own, unless erased");
  expect_share(told.plain, 0.5 * 0.6, "told nothing");
  EXPECT_FALSE(told.plain.logical_and(own.logical_or(erased)).any().item<bool>());
  EXPECT_FALSE((told.known.labels >= 0).any(1).logical_and(told.plain).any().item<bool>());
  // Never both: an erased item has time 0 in all variables, an item with its own times in none.
  EXPECT_EQ((told.t == 0.0).sum().item<int64_t>(), 5 * erased.sum().item<int64_t>());
  const auto times = told.t.index_select(0, own.nonzero().squeeze(1)).flatten();
  EXPECT_TRUE(torch::isin(times, t).all().item<bool>()) << "times of this batch";
  // They have its distribution, which is uniform: means of 36,000 independent draws.
  const double deviation = 0.9 / std::sqrt(12.0);
  EXPECT_NEAR(times.mean().item<double>(), t.mean().item<double>(),
              kSigmas * deviation / std::sqrt(static_cast<double>(times.numel())));
}

TEST(EvidenceLaw, UnknownLabelsAreLeftOutWhateverElseIsTold) {
  const auto complete = some_labels(mixed_space(), 2000);
  const auto missing = test::noise({2000, 5}, 7) < -0.5;
  const auto labels = torch::where(missing, torch::full({1}, kUnknown, torch::kInt64), complete);
  const auto t = some_times(2000);
  for (const EvidenceKind kind : kKinds) {
    const auto told = tell({.kind = kind}, labels, t, Unknowns::allow);
    const auto& marks = told.known.labels;
    EXPECT_TRUE(torch::equal(marks == kLeftOut, missing));
    EXPECT_TRUE((marks == labels).logical_or(marks == kUnknown).logical_or(missing).all().item<bool>());
    EXPECT_EQ((marks >= 0).any().item<bool>(), kind != EvidenceKind::uniform);
    if (kind != EvidenceKind::uniform) continue;
    EXPECT_TRUE(told.t.is_same(t));
    EXPECT_FALSE(told.plain.defined());
  }
}

TEST(EvidenceLaw, DependsOnTheSeedAndTheItemOnly) {
  const EvidenceOptions options{.kind = EvidenceKind::known};
  const auto labels = some_labels(mixed_space(), 300);
  const auto t = some_times(300);
  const auto whole = tell(options, labels, t);
  const auto part = tell(options, labels.slice(0, 120, 150), t.slice(0, 120, 150), Unknowns::refuse, 120);
  EXPECT_TRUE(torch::equal(part.known.labels, whole.known.labels.slice(0, 120, 150)));
  EXPECT_TRUE(torch::equal(part.t, whole.t.slice(0, 120, 150)));
  EXPECT_TRUE(torch::equal(part.plain, whole.plain.slice(0, 120, 150)));
  const auto other = tell(options, labels, t, Unknowns::refuse, 0, 4);
  EXPECT_FALSE(torch::equal(other.known.labels, whole.known.labels));
  EXPECT_FALSE(torch::equal(other.plain, whole.plain));
}

TEST(EvidenceLaw, CudaTellsTheSameAsTheCpu_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const EvidenceOptions options{.kind = EvidenceKind::any};
  const auto labels = some_labels(mixed_space(), 1000);
  const auto t = some_times(1000);
  const auto here = tell(options, labels, t);
  const EvidenceLaw law(mixed_space(), options, Unknowns::refuse, 3,
                        torch::TensorOptions(torch::kCUDA).dtype(torch::kFloat32));
  const auto there = law(labels.cuda(), t.cuda(), law.numbers(0, 1000).cuda(), torch::zeros({1}, torch::kInt64).cuda());
  EXPECT_TRUE(torch::equal(there.known.labels.cpu(), here.known.labels));
  EXPECT_TRUE(torch::equal(there.t.cpu(), here.t));
  EXPECT_TRUE(torch::equal(there.plain.cpu(), here.plain));
}

}  // namespace
}  // namespace segre::evidence_test
