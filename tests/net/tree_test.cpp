#include "segre/net/tree.h"

#include <algorithm>
#include <cmath>

#include "segre/net/tree_fit.h"
#include "segre/path/simplex.h"
#include "tests/support/messages.h"
#include "tests/support/reference.h"
#include "tests/support/statistics.h"

namespace segre::tree_test {
namespace {

using test::labels_of;
using test::max_difference;
using test::named;
using test::noise;
using test::Row;
using test::values_of;

// A tree written by hand, with random tables: padded to `width`, rows of each table sum to 1.
struct Tree {
  Space space;
  std::vector<int64_t> parents;
  torch::Tensor marginals, tables;

  // `contrast` makes the tables uneven.
  Tree(Space of, std::vector<int64_t> given, double contrast = 1.0)
      : space(std::move(of)),
        parents(std::move(given)),
        marginals(torch::zeros({space.n_variables(), space.max_labels()}, torch::kFloat64)),
        tables(torch::zeros({space.n_variables(), space.max_labels(), space.max_labels()}, torch::kFloat64)) {
    for (int64_t i = 0; i < space.n_variables(); ++i) {
      const int64_t c = space.n_labels(i);
      const auto seed = static_cast<uint64_t>(100 + i);
      marginals[i].narrow(0, 0, c).copy_(noise({c}, seed).softmax(0));
      if (parents[i] < 0) continue;
      const int64_t c_parent = space.n_labels(parents[i]);
      tables[i].narrow(0, 0, c_parent).narrow(1, 0, c).copy_((contrast * noise({c_parent, c}, seed)).softmax(1));
    }
  }

  double p(const std::vector<int64_t>& x) const {
    double product = 1.0;
    for (size_t i = 0; i < x.size(); ++i) {
      const auto own = static_cast<int64_t>(i);
      product *= parents[i] < 0 ? marginals[own][x[i]].item<double>()
                                : tables[own][x[static_cast<size_t>(parents[i])]][x[i]].item<double>();
    }
    return product;
  }

