#include "segre/train/objective.h"

#include <cmath>

#include "segre/core/error.h"
#include "segre/net/mlp.h"
#include "segre/net/net_kinds.h"
#include "tests/support/reference.h"
#include "tests/support/threads.h"

namespace segre::objective_test {
namespace {

using test::both_paths;
using test::max_difference;
using test::noise;
using test::Row;
using test::values_of;

constexpr int64_t kItems = 6;
const Form kForms[] = {Form::velocity, Form::endpoint, Form::evidence};
// Central differences of a loss of size 10 with h = 1e-6: curvature h^2, rounding 1e-14 / h.
constexpr double kShift = 1e-6;
constexpr double kDifferenceTol = 1e-6;

NetOptions small_mlp() {
  NetOptions options;
  options.kind = "mlp";
  options.of<MlpOptions>().hidden = {6};
  options.time_features = 1;
  return options;
}

// A small network with no zero weights, in float64 if asked for.
std::shared_ptr<Field> random_field(const Space& space, bool wide) {
  const auto field = make_field(space, small_mlp(), 1);
  if (wide) test::to_double(*field);
  const torch::NoGradGuard no_grad;
  uint64_t seed = 30;
  for (const auto& [name, parameter] : field->parameters()) parameter.copy_(0.5 * noise(parameter.sizes(), seed++));
  return field;
}

PathSample some_sample(const Space& space, const Path& path, double t, torch::TensorOptions options) {
  const auto times = t * torch::tensor({0.1, 0.3, 0.5, 0.8, 1.0, 1.2}, options);
  auto sample =
      sample_path(space, path, test::some_labels(space, kItems), times, {1, Purpose::probe}, 0, WithVelocity::yes);
  sample.weight = torch::tensor({0.5, 1.0, 2.0, 0.1, 1.5, 1.0}, options);
  return sample;
}

// Evaluates and puts the gradients where gradient_error looks for them.
ObjectiveValue backward(const Model& model, const PathSample& sample, Objective objective) {
  auto value = evaluate(model, sample, objective);
  const auto& parameters = model.field().parameters();
  for (size_t k = 0; k < parameters.size(); ++k) parameters[k].second.mutable_grad() = value.gradients[k];
  return value;
}

// sum_i Var_{W_i}(x_i) at W = softmax(v), by loops.
double variance_by_loops(const Space& space, const Row& v, const Row& x) {
  double total = 0.0;
  for (int64_t i = 0; i < space.n_variables(); ++i) {
    double sum = 0.0;
    double mean = 0.0;
    double square = 0.0;
    for (int64_t k = space.offset(i); k < space.offset(i) + space.n_labels(i); ++k) {
      sum += std::exp(v[k]);
      mean += std::exp(v[k]) * x[k];
      square += std::exp(v[k]) * x[k] * x[k];
    }
    total += square / sum - std::pow(mean / sum, 2);
  }
  return total;
}

double weighted_mean(const PathSample& sample, const torch::Tensor& loss) {
  return (sample.weight * loss).mean().item<double>();
}

TEST(Objective, MetricIsTheVarianceOfTheVelocityError) {
  const test::Threads one_thread(1);
  const Space space = test::small_mixed_space();
  for (const auto& [path, t] : both_paths())
    for (const Form form : kForms) {
      const Model model(space, path, form, random_field(space, true));
      const auto sample = some_sample(space, *path, t, torch::kFloat64);
      const auto value = backward(model, sample, Objective::metric);
      const auto F = model.velocity({sample.v_t, sample.t}).detach();
      const auto D = model.endpoint({sample.v_t, sample.t}).detach();
      for (int64_t b = 0; b < kItems; ++b) {
        const auto difference = values_of(F[b] - sample.velocity[b]);
        EXPECT_NEAR(value.loss[b].item<double>(), variance_by_loops(space, values_of(sample.v_t[b]), difference), 1e-9);
        const auto u = test::corner_by_loops(space, *path, test::labels_of(sample.labels[b]));
        const auto end = values_of(D[b]);
        double error = 0.0;
        for (size_t k = 0; k < u.size(); ++k) error += std::pow(u[k] - end[k], 2);
        EXPECT_NEAR(value.error[b].item<double>(), error, 1e-9);
      }
    }
}

TEST(Objective, CrossEntropyIsMinusTheLogProbabilityOfTheLabels) {
  const test::Threads one_thread(1);
  const Space space = test::small_mixed_space();
  for (const auto& [path, t] : both_paths())
    for (const Form form : {Form::endpoint, Form::evidence}) {
      const Model model(space, path, form, random_field(space, true));
      const auto sample = some_sample(space, *path, t, torch::kFloat64);
      const auto value = backward(model, sample, Objective::cross_entropy);
      const auto logits = model.logits({sample.v_t, sample.t}).detach();
      for (int64_t b = 0; b < kItems; ++b) {
        const auto l = values_of(logits[b]);
        const auto labels = test::labels_of(sample.labels[b]);
        double expected = 0.0;
        for (int64_t i = 0; i < 3; ++i) {
          double total = 0.0;
          for (int64_t j = 0; j < space.n_labels(i); ++j)
            total += std::exp(l[space.offset(i) + j] - l[space.offset(i) + labels[i]]);
          expected += std::log(total);
        }
        EXPECT_NEAR(value.loss[b].item<double>(), expected, 1e-10);
      }
    }
}

TEST(Objective, GradientsAreThoseOfTheWeightedMeanLoss) {
  const test::Threads one_thread(1);
  const Space space = test::small_mixed_space();
  for (const auto& [path, t] : both_paths())
    for (const Form form : kForms)
      for (const Objective objective : {Objective::metric, Objective::cross_entropy}) {
        if (form == Form::velocity && objective == Objective::cross_entropy) continue;
        const auto field = random_field(space, true);
        const Model model(space, path, form, field);
        const auto sample = some_sample(space, *path, t, torch::kFloat64);
        backward(model, sample, objective);
        double scale = 1.0;
        for (const auto& [name, parameter] : field->parameters())
          scale = std::max(scale, parameter.grad().abs().max().item<double>());
        const auto loss = [&, objective] {
          const torch::AutoGradMode on(true);
          return weighted_mean(sample, backward(model, sample, objective).loss);
        };
        const double worst = test::gradient_error(*field, loss, kShift);
        EXPECT_LT(worst / scale, kDifferenceTol) << path->name() << " form " << static_cast<int>(form);
      }
}

TEST(Objective, FusedCrossEntropyEqualsThePlainOne) {
  const Space space = test::mixed_space();
  // Logits up to 50 in float32, and sums over a batch.
  constexpr double kSingleTol = 1e-4;
  for (const auto& [path, t] : both_paths())
    for (const Form form : {Form::endpoint, Form::evidence}) {
      const auto narrow = random_field(space, false);
      const auto wide = random_field(space, true);
      const auto fused = backward(Model(space, path, form, narrow), some_sample(space, *path, t, torch::kFloat32),
                                  Objective::cross_entropy);
      const auto plain = backward(Model(space, path, form, wide), some_sample(space, *path, t, torch::kFloat64),
                                  Objective::cross_entropy);
      EXPECT_EQ(fused.loss.scalar_type(), torch::kFloat32);
      EXPECT_LT(max_difference(fused.loss, plain.loss), kSingleTol);
      EXPECT_LT(max_difference(fused.error, plain.error), 10 * kSingleTol);  // kappa^2 is about 30
      for (size_t k = 0; k < wide->parameters().size(); ++k)
        EXPECT_LT(max_difference(narrow->parameters()[k].second.grad(), wide->parameters()[k].second.grad()),
                  kSingleTol);
    }
}

TEST(Objective, CrossEntropyNeedsLogits) {
  const Space space = test::small_mixed_space();
  const auto [path, t] = both_paths().front();
  const Model model(space, path, Form::velocity, random_field(space, true));
  const auto sample = some_sample(space, *path, t, torch::kFloat64);
  const std::string message = test::input_error([&] { backward(model, sample, Objective::cross_entropy); });
  EXPECT_NE(message.find("train.objective = \"cross_entropy\" needs model.form"), std::string::npos) << message;
  EXPECT_EQ(needs_velocity(Objective::metric), WithVelocity::yes);
  EXPECT_EQ(needs_velocity(Objective::cross_entropy), WithVelocity::no);
}

}  // namespace
}  // namespace segre::objective_test
