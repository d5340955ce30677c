#include "segre/net/field.h"

#include "segre/core/memory.h"

#include <map>

#include "segre/net/latent_class.h"
#include "segre/net/mlp.h"
#include "segre/net/net_kinds.h"
#include "segre/net/residual.h"
#include "segre/net/transformer.h"
#include "segre/net/unet.h"
#include "segre/path/simplex.h"
#include "tests/support/reference.h"
#include "tests/support/threads.h"

// What every network must do.

namespace segre::field_test {
namespace {

using test::max_difference;
using test::noise;

// evidence_nets_test.cpp has those that read more than a point.
const std::map<std::string, std::string> kKinds{{"linear", "linear"}, {"mlp", "mlp"}, {"latent_class", "latent_class"}};
const std::vector<std::string> kAllThatLearn{"linear", "mlp", "latent_class", "residual", "transformer"};

NetOptions options_of(const std::string& kind) {
  NetOptions options;
  options.kind = kind;
  options.of<MlpOptions>().hidden = {7, 6};
  options.of<LatentClassOptions>().classes = 4;
  options.of<ResidualOptions>() = {.blocks = 2, .width = 6};
  options.of<TransformerOptions>() = {.layers = 1, .width = 8, .heads = 2};
  options.time_features = 2;
  options.of<MlpOptions>().input_gain = 3.0;
  return options;
}

// Some weights start at 0; noise everywhere makes every gradient visible.
void randomise(const Field& field, uint64_t seed) {
  const torch::NoGradGuard no_grad;
  for (const auto& [name, parameter] : field.parameters()) parameter.copy_(noise(parameter.sizes(), seed++));
}

TEST(Field, WeightsDependOnTheSeedAlone) {
  const Space space = test::mixed_space();
  for (const std::string& kind : kAllThatLearn) {
    const auto one = make_field(space, options_of(kind), 1);
    const auto same = make_field(space, options_of(kind), 1);
    const auto other = make_field(space, options_of(kind), 2);
    bool differs = false;
    for (size_t k = 0; k < one->parameters().size(); ++k) {
      EXPECT_TRUE(torch::equal(one->parameters()[k].second, same->parameters()[k].second)) << kind;
      differs = differs || !torch::equal(one->parameters()[k].second, other->parameters()[k].second);
    }
    EXPECT_TRUE(differs) << kind;
  }
}

TEST(Field, ParametersAreLearnableAndCounted) {
  const Space space = test::mixed_space();
  for (const std::string& kind : kAllThatLearn) {
    const auto field = make_field(space, options_of(kind), 1);
    int64_t count = 0;
    for (const auto& [name, parameter] : field->parameters()) {
      EXPECT_TRUE(parameter.requires_grad()) << name;
      EXPECT_TRUE(parameter.is_leaf()) << name;
      count += parameter.numel();
    }
    EXPECT_EQ(n_parameters(*field), count) << kind;
  }
  // S = 20: matrix and 2 * 2 time features; layers 20-7-6-20 with biases; 4 classes.
  EXPECT_EQ(n_parameters(*make_field(space, options_of("linear"), 1)), 20 * 20 + 20 * 4);
  EXPECT_EQ(n_parameters(*make_field(space, options_of("mlp"), 1)), 7 * 21 + 6 * 8 + 20 * 7 + 7 * 4);
  EXPECT_EQ(n_parameters(*make_field(space, options_of("latent_class"), 1)), 4 + 4 * 20);
}

TEST(Field, ANetworkThatCannotFitIsRefusedBeforeItIsMade) {
  const Space space = Space::image(1000, 1000, 256);  // a matrix of 6.6e16 weights
  for (const auto& [kind_name, kind] : kKinds) {
    auto options = options_of(kind);
    options.of<MlpOptions>().hidden = {1 << 20};
    options.of<LatentClassOptions>().classes = 1 << 20;
    const std::string message = test::input_error([&] { make_field(space, options, 1); });
    EXPECT_EQ(message.rfind("a network for the image of 1000x1000 variables with 256 labels each needs ", 0), 0u)
        << kind_name << ": " << message;
  }
}

TEST(Field, GradientsEqualFiniteDifferences) {
  const test::Threads one_thread(1);
  const Space space = test::small_mixed_space();
  const auto W = lift(space, noise({5, 9}, 2));
  const auto t = torch::tensor({0.1, 0.2, 0.3, 0.4, 0.5}, torch::kFloat64);
  const auto direction = noise({5, 9}, 3);
  // Central differences with h = 1e-6: h^2 times curvature, and rounding 1e-14 / h. ReLU kinks are further away.
  constexpr double kShift = 1e-6;
  constexpr double kDifferenceTol = 1e-6;
  for (const auto& [kind_name, kind] : kKinds) {
    const auto field = make_field(space, options_of(kind), 1);
    test::to_double(*field);
    randomise(*field, 10);
    const auto loss = [&, &f = field] { return (f->forward({W, t}) * direction).sum(); };
    loss().backward();
    EXPECT_GT(field->parameters().back().second.grad().abs().max().item<double>(), 1e-3) << kind_name;
    EXPECT_LT(test::gradient_error(
                  *field, [&] { return loss().item<double>(); }, kShift),
              kDifferenceTol)
        << kind_name;
  }
}

TEST(Field, OneTimeServesTheWholeBatch) {
  const Space space = test::small_mixed_space();
  const auto W = lift(space, noise({5, 9}, 2, torch::kFloat32));
  for (const auto& [kind_name, kind] : kKinds) {
    const auto field = make_field(space, options_of(kind), 1);
    const auto one = field->forward({W, torch::full({1}, 0.3)});
    // Equal up to the order in which a matrix product adds.
    EXPECT_LT(max_difference(one, field->forward({W, torch::full({5}, 0.3)})), 1e-6) << kind_name;
  }
}

TEST(Field, TimeIsIgnoredWithoutTimeFeaturesAndSeenWithThem) {
  const Space space = test::small_mixed_space();
  const auto W = lift(space, noise({5, 9}, 2, torch::kFloat32));
  for (const char* const kind : {"linear", "mlp"})
    for (const int64_t n_features : {0, 2}) {
      auto options = options_of(kind);
      options.time_features = n_features;
      const auto field = make_field(space, options, 1);
      randomise(*field, 10);
      const auto early = field->forward({W, torch::full({5}, 0.1)});
      const auto late = field->forward({W, torch::full({5}, 0.9)});
      EXPECT_EQ(torch::equal(early, late), n_features == 0);
    }
}

TEST(Field, CudaAgreesWithTheCpu_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const Space space = test::small_mixed_space();
  const auto W = lift(space, noise({5, 9}, 2));
  const auto t = torch::full({5}, 0.3, torch::kFloat64);
  for (const auto& [kind_name, kind] : kKinds) {
    const auto field = make_field(space, options_of(kind), 1);
    test::to_double(*field);
    randomise(*field, 10);
    const auto here = field->forward({W, t});
    field->to(torch::kCUDA);
    EXPECT_LT(max_difference(field->forward({W.cuda(), t.cuda()}).cpu(), here), 1e-11) << kind_name;
  }
}

TEST(Field, ANetworkLargerThanTheMemoryIsRefusedBeforeItIsMade) {
  const auto error = [](const Space& space, const NetOptions& options) {
    return test::input_error([&] { make_field(space, options, 1); });
  };
  NetOptions wide = options_of("mlp");
  wide.of<MlpOptions>().hidden = std::vector<int64_t>(1000, 65'536);
  const std::string message = error(test::binary_space(2), wide);
  EXPECT_TRUE(message.starts_with("a network for the sequence of 2 variables with 2 labels each needs 78.0 TB, "))
      << message;
  NetOptions deep = options_of("mlp");
  deep.of<MlpOptions>().hidden = std::vector<int64_t>(1025, 1);
  EXPECT_EQ(error(test::binary_space(2), deep), "net.hidden has 1025 layers, expected at most 1024");
  // The network is small; the one item it is shown is not.
  NetOptions unet = options_of("unet");
  unet.of<UNetOptions>() = {32, {1}, 1, {}, 4};
  const Space huge = Space::image(65'536, 65'536, 1);
  if (available_memory(torch::kCPU) < int64_t{64} << 30) {
    EXPECT_NE(error(huge, unet), "");
  }
}

}  // namespace
}  // namespace segre::field_test
