// What trained networks of every kind say about rows with holes, compared with the exact conditionals of a known joint
// distribution: hard and soft evidence, labels excluded by log-likelihoods of -1e4 or minus infinity, holes anywhere.

#include <limits>

#include "segre/flow/sampler.h"
#include "segre/model/joint_oracle.h"
#include "segre/net/latent_class.h"
#include "segre/net/mlp.h"
#include "segre/net/net_kinds.h"
#include "segre/net/residual.h"
#include "segre/net/transformer.h"
#include "segre/net/unet.h"
#include "segre/path/e_geodesic.h"
#include "segre/space/blocks.h"
#include "segre/train/trainer.h"
#include "tests/support/support.h"
#include "tests/support/threads.h"

namespace segre::network_conditionals_test {
namespace {

constexpr int64_t kRows = 256;
// What a training of seconds may leave, in nats: several times what is seen (at most 0.01 and 0.15). Knowing nothing of
// the others costs 0.37 nats of y, and answers at chance cost more.
constexpr double kMostOnAverage = 0.03;
constexpr double kMost = 0.4;
constexpr int64_t kSteps = 1200;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// y = a xor b in nine cases out of ten, and c tells nothing. The last label of every variable means a missing value; in
// one case out of five it replaces the variable's own.
JointTable xor_with_holes(const Space& space) {
  const int64_t n_idle = space.n_labels(2) - 1;
  const auto labelings = enumerate_labelings(space);
  auto p = torch::zeros({labelings.size(0)}, torch::kFloat64);
  const auto holes = [&](const torch::Tensor& row, int64_t i, int64_t label) {
    const auto found = row[i].item<int64_t>();
    return found == space.n_labels(i) - 1 ? 0.2 : found == label ? 0.8 : 0.0;
  };
  for (int64_t r = 0; r < labelings.size(0); ++r)
    for (int64_t a = 0; a < 2; ++a)
      for (int64_t b = 0; b < 2; ++b)
        for (int64_t c = 0; c < n_idle; ++c)
          for (int64_t y = 0; y < 2; ++y)
            p[r] += (y == (a ^ b) ? 0.9 : 0.1) / static_cast<double>(8 * n_idle) * holes(labelings[r], 0, a) *
                    holes(labelings[r], 1, b) * holes(labelings[r], 2, c) * holes(labelings[r], 3, y);
  return make_joint_table(space, labelings, p);
}

const Space& columns() {
  static const Space space = Space::table({{"a", 3, {}}, {"b", 3, {}}, {"c", 4, {}}, {"y", 3, {}}});
  return space;
}

const Space& pixels() {
  static const Space space = Space::image(2, 2, 3);
  return space;
}

// What an image shows decides how likely each pixel is on.
JointTable drawn_classes() {
  const Space space = test::image_with_class();
  const double share[] = {0.5, 0.3, 0.2};
  const double on[][6] = {
      {0.8, 0.8, 0.8, 0.2, 0.2, 0.2}, {0.2, 0.2, 0.2, 0.2, 0.8, 0.2}, {0.7, 0.4, 0.7, 0.7, 0.4, 0.7}};
  const auto labelings = enumerate_labelings(space);
  auto p = torch::empty({labelings.size(0)}, torch::kFloat64);
  for (int64_t r = 0; r < labelings.size(0); ++r) {
    const auto shown = labelings[r][6].item<int64_t>();
    double of_all = share[shown];
    for (int64_t i = 0; i < 6; ++i)
      of_all *= labelings[r][i].item<int64_t>() == 1 ? on[shown][i] : 1.0 - on[shown][i];
    p[r] = of_all;
  }
  return make_joint_table(space, labelings, p);
}

struct Trained {
  std::string name;
  JointTable joint;
  Model model;
};

Trained train(const std::string& name, const NetOptions& net, const JointTable& joint = xor_with_holes(columns()),
              int64_t steps = kSteps) {
  const test::Threads one_thread(1);
  const auto source = make_joint_source(joint);
  const Model model(source->space(), make_e_geodesic(0.01), Form::evidence, make_field(source->space(), net, 1));
  model.field().fit(*source);
  TrainOptions options;
  options.steps = steps;
  options.batch = 256;
  options.schedule.lr = 3e-3;
  options.evidence.kind = EvidenceKind::any;
  Trainer trainer(model, *source, options, 1);
  while (trainer.n_steps() < steps) trainer.step();
  load_weights(model.field(), trainer.state(), /*averaged=*/true);
  return {name, joint, model};
}

NetOptions net_of(const std::string& kind) {
  NetOptions net;
  net.kind = kind;
  net.of<MlpOptions>().hidden = {64, 64};
  net.of<LatentClassOptions>().classes = 32;
  net.of<ResidualOptions>().blocks = 2;
  net.of<ResidualOptions>().width = 64;
  net.of<TransformerOptions>().layers = 2;
  net.of<TransformerOptions>().width = 32;
  net.of<TransformerOptions>().heads = 2;
  net.of<UNetOptions>().channels = 16;
  net.of<UNetOptions>().channel_mult = {1};
  net.of<UNetOptions>().res_blocks = 1;
  return net;
}

const std::vector<Trained>& networks() {
  static const std::vector<Trained> all = [] {
    auto on_a_tree = net_of("residual");
    on_a_tree.of<ResidualOptions>().tree = true;
    return std::vector<Trained>{train("mlp", net_of("mlp")),
                                train("latent_class", net_of("latent_class")),
                                train("residual", net_of("residual")),
                                train("residual on a tree", on_a_tree),
                                train("transformer", net_of("transformer")),
                                train("unet", net_of("unet"), xor_with_holes(pixels()))};
  }();
  return all;
}

// Of every kind that accepts any space, of an image and its class.
const std::vector<Trained>& networks_of_parts() {
  static const std::vector<Trained> all = [] {
    auto on_a_tree = net_of("residual");
    on_a_tree.of<ResidualOptions>().tree = true;
    const JointTable joint = drawn_classes();
    return std::vector<Trained>{
        train("mlp", net_of("mlp"), joint), train("latent_class", net_of("latent_class"), joint, 3 * kSteps),  // products separate slowly
        train("residual on a tree", on_a_tree, joint), train("transformer", net_of("transformer"), joint),
        train("tree", net_of("tree"), joint)};
  }();
  return all;
}

// Rows of the joint with holes in every column, each variable unknown half of the time.
torch::Tensor rows_with_holes(const JointTable& table) {
  const auto labels = make_joint_source(table)->items({7, Purpose::probe}, 0, kRows);
  const auto u = fill_uniform(torch::empty(labels.sizes()), {8, Purpose::probe}, 0);
  return labels.masked_fill(u < 0.5, kUnknown);
}

// Log-likelihoods [B, S] that exclude the last label of every unknown variable.
torch::Tensor no_missing_values(const Space& space, const torch::Tensor& labels, double behind) {
  auto soft = torch::zeros({labels.size(0), space.n_coordinates()}, torch::kFloat64);
  for (int64_t i = 0; i < space.n_variables(); ++i)
    soft.select(1, space.offset(i) + space.n_labels(i) - 1).masked_fill_(labels.select(1, i) == kUnknown, behind);
  return soft;
}

torch::Tensor moderate_evidence(const Space& space) { return 1.5 * test::noise({kRows, space.n_coordinates()}, 11); }

// The divergence of what a network says from the truth, over the unknown variables: its mean and its largest, in nats.
struct Divergence {
  double mean, largest;
};

Divergence divergence(const Trained& network, const Known& known) {
  const JointOracle oracle(network.joint, make_e_geodesic(0.01));
  const Space& space = network.joint.space;
  const auto nowhere = torch::zeros({kRows, space.n_coordinates()}, torch::kFloat64);
  Known finite = known;  // the oracle multiplies by zeros
  if (finite.soft.defined()) finite.soft = finite.soft.clamp_min(-1e6);
  const auto exact = oracle.posterior_marginals({nowhere, torch::zeros({1}, torch::kFloat64), finite});
  const auto found = Sampler(network.model, {}, 1).probabilities(known, 0);
  const auto nats = reduce_blocks(space, {exact, found}, [](const auto& in) {
    return (in[0] * (in[0].clamp_min(1e-300).log() - in[1].clamp_min(1e-300).log())).sum(-1);
  });
  const auto open = nats.masked_select(known.labels == kUnknown);
  return {open.mean().template item<double>(), open.max().template item<double>()};
}

void expect_close(const std::function<Known(const JointTable&)>& ask, const std::string& question,
                  const std::vector<Trained>& trained = networks()) {
  for (const Trained& network : trained) {
    const Divergence d = divergence(network, ask(network.joint));
    EXPECT_LT(d.mean, kMostOnAverage) << network.name << ", " << question;
    EXPECT_LT(d.largest, kMost) << network.name << ", " << question;
  }
}

TEST(NetworkConditionals, KnownLabelsAndHoles) {
  expect_close([](const JointTable& joint) -> Known { return {.labels = rows_with_holes(joint)}; }, "known labels");
}

TEST(NetworkConditionals, OfAnImageAndItsClass) {
  expect_close([](const JointTable& joint) -> Known { return {.labels = rows_with_holes(joint)}; }, "known labels",
               networks_of_parts());
  const auto soft = [](const JointTable& joint) -> Known {
    return {.labels = rows_with_holes(joint), .soft = moderate_evidence(joint.space)};
  };
  expect_close(soft, "soft evidence", networks_of_parts());
  const auto only_class = [](const JointTable& joint) -> Known {
    auto labels = rows_with_holes(joint).clamp_min(0);
    labels.slice(1, 0, 6).fill_(kUnknown);
    return {.labels = labels};
  };
  expect_close(only_class, "the class alone", networks_of_parts());
  const auto only_image = [](const JointTable& joint) -> Known {
    auto labels = rows_with_holes(joint).clamp_min(0);
    labels.select(1, 6).fill_(kUnknown);
    return {.labels = labels};
  };
  expect_close(only_image, "the image alone", networks_of_parts());
}

TEST(NetworkConditionals, ExcludedLabelsDrownNothing) {
  for (const double behind : {-10.0, -1e4, -kInfinity}) {
    const auto ask = [&](const JointTable& joint) -> Known {
      const auto labels = rows_with_holes(joint);
      return {.labels = labels, .soft = no_missing_values(joint.space, labels, behind)};
    };
    expect_close(ask, concat("excluded by ", behind));
  }
}

TEST(NetworkConditionals, SoftEvidenceAddsUp) {
  for (const double behind : {0.0, -kInfinity}) {
    const auto ask = [&](const JointTable& joint) -> Known {
      const auto labels = rows_with_holes(joint);
      return {.labels = labels,
              .soft = moderate_evidence(joint.space) + no_missing_values(joint.space, labels, behind)};
    };
    expect_close(ask, concat("soft, labels of missing values ", behind));
  }
}

TEST(NetworkConditionals, AConstantPerVariableSaysNothing) {
  for (const Trained& network : networks()) {
    const Space& space = network.joint.space;
    const auto labels = rows_with_holes(network.joint);
    const auto soft = moderate_evidence(space);
    const auto shift = spread(space, 50.0 * test::noise({kRows, space.n_variables()}, 12));
    const Sampler sampler(network.model, {}, 1);
    const auto plain = sampler.probabilities({.labels = labels, .soft = soft}, 0);
    const auto shifted = sampler.probabilities({.labels = labels, .soft = soft + shift}, 0);
    // The sum of 100 nats and a log-likelihood is rounded to 4e-6 in float32, and so are its gradients' few factors.
    EXPECT_LT(test::max_difference(plain, shifted), 1e-4) << network.name;
  }
}

TEST(NetworkConditionals, ExcludedLabelsAreNeverDrawn) {
  for (const Trained& network : networks()) {
    const Space& space = network.joint.space;
    const auto labels = rows_with_holes(network.joint);
    const Known known{.labels = labels, .soft = no_missing_values(space, labels, -kInfinity)};
    for (const char* sampler : {"rk4", "sde", "erasure"}) {
      const auto drawn = Sampler(network.model, {.sampler = sampler}, 1).complete(known, 0, 0).labels;
      for (int64_t i = 0; i < space.n_variables(); ++i) {
        const auto excluded =
            (drawn.select(1, i) == space.n_labels(i) - 1).logical_and(labels.select(1, i) == kUnknown);
        EXPECT_EQ(excluded.sum().item<int64_t>(), 0) << network.name << ", " << sampler;
      }
    }
  }
}

}  // namespace
}  // namespace segre::network_conditionals_test
