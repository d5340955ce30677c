#include "segre/train/adam.h"

#include <cmath>

#include "tests/support/reference.h"

namespace segre::adam_test {
namespace {

using test::max_difference;
using test::noise;
using test::Row;
using test::values_of;

constexpr int kSteps = 12;
constexpr double kRate = 0.02;

std::vector<std::pair<std::string, torch::Tensor>> parameters(torch::TensorOptions options) {
  return {{"a", noise({3, 4}, 1, options).requires_grad_(true)}, {"b", noise({5}, 2, options).requires_grad_(true)}};
}

void set_gradients(const std::vector<std::pair<std::string, torch::Tensor>>& list, int step) {
  for (size_t k = 0; k < list.size(); ++k)
    list[k].second.mutable_grad() = noise(list[k].second.sizes(), static_cast<uint64_t>(100 * step) + k,
                                          list[k].second.options().requires_grad(false));
}

// PyTorch's documented algorithm, and the average with d = min(ema, k/(k+9)).
struct ByHand {
  explicit ByHand(const torch::Tensor& start) : w(values_of(start)), m(w.size()), v(w.size()), average(w) {}
  void step(const Row& g, int k, const AdamOptions& o) {
    const double d = std::min(o.ema, k / (k + 9.0));
    for (size_t i = 0; i < w.size(); ++i) {
      m[i] = o.beta1 * m[i] + (1 - o.beta1) * g[i];
      v[i] = o.beta2 * v[i] + (1 - o.beta2) * g[i] * g[i];
      w[i] -= kRate * (m[i] / (1 - std::pow(o.beta1, k))) / (std::sqrt(v[i] / (1 - std::pow(o.beta2, k))) + o.eps);
      average[i] = d * average[i] + (1 - d) * w[i];
    }
  }
  Row w, m, v, average;
};

void expect_documented_algorithm(torch::TensorOptions options, const AdamOptions& adam_options, double tolerance) {
  const auto list = parameters(options);
  ByHand a(list[0].second);
  ByHand b(list[1].second);
  Adam adam(list, adam_options);
  for (int k = 1; k <= kSteps; ++k) {
    set_gradients(list, k);
    a.step(values_of(list[0].second.grad()), k, adam_options);
    b.step(values_of(list[1].second.grad()), k, adam_options);
    adam.step(kRate);
  }
  EXPECT_EQ(adam.n_steps(), kSteps);
  EXPECT_LT(max_difference(list[0].second.flatten(), test::tensor_of(a.w)), tolerance);
  EXPECT_LT(max_difference(list[1].second, test::tensor_of(b.w)), tolerance);
  EXPECT_LT(max_difference(adam.average().at("a").flatten(), test::tensor_of(a.average)), tolerance);
  EXPECT_LT(max_difference(adam.average().at("b"), test::tensor_of(b.average)), tolerance);
}

TEST(Adam, IsTheDocumentedAlgorithmInFloat64) {
  expect_documented_algorithm(torch::kFloat64, {}, 1e-13);  // a dozen rounded steps
  expect_documented_algorithm(torch::kFloat64, {0.8, 0.95, 1e-3, 0.3}, 1e-13);
}

TEST(Adam, IsTheDocumentedAlgorithmInFloat32) { expect_documented_algorithm(torch::kFloat32, {}, 5e-6); }

// Gradients of growing length, the first shorter than the clip and the last far longer.
TEST(Adam, LongGradientsAreShortenedToTheClip) {
  constexpr double kClip = 2.0;
  const AdamOptions adam_options{.clip = kClip};
  const auto list = parameters(torch::kFloat64);
  ByHand a(list[0].second);
  ByHand b(list[1].second);
  Adam adam(list, adam_options);
  double shortest = 1.0;
  for (int k = 1; k <= kSteps; ++k) {
    set_gradients(list, k);
    double squares = 0.0;
    for (const auto& [name, parameter] : list) {
      parameter.mutable_grad() = parameter.grad() * (0.05 * k * k);
      for (const double g : values_of(parameter.grad())) squares += g * g;
    }
    const double scale = std::min(1.0, kClip / std::sqrt(squares));
    EXPECT_EQ(scale<1.0, k> 3) << k;  // both kinds occur
    shortest = std::min(shortest, scale);
    a.step(values_of(list[0].second.grad() * scale), k, adam_options);
    b.step(values_of(list[1].second.grad() * scale), k, adam_options);
    adam.step(kRate);
  }
  EXPECT_LT(shortest, 0.2);
  constexpr double kNorm = 1e-7 * kRate * kSteps;  // the norm is made of squares in float32
  EXPECT_LT(max_difference(list[0].second.flatten(), test::tensor_of(a.w)), kNorm);
  EXPECT_LT(max_difference(list[1].second, test::tensor_of(b.w)), kNorm);
}

TEST(Adam, AGradientOfZeroIsNoTroubleForTheClip) {
  const auto list = parameters(torch::kFloat32);
  const auto before = list[0].second.detach().clone();
  Adam adam(list, {.clip = 1.0});
  for (const auto& [name, parameter] : list) parameter.mutable_grad() = torch::zeros_like(parameter);
  adam.step(kRate);
  EXPECT_TRUE(torch::equal(list[0].second.detach(), before));
}

// The fused pass walks over memory; a gradient with a different memory order must not be paired wrongly.
TEST(Adam, MemoryOrderDoesNotMatter) {
  const auto start = noise({4, 3, 3, 3}, 1, torch::kFloat32);
  const auto plain = start.clone().requires_grad_(true);
  const auto channels_last = start.clone().contiguous(at::MemoryFormat::ChannelsLast).requires_grad_(true);
  ASSERT_NE(plain.strides(), channels_last.strides());
  Adam one({{"w", plain}}, {});
  Adam two({{"w", channels_last}}, {});
  for (uint64_t k = 1; k <= 3; ++k) {
    const auto gradient = noise({4, 3, 3, 3}, 10 + k, torch::kFloat32);
    plain.mutable_grad() = gradient.clone();
    channels_last.mutable_grad() = k == 2 ? gradient.contiguous(at::MemoryFormat::ChannelsLast) : gradient.clone();
    one.step(kRate);
    two.step(kRate);
  }
  EXPECT_TRUE(torch::equal(plain, channels_last));
  EXPECT_TRUE(torch::equal(one.average().at("w"), two.average().at("w")));
  Adam resumed({{"w", start.clone().contiguous(at::MemoryFormat::ChannelsLast).requires_grad_(true)}}, {});
  resumed.load(one.state());
  EXPECT_TRUE(torch::equal(resumed.weights().at("w"), plain));
}

TEST(Adam, FirstStepMovesEveryWeightByTheRateAgainstItsGradient) {
  const auto list = parameters(torch::kFloat64);
  const auto before = list[0].second.detach().clone();
  Adam adam(list, {});
  set_gradients(list, 1);
  const auto sign = list[0].second.grad().sign();
  adam.step(kRate);
  EXPECT_LT(max_difference(list[0].second.detach(), before - kRate * sign),
            1e-6 * kRate / 1e-2);  // eps against |g| of 0.01
}

TEST(Adam, ClearsGradientsAndSkipsParametersWithout) {
  const auto list = parameters(torch::kFloat32);
  const auto before = list[1].second.detach().clone();
  Adam adam(list, {});
  list[0].second.mutable_grad() = torch::ones({3, 4});
  adam.step(kRate);
  EXPECT_FALSE(list[0].second.grad().defined());
  EXPECT_TRUE(torch::equal(list[1].second.detach(), before));
}

TEST(Adam, WithoutDecayTheAverageIsTheWeights) {
  const auto list = parameters(torch::kFloat32);
  Adam adam(list, {0.9, 0.999, 1e-8, 0.0});
  for (int k = 1; k <= 3; ++k) {
    set_gradients(list, k);
    adam.step(kRate);
  }
  EXPECT_TRUE(torch::equal(adam.average().at("a"), list[0].second.detach()));
}

TEST(Adam, StateContinuesToTheSameBits) {
  const auto list = parameters(torch::kFloat32);
  Adam adam(list, {});
  set_gradients(list, 1);
  adam.step(kRate);
  NamedTensors saved;
  for (const auto& [name, tensor] : adam.state()) saved[name] = tensor.clone();
  auto copy = parameters(torch::kFloat32);
  {
    const torch::NoGradGuard no_grad;
    for (size_t k = 0; k < copy.size(); ++k) copy[k].second.copy_(list[k].second);
  }
  Adam other(copy, {});
  other.load(saved);
  EXPECT_EQ(other.n_steps(), 1);
  for (int k = 2; k <= 4; ++k) {
    set_gradients(list, k);
    adam.step(kRate);
    set_gradients(copy, k);
    other.step(kRate);
  }
  for (size_t k = 0; k < copy.size(); ++k) EXPECT_TRUE(torch::equal(copy[k].second, list[k].second));
  EXPECT_TRUE(torch::equal(other.average().at("b"), adam.average().at("b")));
}

TEST(Adam, RefusesAStateThatIsNotItsOwn) {
  Adam adam(parameters(torch::kFloat32), {});
  auto state = adam.state();
  state.erase("adam.v.b");
  EXPECT_EQ(test::input_error([&] { adam.load(state); }), "the checkpoint has no tensor adam.v.b");
  state = adam.state();
  state["ema.a"] = torch::zeros({4, 4});
  EXPECT_EQ(test::input_error([&] { adam.load(state); }),
            "the checkpoint's tensor ema.a has shape [4, 4], expected [3, 4]");
}

}  // namespace
}  // namespace segre::adam_test
