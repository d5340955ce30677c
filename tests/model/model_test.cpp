#include "segre/model/model.h"

#include <cmath>

#include "segre/core/error.h"
#include "segre/model/joint_oracle.h"
#include "segre/net/latent_class.h"
#include "segre/net/mlp.h"
#include "segre/net/net_kinds.h"
#include "segre/path/e_geodesic.h"
#include "segre/path/simplex.h"
#include "tests/support/messages.h"
#include "tests/support/reference.h"

namespace segre::model_test {
namespace {

using test::both_paths;
using test::FixedField;
using test::max_difference;
using test::mixed_space;
using test::noise;
using test::tangent_noise;

// A few dozen rounded float64 operations on numbers of size up to 100.
constexpr double kRounding = 1e-12;
// The same in float32.
constexpr double kSingleTol = 5e-5;

torch::Tensor one_time(double t, torch::TensorOptions options = torch::kFloat64) {
  return torch::full({1}, t, options);
}

TEST(Model, ShowsTheNetworkThePointOrTheEvidence) {
  const Space space = mixed_space();
  const auto v = tangent_noise(space, 4);
  for (const auto& [path, t] : both_paths())
    for (const Form form : {Form::velocity, Form::endpoint, Form::evidence}) {
      const auto field = std::make_shared<FixedField>(noise({20}));
      const Model model(space, path, form, field);
      model.network_output({v, one_time(t)});
      auto expected = v.clone();
      for (int64_t i = 0; i < space.n_variables(); ++i) {
        auto part = expected.narrow(1, space.offset(i), space.n_labels(i));
        const double ratio = path->corner_scale(space.n_labels(i)) * path->at(t).a / std::pow(path->at(t).s, 2);
        part.copy_((form == Form::evidence ? ratio * part : part).softmax(1));
      }
      EXPECT_LT(max_difference(field->shown.W, expected), kRounding);
      EXPECT_EQ(field->shown.t.item<double>(), t);
      // The fused pass in float32 shows the same.
      const Model fused(space, path, form, std::make_shared<FixedField>(noise({20}, 1, torch::kFloat32)));
      EXPECT_LT(max_difference(fused.network_input({v.to(torch::kFloat32), one_time(t, torch::kFloat32)}), expected),
                kSingleTol);
    }
}

TEST(Model, VelocityFormIsTheProjectedNetwork) {
  const Space space = mixed_space();
  const auto output = noise({20});
  const auto v = tangent_noise(space, 4);
  for (const auto& [path, t] : both_paths()) {
    const Model model(space, path, Form::velocity, std::make_shared<FixedField>(output.clone()));
    const auto F = model.velocity({v, one_time(t)});
    EXPECT_LT(max_difference(F, project(space, output).expand({4, 20})), kRounding);
    EXPECT_LT(max_difference(velocity_from_endpoint(*path, model.endpoint({v, one_time(t)}), v, one_time(t)), F),
              kRounding);
    EXPECT_THROW(model.logits({v, one_time(t)}), Error);
  }
}

TEST(Model, EndpointFormTurnsLogitsIntoTheMeanCorner) {
  const Space space = mixed_space();
  const auto output = noise({20});
  const auto v = tangent_noise(space, 1);
  for (const auto& [path, t] : both_paths()) {
    const Model model(space, path, Form::endpoint, std::make_shared<FixedField>(output.clone()));
    const auto D = model.endpoint({v, one_time(t)});
    for (int64_t i = 0; i < space.n_variables(); ++i) {
      const int64_t c = space.n_labels(i);
      const auto pi = output.narrow(0, space.offset(i), c).softmax(0);
      const auto expected = path->corner_scale(c) * (pi - 1.0 / static_cast<double>(c));
      EXPECT_LT(max_difference(D[0].narrow(0, space.offset(i), c), expected), kRounding);
    }
    EXPECT_EQ(model.evidence_ratio(one_time(t)).numel(), 0);
  }
}

TEST(Model, EvidenceFormAddsTheEvidence) {
  const Space space = mixed_space();
  const auto output = noise({20});
  const auto v = tangent_noise(space, 4);
  for (const auto& [path, t] : both_paths()) {
    const Model evidence(space, path, Form::evidence, std::make_shared<FixedField>(output.clone()));
    const auto e = v * evidence_scale(space, *path, one_time(t));
    EXPECT_LT(max_difference(evidence.logits({v, one_time(t)}), output + e), kRounding);
    // An endpoint model whose network gives those logits is the same flow.
    const auto row = (output + e)[2];
    const Model endpoint(space, path, Form::endpoint, std::make_shared<FixedField>(row.clone()));
    const auto at = v.narrow(0, 2, 1);
    EXPECT_LT(max_difference(endpoint.velocity({at, one_time(t)}), evidence.velocity({at, one_time(t)})),
              10 * kRounding);
  }
}

// Four items of the mixed space: some variables known, none, some left out, only one to be found; and soft evidence.
Known some_knowledge() {
  return {.labels = torch::tensor({{1, -1, 4, -1, -1}, {-1, -1, -1, -1, -1}, {-2, 2, -1, -2, -1}, {0, 0, 0, -1, 6}},
                                  torch::kInt64),
          .soft = noise({4, 20}, 5)};
}

TEST(Model, ShowsTheNetworkWhatIsKnown) {
  const Space space = mixed_space();
  const auto v = tangent_noise(space, 4);
  for (const auto& [path, t] : both_paths()) {
    const auto times = t * (0.5 + 0.1 * torch::arange(20, torch::kFloat64).view({4, 5}).remainder(7));  // of variables
    for (const Known& known : {some_knowledge(), Known{.labels = some_knowledge().labels}}) {
      const auto field = std::make_shared<FixedField>(noise({20}));
      const Model model(space, path, Form::evidence, field);
      const State state{v, times, known};
      const auto D = model.endpoint(state);
      const auto logits = model.logits(state);
      for (int64_t b = 0; b < 4; ++b)
        for (int64_t i = 0; i < 5; ++i) {
          SCOPED_TRACE(concat(path->name(), ", item ", b, ", variable ", i));
          const int64_t c = space.n_labels(i);
          const auto part = [&](const torch::Tensor& x) { return x.detach()[b].narrow(0, space.offset(i), c); };
          const auto mark = known.labels[b][i].item<int64_t>();
          const auto at = path->at(times[b][i].item<double>());
          const double ratio = mark == kUnknown ? path->corner_scale(c) * at.a / (at.s * at.s) : 0.0;
          auto e = ratio * part(v);
          if (known.soft.defined()) e = e + part(known.soft);
          const auto corner = (torch::arange(c) == mark).to(torch::kFloat64);
          EXPECT_LT(max_difference(part(field->shown.W), mark >= 0 ? corner : e.softmax(0)), kRounding);
          const auto pi = (field->parameters()[0].second.detach().narrow(0, space.offset(i), c) + e).softmax(0);
          const auto open = path->corner_scale(c) * (pi - 1.0 / static_cast<double>(c));
          EXPECT_LT(max_difference(part(D), mark == kUnknown ? open : torch::zeros_like(open)), kRounding);
          if (mark == kUnknown) {
            EXPECT_LT(max_difference(part(logits).softmax(0), pi), kRounding);
          }
        }
      // The fused pass in float32 shows the same.
      const Model fused(space, path, Form::evidence, std::make_shared<FixedField>(noise({20}, 1, torch::kFloat32)));
      const State single{v.to(torch::kFloat32), times.to(torch::kFloat32), known.to(torch::kFloat32)};
      EXPECT_LT(max_difference(fused.network_input(single), field->shown.W), kSingleTol);
    }
  }
}

TEST(Model, TellsTheNetworkTheMeanTimeOfTheVariablesToBeFound) {
  const Space space = mixed_space();
  const auto v = tangent_noise(space, 4);
  for (const auto& [path, t] : both_paths()) {
    const Model model(space, path, Form::evidence, std::make_shared<FixedField>(noise({20})));
    const auto times = t * (0.5 + 0.1 * torch::arange(20, torch::kFloat64).view({4, 5}).remainder(7));
    EXPECT_LT(max_difference(model.network_time({v, times}), times.mean(1)), kRounding);
    const Known known{.labels = some_knowledge().labels};
    const auto open = (known.labels == kUnknown).to(torch::kFloat64);
    EXPECT_LT(max_difference(model.network_time({v, times, known}), (open * times).sum(1) / open.sum(1)), kRounding);
    EXPECT_EQ(model.network_time({v, one_time(t), known}).item<double>(), t) << "one time stays what it is";
    // Soft evidence that says nothing changes nothing. The times are read off a table of 257 straight pieces, and a/s
    // bends by (1/500)^2/8 times 10 within one.
    const auto nothing = torch::zeros({4, 20}, torch::kFloat64);
    const auto flat = model.network_time({v, one_time(t), {.soft = nothing}});
    EXPECT_LT(max_difference(flat, torch::full({4}, t, torch::kFloat64)), 1e-5 * (1.0 + t));
    // Evidence that says more is as much as a later time.
    const auto weak = model.network_time({v, one_time(t), {.soft = noise({4, 20})}});
    const auto strong = model.network_time({v, one_time(t), {.soft = 3.0 * noise({4, 20})}});
    EXPECT_GT((weak - flat).min().item<double>(), 0.0);
    EXPECT_GT((strong - weak).min().item<double>(), 0.0);
    EXPECT_LE(strong.max().item<double>(), decision_time(space, *path));
  }
}

TEST(Model, OnlyTheEvidenceFormCanBeToldWhatIsKnown) {
  const Space space = mixed_space();
  const auto v = tangent_noise(space, 4);
  const auto path = make_e_geodesic(0.01);
  const auto refusal = [&](Form form) {
    const Model model(space, path, form, std::make_shared<FixedField>(noise({20})));
    return test::input_error([&] { model.velocity_at(v, 0.4, some_knowledge()); });
  };
  const std::string rest = "does not accept known labels; train a model with model.form = \"evidence\"";
  EXPECT_EQ(refusal(Form::velocity), "model.form = \"velocity\" " + rest);
  EXPECT_EQ(refusal(Form::endpoint), "model.form = \"endpoint\" " + rest);
  EXPECT_EQ(refusal(Form::evidence), "");
}

TEST(Model, FusedVelocityEqualsThePlainOne) {
  const Space space = mixed_space();
  NetOptions options;
  options.kind = "latent_class";
  options.of<LatentClassOptions>().classes = 5;
  const auto v = tangent_noise(space, 6);
  for (const auto& [path, t] : both_paths())
    for (const Form form : {Form::velocity, Form::endpoint, Form::evidence}) {
      const Model single(space, path, form, make_field(space, options, 3));
      const auto field = make_field(space, options, 3);
      test::to_double(*field);
      const Model plain(space, path, form, field);
      const auto fused = single.velocity_at(v.to(torch::kFloat32), t);
      EXPECT_FALSE(fused.requires_grad());
      EXPECT_EQ(fused.scalar_type(), torch::kFloat32);
      EXPECT_LT(max_difference(fused, plain.velocity({v, one_time(t)}).detach()), kSingleTol);
      EXPECT_LT(max_difference(plain.velocity_at(v, t), plain.velocity({v, one_time(t)}).detach()), kRounding);
    }
}

TEST(Model, FusedVelocityWithWhatIsKnownEqualsThePlainOne) {
  const Space space = mixed_space();
  NetOptions options;
  options.kind = "latent_class";
  options.of<LatentClassOptions>().classes = 5;
  const auto v = tangent_noise(space, 4);
  const Known both = some_knowledge();
  for (const auto& [path, t] : both_paths())
    for (const Known& known : {both, Known{.labels = both.labels}, Known{.soft = both.soft}}) {
      const Model single(space, path, Form::evidence, make_field(space, options, 3));
      const auto field = make_field(space, options, 3);
      test::to_double(*field);
      const Model plain(space, path, Form::evidence, field);
      const auto expected = plain.velocity({v, one_time(t), known}).detach();
      EXPECT_LT(max_difference(plain.velocity_at(v, t, known), expected), kRounding);
      const auto fused = single.velocity_at(v.to(torch::kFloat32), t, known.to(torch::kFloat32));
      EXPECT_LT(max_difference(fused, expected), kSingleTol);
      EXPECT_TRUE(torch::equal(only_open(space, known, fused), fused)) << "0 where the flow carries nothing";
    }
}

TEST(Model, VelocityIsTangent) {
  const Space space = mixed_space();
  const auto v = tangent_noise(space, 4);
  for (const auto& [path, t] : both_paths())
    for (const Form form : {Form::velocity, Form::endpoint, Form::evidence}) {
      const Model model(space, path, form, std::make_shared<FixedField>(noise({20})));
      const auto F = model.velocity({v, one_time(t)});
      EXPECT_LT(max_difference(project(space, F), F), kRounding);
    }
}

// The table P as a mixture of products: each class is certain of variable 1's label and has P(x_2 | x_1).
std::shared_ptr<Field> field_of_table(const JointTable& table, int64_t c_1, int64_t c_2) {
  NetOptions options;
  options.kind = "latent_class";
  options.of<LatentClassOptions>().classes = c_1;
  auto field = make_field(table.space, options, 1);
  test::to_double(*field);
  const torch::NoGradGuard no_grad;
  const auto P = table.p.view({c_1, c_2});
  constexpr double kNever = -200.0;  // e^-200: no other label
  field->parameters()[0].second.copy_(P.sum(1).log());
  auto labels = field->parameters()[1].second;
  labels.narrow(1, 0, c_1).copy_(kNever * (1.0 - torch::eye(c_1, torch::kFloat64)));
  labels.narrow(1, c_1, c_2).copy_(P.log());
  return field;
}

TEST(Model, EvidenceFormWithTheExactTableIsTheExactFlow) {
  const Space space = test::space_of({3, 4});
  const auto table = test::random_joint(space);
  for (const auto& [path, middle] : both_paths()) {
    const JointOracle oracle(table, path);
    const Model model(space, path, Form::evidence, field_of_table(table, 3, 4));
    for (const double t : {0.0, 0.25 * middle, middle, 1.3 * middle}) {
      const auto v = tangent_noise(space, 32, 7);
      EXPECT_LT(max_difference(model.velocity({v, one_time(t)}).detach(), oracle.velocity(v, t)), 1e-10)
          << path->name() << t;
      EXPECT_LT(max_difference(model.endpoint({v, one_time(t)}).detach(), oracle.endpoint(v, t)), 1e-10)
          << path->name() << t;
    }
  }
}

// The mixture's messages are exact for whatever it is told: labels, their absence, soft evidence, times of variables.
TEST(Model, EvidenceFormWithTheExactTableIsExactGivenWhatIsKnown) {
  const Space space = test::space_of({3, 4});
  const auto table = test::random_joint(space);
  const auto v = tangent_noise(space, 5, 7);
  const Known known{.labels = torch::tensor({{-1, -1}, {2, -1}, {-1, 3}, {-2, -1}, {-1, -2}}, torch::kInt64),
                    .soft = noise({5, 7}, 8)};
  for (const auto& [path, middle] : both_paths()) {
    const JointOracle oracle(table, path);
    const Model model(space, path, Form::evidence, field_of_table(table, 3, 4));
    const auto times =
        middle * torch::tensor({{0.2, 0.9}, {0.0, 0.5}, {1.0, 0.3}, {0.4, 0.4}, {1.2, 0.1}}, torch::kFloat64);
    for (const Known& told : {known, Known{.labels = known.labels}, Known{.soft = known.soft}})
      for (const auto& t : {times, one_time(middle)})
        EXPECT_LT(max_difference(model.endpoint({v, t, told}).detach(), oracle.endpoint({v, t, told})), 1e-10)
            << path->name() << ' ' << t.dim();
  }
}

TEST(Model, UntrainedMlpInTheEvidenceFormKnowsBayesRuleForIndependentVariables) {
  const Space space = test::space_of({3, 4});
  const auto labelings = enumerate_labelings(space);
  const auto uniform = make_joint_table(space, labelings, torch::ones({12}, torch::kFloat64));
  NetOptions options;
  options.kind = "mlp";
  options.of<MlpOptions>().hidden = {8};
  const auto field = make_field(space, options, 1);
  test::to_double(*field);
  const auto [path, t] = both_paths().front();
  const auto v = tangent_noise(space, 8);
  const Model model(space, path, Form::evidence, field);
  EXPECT_LT(max_difference(model.velocity({v, one_time(t)}).detach(), JointOracle(uniform, path).velocity(v, t)),
            1e-10);
}

TEST(Model, VelocityOnCudaEqualsTheCpu_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const Space space = test::space_of({3, 4});
  const auto table = test::random_joint(space);
  const auto [path, t] = both_paths().front();
  const auto field = field_of_table(table, 3, 4);
  field->to(torch::kCUDA);
  const Model model(space, path, Form::evidence, field);
  const auto v = tangent_noise(space, 32);
  EXPECT_LT(max_difference(model.velocity_at(v.cuda(), t).cpu(), JointOracle(table, path).velocity(v, t)), 1e-10);
}

TEST(Model, NeedsANetworkWithParametersAndAPath) {
  class Nothing final : public Field {
   public:
    torch::Tensor forward(const FieldInput& input) override { return input.W; }
    int64_t n_activations() const override { return 0; }
  };
  const Space space = mixed_space();
  const auto path = make_e_geodesic(0.01);
  const auto refusal = [&](const std::shared_ptr<const Path>& along, const std::shared_ptr<Field>& field) {
    return test::input_error([&] { Model(space, along, Form::velocity, field); });
  };
  EXPECT_EQ(refusal(path, nullptr), "a model needs a network, found none");
  EXPECT_EQ(refusal(path, std::make_shared<Nothing>()), "a model needs a network with parameters, found one without");
  EXPECT_EQ(refusal(nullptr, std::make_shared<FixedField>(noise({20}))), "a model needs a path, found none");
}

TEST(Model, SaysWhatANetworkOfAnotherShapeGave) {
  const Space space = mixed_space();  // 20 coordinates
  const Model model(space, make_e_geodesic(0.01), Form::evidence, std::make_shared<FixedField>(noise({19})));
  EXPECT_EQ(test::any_error([&] { model.velocity_at(tangent_noise(space, 4), 0.5); }),
            "the network returned double of shape [4, 19], but double of shape [4, 20] was expected");
}

}  // namespace
}  // namespace segre::model_test
