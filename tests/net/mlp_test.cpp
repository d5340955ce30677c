#include "segre/net/mlp.h"
#include "segre/net/net_kinds.h"

#include <cmath>

#include "tests/support/reference.h"

namespace segre::mlp_test {
namespace {

using test::max_difference;
using test::named;
using test::noise;
using test::Row;
using test::values_of;

// Dense float64 layers of fewer than ten units.
constexpr double kRounding = 1e-12;

NetOptions options_with(bool batch_norm, int64_t time_features = 0) {
  NetOptions options;
  options.kind = "mlp";
  options.of<MlpOptions>().hidden = {5};
  options.of<MlpOptions>().batch_norm = batch_norm;
  options.time_features = time_features;
  options.of<MlpOptions>().input_gain = 2.0;
  return options;
}

// float64 weights that are all different from 0, the last layer's included.
std::unique_ptr<MlpField> random_mlp(const NetOptions& options) {
  auto field = std::make_unique<MlpField>(test::small_mixed_space(), options, 1);
  test::to_double(*field);
  const torch::NoGradGuard no_grad;
  uint64_t seed = 20;
  for (const auto& [name, parameter] : field->parameters()) parameter.copy_(noise(parameter.sizes(), seed++));
  return field;
}

// weight x + bias by loops.
Row dense(const Field& field, const std::string& layer, const Row& x) {
  const auto bias = values_of(named(field.parameters(), layer + ".bias"));
  const auto weight = values_of(named(field.parameters(), layer + ".weight"));
  Row out = bias;
  for (size_t k = 0; k < out.size(); ++k)
    for (size_t j = 0; j < x.size(); ++j) out[k] += weight[k * x.size() + j] * x[j];
  return out;
}

// (x - mean) / sqrt(var + 1e-5) * weight + bias by loops.
Row normalised(const Field& field, const std::string& layer, const Row& x, const Row& mean, const Row& var) {
  const auto weight = values_of(named(field.parameters(), layer + ".norm.weight"));
  const auto bias = values_of(named(field.parameters(), layer + ".norm.bias"));
  Row out(x.size());
  for (size_t j = 0; j < x.size(); ++j) out[j] = (x[j] - mean[j]) / std::sqrt(var[j] + 1e-5) * weight[j] + bias[j];
  return out;
}

TEST(Mlp, NamesAndShapesItsParameters) {
  const MlpField field(test::small_mixed_space(), options_with(true, 3), 1);
  const std::vector<std::pair<std::string, std::vector<int64_t>>> expected{
      {"layer0.weight", {5, 9}},   {"layer0.bias", {5}},      {"layer0.norm.weight", {9}},
      {"layer0.norm.bias", {9}},   {"layer1.weight", {9, 5}}, {"layer1.bias", {9}},
      {"layer1.norm.weight", {5}}, {"layer1.norm.bias", {5}}, {"time_weight", {5, 6}}};
  ASSERT_EQ(field.parameters().size(), expected.size());
  for (size_t k = 0; k < expected.size(); ++k) {
    EXPECT_EQ(field.parameters()[k].first, expected[k].first);
    EXPECT_EQ(field.parameters()[k].second.sizes(), expected[k].second) << expected[k].first;
  }
  EXPECT_EQ(field.buffers().size(), 4u);
  EXPECT_EQ(named(field.buffers(), "layer1.norm.var").sizes(), (std::vector<int64_t>{5}));
}

TEST(Mlp, StartsAtZero) {
  MlpField field(test::small_mixed_space(), options_with(false, 3), 1);
  EXPECT_EQ(field.forward({noise({4, 9}, 1, torch::kFloat32), torch::full({4}, 0.3)}).abs().max().item<double>(), 0.0);
  EXPECT_GT(field.parameters()[0].second.abs().max().item<double>(), 0.1);  // only the last layer does
}

TEST(Mlp, IsDenseLayersWithReluAndGain) {
  const auto field = random_mlp(options_with(false, 1));
  const auto W = noise({3, 9}, 2);
  const double t = 0.3;
  const auto out = field->forward({W, torch::full({3}, t, torch::kFloat64)});
  const auto time_weight = values_of(named(field->parameters(), "time_weight"));
  for (int64_t b = 0; b < 3; ++b) {
    auto x = values_of(W[b]);
    for (double& value : x) value *= 2.0;  // the gain
    auto h = dense(*field, "layer0", x);
    for (size_t k = 0; k < h.size(); ++k) {
      h[k] += time_weight[2 * k] * std::sin(M_PI * t / 2) + time_weight[2 * k + 1] * std::cos(M_PI * t / 2);
      h[k] = std::max(0.0, h[k]);
    }
    EXPECT_LT(max_difference(out[b], test::tensor_of(dense(*field, "layer1", h))), kRounding);
  }
}

TEST(Mlp, BatchNormUsesTheBatchWhileTrainingAndRemembersIt) {
  const auto field = random_mlp(options_with(true));
  field->set_training(true);
  const auto W = noise({50, 9}, 2);
  const auto t = torch::zeros({50}, torch::kFloat64);
  const auto out = field->forward({W, t});
  // Statistics of the batch: a different input scale is normalised away (up to eps = 1e-5 of its variance).
  EXPECT_LT(max_difference(field->forward({3.0 * W + 1.0, t}), out), 1e-3);
  const auto fresh = random_mlp(options_with(true));
  fresh->set_training(true);
  fresh->forward({W, t});
  const auto x = 2.0 * W;
  EXPECT_LT(max_difference(named(fresh->buffers(), "layer0.norm.mean"), 0.1 * x.mean(0)), kRounding);
  EXPECT_LT(max_difference(named(fresh->buffers(), "layer0.norm.var"), 0.9 + 0.1 * x.var(0, /*unbiased=*/true)),
            kRounding);
}

TEST(Mlp, BatchNormUsesRunningStatisticsOtherwise) {
  const auto field = random_mlp(options_with(true));
  {
    const torch::NoGradGuard no_grad;
    uint64_t seed = 40;
    for (const auto& [name, buffer] : field->buffers()) buffer.copy_(noise(buffer.sizes(), seed++).abs() + 0.1);
  }
  const auto W = noise({3, 9}, 2);
  const auto before = named(field->buffers(), "layer0.norm.mean").clone();
  const auto out = field->forward({W, torch::zeros({3}, torch::kFloat64)});
  EXPECT_TRUE(torch::equal(named(field->buffers(), "layer0.norm.mean"), before));
  const auto stat = [&](const std::string& name) { return values_of(named(field->buffers(), name)); };
  for (int64_t b = 0; b < 3; ++b) {
    auto x = values_of(W[b]);
    for (double& value : x) value *= 2.0;
    auto h =
        dense(*field, "layer0", normalised(*field, "layer0", x, stat("layer0.norm.mean"), stat("layer0.norm.var")));
    for (double& value : h) value = std::max(0.0, value);
    h = normalised(*field, "layer1", h, stat("layer1.norm.mean"), stat("layer1.norm.var"));
    EXPECT_LT(max_difference(out[b], test::tensor_of(dense(*field, "layer1", h))), kRounding);
  }
}

TEST(Mlp, WithoutHiddenLayersItIsAffine) {
  auto options = options_with(false);
  options.of<MlpOptions>().hidden = {};
  const auto field = random_mlp(options);
  const auto x = noise({1, 9}, 2);
  auto scaled = values_of(x);
  for (double& value : scaled) value *= 2.0;
  const auto out = field->forward({x, torch::zeros({1}, torch::kFloat64)});
  EXPECT_LT(max_difference(out[0], test::tensor_of(dense(*field, "layer0", scaled))), kRounding);
}

}  // namespace
}  // namespace segre::mlp_test
