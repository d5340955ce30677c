#include <cmath>

#include "segre/net/net_kinds.h"
#include "segre/net/unet.h"
#include "segre/train/adam.h"
#include "tests/support/support.h"

// Adam on parameters with fewer bits than the weights it learns.

namespace segre::adam_precision_test {
namespace {

using test::noise;

// A network whose convolutions have become bfloat16 after Adam took its weights, as in training on CUDA.
struct Reduced {
  UNetField field;
  Adam adam;

  explicit Reduced(uint64_t seed, const AdamOptions& options = {})
      : field(Space::image(4, 4, 2), tiny(), seed), adam(field.parameters(), options) {
    field.reduce_precision(torch::kBFloat16);
  }
  static UNetOptions tiny() {
    UNetOptions options;
    options.channel_mult = {1};
    options.res_blocks = 1;
    return options;
  }
  // Gradients in the parameters' types, as autograd gives them.
  void step(int number) {
    for (size_t k = 0; k < field.parameters().size(); ++k) {
      const auto& parameter = field.parameters()[k].second;
      parameter.mutable_grad() = noise(parameter.sizes(), static_cast<uint64_t>(1000 * number) + k, torch::kFloat32)
                                     .to(parameter.scalar_type());
    }
    adam.step(1e-4);  // far below what bfloat16 resolves in a weight
  }
};

void expect_rounded_copies(const Reduced& network) {
  int shortened = 0;
  for (const auto& [name, parameter] : network.field.parameters()) {
    const auto weight = network.adam.weights().at(name);
    EXPECT_EQ(weight.scalar_type(), torch::kFloat32) << name;
    EXPECT_TRUE(torch::equal(parameter, weight.to(parameter.scalar_type()))) << name;
    shortened += parameter.scalar_type() == torch::kBFloat16 ? 1 : 0;
  }
  EXPECT_GT(shortened, 0);
}

TEST(AdamPrecision, ShortenedParametersFollowWeightsInFloat32) {
  Reduced network(1);
  const UNetField start(Space::image(4, 4, 2), Reduced::tiny(), 1);
  NamedList copies;
  for (const auto& [name, parameter] : start.parameters()) copies.emplace_back(name, parameter);
  Adam full(copies, {});
  for (int k = 1; k <= 5; ++k) {
    network.step(k);
    expect_rounded_copies(network);
    for (size_t p = 0; p < copies.size(); ++p) {
      const auto type = network.field.parameters()[p].second.scalar_type();
      copies[p].second.mutable_grad() =
          noise(copies[p].second.sizes(), static_cast<uint64_t>(1000 * k) + p, torch::kFloat32)
              .to(type)
              .to(torch::kFloat32);
    }
    full.step(1e-4);
  }
  // Steps too small for bfloat16 are not lost: the weights are those of a training in float32 with these gradients.
  for (const auto& [name, weight] : full.weights())
    EXPECT_TRUE(torch::equal(network.adam.weights().at(name), weight)) << name;
}

TEST(AdamPrecision, StateRestoresShortenedParameters) {
  Reduced network(1);
  for (int k = 1; k <= 3; ++k) network.step(k);
  Reduced other(2);
  other.adam.load(network.adam.state());
  expect_rounded_copies(other);
  for (int k = 4; k <= 5; ++k) {
    network.step(k);
    other.step(k);
  }
  const auto wanted = network.adam.state();
  for (const auto& [name, tensor] : other.adam.state()) EXPECT_TRUE(torch::equal(tensor, wanted.at(name))) << name;
}

TEST(AdamPrecision, TheClipMeasuresShortenedGradientsInFull) {
  Reduced clipped(1, {.clip = 1e-3});
  clipped.step(1);
  double squares = 0.0;
  for (const auto& [name, m] : clipped.adam.state())
    if (name.starts_with("adam.m.")) squares += (m / 0.1).square().sum(torch::kFloat64).item<double>();
  EXPECT_NEAR(std::sqrt(squares), 1e-3, 1e-7);  // m = (1 - beta1) g; bfloat16 products would be off by 1e-3 of it
}

}  // namespace
}  // namespace segre::adam_precision_test
