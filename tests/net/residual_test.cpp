#include "segre/net/residual.h"

#include <cmath>

#include "segre/space/blocks.h"
#include "tests/net/evidence_input.h"
#include "tests/support/datasets.h"
#include "tests/support/reference.h"
#include "tests/support/threads.h"

namespace segre::residual_test {
namespace {

using test::named;
using test::Row;
using test::values_of;

NetOptions small_options() {
  NetOptions options;
  options.kind = "residual";
  options.of<ResidualOptions>() = {.blocks = 2, .width = 6};
  return options;
}

// weight x + bias by loops.
Row affine(const Field& field, const std::string& layer, const Row& x) {
  Row out = values_of(named(field.parameters(), layer + ".bias"));
  const Row weight = values_of(named(field.parameters(), layer + ".weight"));
  for (size_t k = 0; k < out.size(); ++k)
    for (size_t j = 0; j < x.size(); ++j) out[k] += weight[k * x.size() + j] * x[j];
  return out;
}

Row normalised(const Field& field, const std::string& name, const Row& x) {
  const Row gain = values_of(named(field.parameters(), name));
  double squares = 0.0;
  for (const double value : x) squares += value * value;
  Row out(x.size());
  for (size_t k = 0; k < x.size(); ++k)
    out[k] = gain[k] * x[k] / std::sqrt(squares / static_cast<double>(x.size()) + 1e-6);
  return out;
}

TEST(Residual, IsWhatLoopsGive) {
  const Space space = test::mixed_space();
  ResidualField field(space, small_options(), 1);
  test::to_double(field);
  test::randomise(field);
  const auto input = test::some_evidence(space, 3);
  const auto found = field.forward(input);
  for (int64_t b = 0; b < 3; ++b) {
    Row seen = values_of(input.W[b]);
    for (const double z : values_of(input.standardised[b])) seen.push_back(2.0 * z);
    for (const double g : values_of(input.strength[b])) seen.push_back(0.5 * std::log1p(g));
    Row h = affine(field, "in", seen);
    for (int64_t k = 0; k < 2; ++k) {
      const std::string name = concat("block", k);
      Row inside = affine(field, name + ".up", normalised(field, name + ".norm", h));
      for (double& value : inside) value = std::max(0.0, value);
      const Row branch = affine(field, name + ".down", inside);
      for (size_t c = 0; c < h.size(); ++c) h[c] += branch[c];
    }
    const Row wanted = affine(field, "out", normalised(field, "norm", h));
    EXPECT_LT(test::max_difference(found[b], test::tensor_of(wanted)), 1e-12) << b;  // sums of 45 float64 products
  }
}

TEST(Residual, NamesShapesAndCountsItsParameters) {
  const Space space = test::mixed_space();  // 5 variables, 20 coordinates
  const ResidualField field(space, small_options(), 1);
  EXPECT_EQ(named(field.parameters(), "in.weight").sizes(), (std::vector<int64_t>{6, 45}));
  EXPECT_EQ(named(field.parameters(), "block1.norm").sizes(), (std::vector<int64_t>{6}));
  EXPECT_EQ(named(field.parameters(), "block1.up.weight").sizes(), (std::vector<int64_t>{6, 6}));
  EXPECT_EQ(named(field.parameters(), "out.bias").sizes(), (std::vector<int64_t>{20}));
  EXPECT_EQ(n_parameters(field), 6 * 46 + 2 * (6 + 2 * 6 * 7) + 6 + 20 * 7);
  EXPECT_EQ(static_cast<double>(n_parameters(field)), residual_kind().count(space, small_options()));
  EXPECT_EQ(field.reads(), FieldReads::standardised);
  EXPECT_FALSE(field.couples_items());
}

TEST(Residual, BlocksStartAsTheIdentity) {
  ResidualField field(test::mixed_space(), small_options(), 1);
  for (const char* name : {"block0.down.weight", "block1.down.weight", "out.weight"})
    EXPECT_EQ(named(field.parameters(), name).abs().max().item<double>(), 0.0) << name;
  for (const char* name : {"in.weight", "block0.up.weight"})
    EXPECT_GT(named(field.parameters(), name).abs().max().item<double>(), 0.1) << name;
}

TEST(Residual, SaysWhatItIs) { EXPECT_EQ(describe_net(small_options()), "2 residual blocks of width 6"); }

NetOptions options_with_tree() {
  NetOptions options = small_options();
  options.of<ResidualOptions>().tree = true;
  return options;
}

TEST(Residual, OnATreeStartsWithTheMessageOfTheTree) {
  const auto source = make_dataset_source(test::chain_rows(4, 300));
  ResidualField field(source->space(), options_with_tree(), 1);
  field.fit(*source);
  TreeField tree(source->space());
  tree.fit(*source);
  const auto input = test::some_evidence(source->space(), 5, torch::kFloat32);
  EXPECT_TRUE(torch::equal(field.forward(input), tree.forward(input)));
  EXPECT_FALSE(field.couples_items()) << "the tree's buffers belong to no batch";
}

TEST(Residual, TheGateScalesTheMessageOfTheTreeByVariable) {
  const auto source = make_dataset_source(test::chain_rows(3, 200));
  const Space& space = source->space();
  ResidualField field(space, options_with_tree(), 1);
  field.fit(*source);
  TreeField tree(space);
  tree.fit(*source);
  const auto gate = torch::tensor({0.5f, 0.0f, -2.0f});
  {
    const torch::NoGradGuard no_grad;
    named(field.parameters(), "gate").copy_(gate);
  }
  const auto input = test::some_evidence(space, 5, torch::kFloat32);
  // The blocks add nothing yet.
  EXPECT_TRUE(torch::equal(field.forward(input), spread(space, gate.expand({5, 3})) * tree.forward(input)));
}

TEST(Residual, ATreeIsLoadedWithTheOtherTensors) {
  const auto source = make_dataset_source(test::chain_rows(4, 300));
  ResidualField field(source->space(), options_with_tree(), 1);
  field.fit(*source);
  ResidualField other(source->space(), options_with_tree(), 1);
  ASSERT_EQ(field.buffers().size(), 3u);
  for (size_t k = 0; k < 3; ++k) other.buffers()[k].second.copy_(field.buffers()[k].second);
  other.refresh();
  const auto input = test::some_evidence(source->space(), 5, torch::kFloat32);
  EXPECT_TRUE(torch::equal(other.forward(input), field.forward(input)));
}

TEST(Residual, GradientsOnATreeEqualFiniteDifferences) {
  const test::Threads one_thread(1);
  const auto source = make_dataset_source(test::chain_rows(3, 200));
  ResidualField field(source->space(), options_with_tree(), 1);
  field.fit(*source);
  test::to_double(field);
  test::randomise(field);
  auto input = test::some_evidence(source->space(), 4);
  const auto direction = test::noise({4, 9}, 3);
  const auto loss = [&] { return (field.forward(input) * direction).sum(); };
  loss().backward();
  // Central differences with h = 1e-6: h^2 times curvature, and rounding 1e-14 / h.
  EXPECT_LT(test::gradient_error(
                field, [&] { return loss().item<double>(); }, 1e-6),
            1e-6);
}

}  // namespace
}  // namespace segre::residual_test
