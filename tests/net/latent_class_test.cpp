#include "segre/net/latent_class.h"

#include <cmath>

#include "segre/net/net_kinds.h"
#include "segre/path/simplex.h"
#include "tests/support/reference.h"

namespace segre::latent_class_test {
namespace {

using test::labels_of;
using test::max_difference;
using test::noise;
using test::Row;
using test::values_of;

NetOptions options_with(int64_t classes) {
  NetOptions options;
  options.of<LatentClassOptions>().classes = classes;
  return options;
}

// A mixture with uneven classes, in float64.
std::unique_ptr<LatentClassField> random_mixture(const Space& space, int64_t classes) {
  auto field = std::make_unique<LatentClassField>(space, options_with(classes), 1);
  test::to_double(*field);
  const torch::NoGradGuard no_grad;
  field->parameters()[0].second.copy_(noise({classes}, 9));
  return field;
}

// p(x) = sum_k pi_k prod_i q_ik(x_i) for all labelings, by loops.
Row mixture_table(const Space& space, const Field& field) {
  const auto pi = values_of(field.parameters()[0].second.softmax(0));
  const auto q = lift(space, field.parameters()[1].second.detach());
  const auto labelings = enumerate_labelings(space);
  Row p(labelings.size(0), 0.0);
  for (size_t r = 0; r < p.size(); ++r) {
    const auto x = labels_of(labelings[static_cast<int64_t>(r)]);
    for (size_t k = 0; k < pi.size(); ++k) {
      const auto q_k = values_of(q[static_cast<int64_t>(k)]);
      double product = pi[k];
      for (size_t i = 0; i < x.size(); ++i) product *= q_k[space.offset(static_cast<int64_t>(i)) + x[i]];
      p[r] += product;
    }
  }
  return p;
}

TEST(LatentClass, NamesAndShapesItsParameters) {
  const LatentClassField field(test::mixed_space(), options_with(6), 1);
  ASSERT_EQ(field.parameters().size(), 2u);
  EXPECT_EQ(field.parameters()[0].first, "class_logits");
  EXPECT_EQ(field.parameters()[0].second.sizes(), (std::vector<int64_t>{6}));
  EXPECT_EQ(field.parameters()[1].first, "label_logits");
  EXPECT_EQ(field.parameters()[1].second.sizes(), (std::vector<int64_t>{6, 20}));
}

TEST(LatentClass, SendsTheExactMessageOfItsMixture) {
  const Space space = test::small_mixed_space();
  const auto field = random_mixture(space, 5);
  const auto s = lift(space, 2.0 * noise({3, 9}, 3));
  const auto out = field->forward({s, torch::zeros({3}, torch::kFloat64)});
  const auto p = mixture_table(space, *field);
  const auto labelings = enumerate_labelings(space);
  for (int64_t b = 0; b < 3; ++b) {
    const auto known = values_of(s[b]);
    // M_i(j) = sum over labelings with x_i = j of p(x) prod_{l != i} s_l(x_l), normalised over j.
    Row message(9, 0.0);
    for (size_t r = 0; r < p.size(); ++r) {
      const auto x = labels_of(labelings[static_cast<int64_t>(r)]);
      for (int64_t i = 0; i < 3; ++i) {
        double others = p[r];
        for (int64_t l = 0; l < 3; ++l)
          if (l != i) others *= known[space.offset(l) + x[l]];
        message[space.offset(i) + x[i]] += others;
      }
    }
    for (int64_t i = 0; i < 3; ++i) {
      double total = 0.0;
      for (int64_t j = 0; j < space.n_labels(i); ++j) total += message[space.offset(i) + j];
      for (int64_t j = 0; j < space.n_labels(i); ++j)
        EXPECT_NEAR(out[b][space.offset(i) + j].item<double>(), std::log(message[space.offset(i) + j] / total), 1e-12);
    }
  }
}

TEST(LatentClass, NeverShowsAVariableItsOwnEvidence) {
  const Space space = test::small_mixed_space();
  const auto field = random_mixture(space, 5);
  const auto s = lift(space, noise({1, 9}, 3));
  auto other = s.clone();
  other.narrow(1, 2, 3).copy_(torch::tensor({0.98, 0.01, 0.01}, torch::kFloat64));  // another belief about variable 2
  const auto t = torch::zeros({1}, torch::kFloat64);
  const auto before = field->forward({s, t});
  const auto after = field->forward({other, t});
  EXPECT_LT(max_difference(after.narrow(1, 2, 3), before.narrow(1, 2, 3)), 1e-13);
  EXPECT_GT(max_difference(after.narrow(1, 0, 2), before.narrow(1, 0, 2)), 1e-3);
  EXPECT_GT(max_difference(after.narrow(1, 5, 4), before.narrow(1, 5, 4)), 1e-3);
}

TEST(LatentClass, StaysFiniteForDecidedLabels) {
  const Space space = test::mixed_space();
  LatentClassField field(space, options_with(6), 1);
  {
    const torch::NoGradGuard no_grad;
    field.parameters()[1].second.mul_(100.0);  // classes that are certain of their labels
  }
  const auto W = lift(space, 200.0 * noise({16, 20}, 3, torch::kFloat32));
  const auto out = field.forward({W, torch::zeros({16})});
  EXPECT_TRUE(out.isfinite().all().item<bool>());
  out.sum().backward();
  EXPECT_TRUE(field.parameters()[1].second.grad().isfinite().all().item<bool>());
}

}  // namespace
}  // namespace segre::latent_class_test