  JointTable joint() const {
    const auto labelings = enumerate_labelings(space);
    Row weights;
    for (int64_t r = 0; r < labelings.size(0); ++r) weights.push_back(p(labels_of(labelings[r])));
    return make_joint_table(space, labelings, test::tensor_of(weights));
  }
};

// Two trees, one of them alone; its branches are three deep and not in the order of the variables.
Tree two_trees() { return {test::space_of({2, 3, 4, 3, 2, 3}), {2, 2, 4, 0, -1, -1}}; }

// The field of a tree, in float64.
std::unique_ptr<TreeField> field_of(const Tree& tree) {
  auto field = std::make_unique<TreeField>(tree.space);
  test::to_double(*field);
  named(field->buffers(), "parents").copy_(torch::tensor(tree.parents, torch::kInt64));
  named(field->buffers(), "marginals").copy_(tree.marginals);
  named(field->buffers(), "tables").copy_(tree.tables);
  field->refresh();
  return field;
}

FieldInput shown(const torch::Tensor& W) { return {W, torch::zeros({1}, W.options().requires_grad(false))}; }

std::unique_ptr<DataSource> source_of(const Space& space, const torch::Tensor& labels) {
  return make_dataset_source({.space = space, .labels = labels, .unknowns = Unknowns::allow});
}

int64_t n_edges(const CountedTree& tree) {
  return std::count_if(tree.parents.begin(), tree.parents.end(), [](int64_t parent) { return parent >= 0; });
}

TEST(Tree, SendsTheExactMessages) {
  const Tree tree = two_trees();
  const Space& space = tree.space;
  const auto s = lift(space, 2.0 * noise({3, space.n_coordinates()}, 3));
  const auto found = lift(space, field_of(tree)->forward(shown(s)));  // normalised over each variable's labels
  const auto joint = tree.joint();
  const Row p = values_of(joint.p);
  for (int64_t b = 0; b < 3; ++b) {
    const Row evidence = values_of(s[b]);
    // M_i(j) = sum over labelings with x_i = j of p(x) prod_{l != i} s_l(x_l).
    Row message(space.n_coordinates(), 0.0);
    for (size_t r = 0; r < p.size(); ++r) {
      const auto x = labels_of(joint.labelings[static_cast<int64_t>(r)]);
      for (int64_t i = 0; i < space.n_variables(); ++i) {
        double others = p[r];
        for (int64_t l = 0; l < space.n_variables(); ++l)
          if (l != i) others *= evidence[space.offset(l) + x[l]];
        message[space.offset(i) + x[i]] += others;
      }
    }
    for (int64_t i = 0; i < space.n_variables(); ++i) {
      double total = 0.0;
      for (int64_t j = 0; j < space.n_labels(i); ++j) total += message[space.offset(i) + j];
      for (int64_t j = 0; j < space.n_labels(i); ++j)
        EXPECT_NEAR(found[b][space.offset(i) + j].item<double>(), message[space.offset(i) + j] / total, 1e-12)
            << "item " << b << ", variable " << i;
    }
  }
}

TEST(Tree, FloatMessagesAreThoseOfDouble) {
  const Tree tree = two_trees();
  TreeField single(tree.space);
  named(single.buffers(), "parents").copy_(torch::tensor(tree.parents, torch::kInt64));
  named(single.buffers(), "marginals").copy_(tree.marginals);
  named(single.buffers(), "tables").copy_(tree.tables);
  single.refresh();
  const auto s = lift(tree.space, 2.0 * noise({5, tree.space.n_coordinates()}, 3));
  const auto found = single.forward(shown(s.to(torch::kFloat32)));
  EXPECT_EQ(found.scalar_type(), torch::kFloat32);
  EXPECT_LT(max_difference(found, field_of(tree)->forward(shown(s))), 1e-5);  // a few roundings of logs of size 10
}

TEST(Tree, NeverShowsAVariableItsOwnEvidence) {
  const Tree tree = two_trees();
  const auto field = field_of(tree);
  const auto s = lift(tree.space, noise({1, tree.space.n_coordinates()}, 3));
  auto other = s.clone();
  other.narrow(1, 5, 4).copy_(torch::tensor({0.94, 0.02, 0.02, 0.02}, torch::kFloat64));  // another belief about 2
  const auto before = lift(tree.space, field->forward(shown(s)));
  const auto after = lift(tree.space, field->forward(shown(other)));
  EXPECT_LT(max_difference(after.narrow(1, 5, 4), before.narrow(1, 5, 4)), 1e-13);
  EXPECT_LT(max_difference(after.narrow(1, 14, 3), before.narrow(1, 14, 3)), 1e-13) << "of another tree";
  for (const int64_t i : {0, 1, 3, 4})
    EXPECT_GT(max_difference(after.narrow(1, tree.space.offset(i), tree.space.n_labels(i)),
                             before.narrow(1, tree.space.offset(i), tree.space.n_labels(i))),
              1e-3)
        << i;
}

TEST(Tree, StaysFiniteForDecidedLabels) {
  const Tree tree(test::space_of({2, 3, 4, 3, 2, 3}), {2, 2, 4, 0, -1, -1}, /*contrast=*/30.0);
  TreeField field(tree.space);
  named(field.buffers(), "parents").copy_(torch::tensor(tree.parents, torch::kInt64));
  named(field.buffers(), "tables").copy_(tree.tables);
  field.refresh();
  auto s = lift(tree.space, 200.0 * noise({16, tree.space.n_coordinates()}, 3, torch::kFloat32));
  s.requires_grad_();
  const auto out = field.forward(shown(s));
  EXPECT_TRUE(out.isfinite().all().item<bool>());
  out.sum().backward();
  EXPECT_TRUE(s.grad().isfinite().all().item<bool>());
}

TEST(Tree, GradientsEqualFiniteDifferences) {
  const Tree tree = two_trees();
  const auto field = field_of(tree);
  auto s = lift(tree.space, 0.5 * noise({2, tree.space.n_coordinates()}, 3)).requires_grad_();
  const auto direction = noise({2, tree.space.n_coordinates()}, 4);
  const auto loss = [&] { return (field->forward(shown(s)) * direction).sum(); };
  loss().backward();
  const Row gradient = values_of(s.grad());
  // Central differences with h = 1e-6: h^2 / 6 times third derivatives 2 / s^3 of logs, s > 0.05; and rounding 1e-14/h.
  constexpr double kShift = 1e-6;
  constexpr double kDifferenceTol = 1e-6;
  const torch::NoGradGuard no_grad;
  auto* at = s.data_ptr<double>();
  for (size_t k = 0; k < gradient.size(); ++k) {
    const double before = at[k];
    at[k] = before + kShift;
    const double above = loss().item<double>();
    at[k] = before - kShift;
    const double below = loss().item<double>();
    at[k] = before;
    EXPECT_NEAR((above - below) / (2.0 * kShift), gradient[k], kDifferenceTol) << k;
  }
}

TEST(Tree, HasNothingToLearn) {
  const TreeField field(test::mixed_space());
  EXPECT_TRUE(field.parameters().empty());
  EXPECT_FALSE(field.couples_items());
  EXPECT_EQ(field.reads(), FieldReads::point);
  EXPECT_EQ(named(field.buffers(), "parents").scalar_type(), torch::kInt64);
  EXPECT_TRUE(net_kind("tree").counted);
}

TEST(Tree, BeforeItIsFittedAllLabelsAreEquallyLikely) {
  const Space space = test::mixed_space();
  TreeField field(space);
  const auto W = lift(space, noise({2, 20}, 3, torch::kFloat32));
  const auto found = lift(space, field.forward(shown(W)));
  EXPECT_LT(max_difference(found, lift(space, torch::zeros({2, 20}))), 1e-6);  // float32 logs of size 2
}

// A chain and a star, both rooted at variable 0, as the fit roots its trees.
TEST(Tree, FitRecoversTheTree) {
  constexpr int64_t kRows = 5000;
  const Space space = test::space_of({3, 2, 3, 4});
  for (const auto& parents : {std::vector<int64_t>{-1, 0, 1, 2}, std::vector<int64_t>{-1, 2, 0, 2}}) {
    const Tree tree(space, parents, /*contrast=*/2.0);
    const auto found = count_tree(*source_of(space, make_joint_source(tree.joint())->rows(0, kRows)));
    ASSERT_EQ(found.parents, parents);
    for (int64_t i = 0; i < 4; ++i)
      for (int64_t a = 0; a < (parents[i] < 0 ? 1 : space.n_labels(parents[i])); ++a) {
        // The rows that decide these probabilities, and one more that is spread over the labels.
        const double n = parents[i] < 0 ? kRows : kRows * found.marginals[parents[i]][a].item<double>();
        for (int64_t j = 0; j < space.n_labels(i); ++j) {
          const double p = (parents[i] < 0 ? tree.marginals[i][j] : tree.tables[i][a][j]).item<double>();
          const double q = (parents[i] < 0 ? found.marginals[i][j] : found.tables[i][a][j]).item<double>();
          EXPECT_NEAR(q, p, test::kSigmas * std::sqrt(p * (1.0 - p) / n) + 1.0 / n)
              << "variable " << i << ", parent's label " << a << ", label " << j;
        }
      }
  }
}

TEST(Tree, FitPutsTheCountsIntoTheField) {
  const Tree tree(test::space_of({3, 2, 3, 4}), {-1, 2, 0, 2}, /*contrast=*/2.0);
  const auto source = source_of(tree.space, make_joint_source(tree.joint())->rows(0, 2000));
  TreeField fitted(tree.space);
  fitted.fit(*source);
  const auto counted = count_tree(*source);
  EXPECT_EQ(labels_of(named(fitted.buffers(), "parents")), counted.parents);
  EXPECT_LT(max_difference(named(fitted.buffers(), "marginals"), counted.marginals), 1e-7);  // rounded to float32
  EXPECT_LT(max_difference(named(fitted.buffers(), "tables"), counted.tables), 1e-7);
  // The field sends their messages at once.
  const auto s = lift(tree.space, noise({3, 12}, 3, torch::kFloat32));
  TreeField loaded(tree.space);
  for (const auto& [name, buffer] : fitted.buffers()) named(loaded.buffers(), name).copy_(buffer);
  loaded.refresh();
  EXPECT_TRUE(torch::equal(fitted.forward(shown(s)), loaded.forward(shown(s))));
}

TEST(Tree, ProbabilitiesAreAboveZeroAndSumToOne) {
  const Space space = test::space_of({2, 3});
  // Label 2 of the second column never occurs.
  const auto labels = torch::tensor({{0, 0}, {1, 1}}, torch::kInt64).repeat({30, 1});
  const auto tree = count_tree(*source_of(space, labels));
  ASSERT_EQ(tree.parents, (std::vector<int64_t>{-1, 0}));
  EXPECT_GT(tree.tables[1].narrow(0, 0, 2).min().item<double>(), 0.0);
  EXPECT_LT(max_difference(tree.tables[1].sum(1), torch::tensor({1.0, 1.0, 0.0}, torch::kFloat64)), 1e-14);
  EXPECT_LT(max_difference(tree.marginals.sum(1), torch::ones({2}, torch::kFloat64)), 1e-14);
}

TEST(Tree, ColumnsThatAreIndependentStayApart) {
  const Space space = test::binary_space(10);
  EXPECT_LE(n_edges(count_tree(*source_of(space, test::some_labels(space, 2000, 2)))), 1);
  // Among few rows some pairs look dependent by chance.
  EXPECT_LE(n_edges(count_tree(*source_of(space, test::some_labels(space, 50, 2)))), 4) << "of 9";
}

TEST(Tree, UnknownLabelsAreNotCounted) {
  const Space space = test::space_of({2, 2});
  const auto repeated = [](std::vector<int64_t> row, int64_t times) {
    return torch::tensor(row, torch::kInt64).expand({times, 2});
  };
  const auto labels =
      torch::cat({repeated({0, 0}, 20), repeated({1, 1}, 20), repeated({0, -1}, 30), repeated({-1, 1}, 10)});
  const auto tree = count_tree(*source_of(space, labels));
  ASSERT_EQ(tree.parents, (std::vector<int64_t>{-1, 0}));
  constexpr double kRounding = 1e-14;
  EXPECT_NEAR(tree.marginals[0][0].item<double>(), 50.5 / 71.0, kRounding);  // 50 of 70, and half a count for each
  const double zero = 20.5 / 51.0;                                           // 20 of 50
  EXPECT_NEAR(tree.marginals[1][0].item<double>(), zero, kRounding);
  EXPECT_NEAR(tree.tables[1][0][0].item<double>(), (20.0 + zero) / 21.0, kRounding);  // 20 pairs and one more
  EXPECT_NEAR(tree.tables[1][1][0].item<double>(), zero / 21.0, kRounding);
}

// Two columns that agree in 31 of 50 rows share 0.029 nats, in 30 of 50 rows 0.020; a table of one free number more
// costs log(100) / 200 = 0.023 with 100 rows.
TEST(Tree, APairIsJoinedIfItIsWorthItsTable) {
  const Space space = test::space_of({2, 2});
  const auto joined = [&](int64_t agree) {
    const auto half = [&](int64_t label) {
      const auto first = torch::full({50}, label, torch::kInt64);
      return torch::stack({first, torch::where(torch::arange(50) < agree, label, 1 - label)}, 1);
    };
    return n_edges(count_tree(*source_of(space, torch::cat({half(0), half(1)})))) == 1;
  };
  EXPECT_TRUE(joined(31));
  EXPECT_FALSE(joined(30));
  EXPECT_TRUE(joined(19)) << "disagreement counts as much";
}

// Of cells missing completely at random nothing changes but the number of rows, also where most of a row is missing.
TEST(Tree, HolesAreFilledAsTheTreeSays) {
  constexpr int64_t kRows = 40'000;
  const Space space = test::binary_space(6);
  const Tree tree(space, {-1, 0, 1, 2, 3, 4}, /*contrast=*/1.5);
  const auto u = fill_uniform(torch::empty({kRows, 6}), {5, Purpose::probe}, uint64_t{0});
  const auto labels = make_joint_source(tree.joint())->rows(0, kRows).masked_fill(u < 0.5, kUnknown);
  TreeField field(space);
  field.fit(*source_of(space, labels));
  ASSERT_EQ(labels_of(named(field.buffers(), "parents")), tree.parents);
  const auto& tables = named(field.buffers(), "tables");
  const auto expect_near = [](const torch::Tensor& found, const torch::Tensor& wanted, double rows) {
    const double p = wanted.item<double>();
    EXPECT_NEAR(found.item<double>(), p, test::kSigmas * std::sqrt(p * (1.0 - p) / rows) + 1.0 / rows);
  };
  // What is drawn into holes adds noise, but no more than the holes themselves take away. Both labels of a quarter of
  // the rows are known.
  for (int64_t i = 0; i < 6; ++i) {
    SCOPED_TRACE(concat("variable ", i));
    const auto& marginal = named(field.buffers(), "marginals")[i];
    const double p = tree.joint().p.masked_select(tree.joint().labelings.select(1, i) == 0).sum().item<double>();
    expect_near(marginal[0], torch::tensor(p, torch::kFloat64), 0.5 * kRows);
    for (int64_t a = 0; a < 2 && i > 0; ++a) {
      const double above = named(field.buffers(), "marginals")[i - 1][a].item<double>();
      expect_near(tables[i][a][0], tree.tables[i][a][0], 0.25 * kRows * above);
    }
  }
}

TEST(Tree, AColumnThatIsNeverKnownIsJoinedToNothing) {
  const Space space = test::space_of({2, 2, 3});
  auto labels = test::some_labels(space, 100, 3);
  labels.select(1, 2).fill_(kUnknown);
  const auto tree = count_tree(*source_of(space, labels));
  EXPECT_EQ(tree.parents[2], -1);
  EXPECT_LT(max_difference(tree.marginals[2], torch::full({3}, 1.0 / 3.0, torch::kFloat64)), 1e-14);
}

TEST(Tree, ParentsThatFormNoTreeAreRefused) {
  TreeField field(test::space_of({2, 2, 3}));
  const auto refusal = [&](const std::vector<int64_t>& parents) {
    named(field.buffers(), "parents").copy_(torch::tensor(parents, torch::kInt64));
    return test::input_error([&] { field.refresh(); });
  };
  EXPECT_EQ(refusal({-1, 2, 1}), "a tree's parents form a circle");
  EXPECT_EQ(refusal({1, 2, 0}), "a tree's parents form a circle");
  EXPECT_EQ(refusal({-1, 1, 0}), "a tree's parents form a circle") << "its own parent";
  EXPECT_EQ(refusal({-1, 3, 0}), "a tree's variable 1 has the parent 3");
  EXPECT_EQ(refusal({-1, 0, -2}), "a tree's variable 2 has the parent -2");
  EXPECT_EQ(refusal({1, -1, 0}), "");
}

TEST(Tree, ASpaceOfTooManyLabelsIsRefused) {
  const Space space = test::binary_space(kMostPaired / 2 + 1);
  const auto source = source_of(space, torch::zeros({3, space.n_variables()}, torch::kInt64));
  TreeField field(space);
  EXPECT_EQ(test::input_error([&] { field.fit(*source); }),
            "net.kind = \"tree\" counts all pairs of labels, at most 8192 labels in all; the sequence of 4097 "
            "variables with 2 labels each has 8194");
}

TEST(Tree, CudaAgreesWithTheCpu_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const Tree tree = two_trees();
  const auto field = field_of(tree);
  const auto s = lift(tree.space, 2.0 * noise({50, tree.space.n_coordinates()}, 3));
  const auto here = field->forward(shown(s));
  field->to(torch::kCUDA);
  EXPECT_LT(max_difference(field->forward(shown(s.cuda())).cpu(), here), 1e-11);
}

}  // namespace
}  // namespace segre::tree_test
