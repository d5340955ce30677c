#include <cmath>

#include "segre/net/net_kinds.h"
#include "segre/net/residual.h"
#include "segre/net/transformer.h"
#include "tests/net/evidence_input.h"
#include "tests/support/messages.h"
#include "tests/support/reference.h"
#include "tests/support/statistics.h"
#include "tests/support/threads.h"

// What residual networks and transformers have in common.

namespace segre::evidence_nets_test {
namespace {

using test::max_difference;
using test::noise;
using test::numbered;
using test::randomise;
using test::Row;
using test::rows_of;
using test::some_evidence;

struct Case {
  std::string kind;
  Space space;
};

// A table whose columns are not in the order of its blocks, a sequence and an image.
std::vector<Case> cases() {
  const Space table = test::space_of({3, 2, 3});
  return {{"residual", table},
          {"transformer", table},
          {"transformer", Space::sequence(4, 3)},
          {"transformer", Space::image(2, 2, 3)}};
}

std::string name_of(const Case& c) { return c.kind + " for the " + c.space.describe(); }

NetOptions options_of(const std::string& kind, double dropout = 0.0) {
  NetOptions options;
  options.kind = kind;
  options.dropout = dropout;
  options.of<ResidualOptions>() = {.blocks = 2, .width = 6};
  options.of<TransformerOptions>() = {.layers = 2, .width = 8, .heads = 2};
  return options;
}

std::shared_ptr<Field> random_field(const Case& c, double dropout = 0.0) {
  auto field = make_field(c.space, options_of(c.kind, dropout), 1);
  randomise(*field);
  return field;
}

// log of (count + 1/c) / (total + 1) by loops, over all variables together if they share their labels.
Row log_frequencies_by_loops(const Space& space, const torch::Tensor& labels, bool shared) {
  Row out;
  for (int64_t i = 0; i < space.n_variables(); ++i)
    for (int64_t j = 0; j < space.n_labels(i); ++j) {
      double count = 0.0;
      double total = 0.0;
      for (int64_t r = 0; r < labels.size(0); ++r)
        for (int64_t k = 0; k < space.n_variables(); ++k) {
          const auto label = labels[r][k].item<int64_t>();
          if ((k != i && !shared) || label == kUnknown) continue;
          total += 1.0;
          count += label == j ? 1.0 : 0.0;
        }
      out.push_back(std::log((count + 1.0 / static_cast<double>(space.n_labels(i))) / (total + 1.0)));
    }
  return out;
}

TEST(EvidenceNets, StartAtTheLabelsLogFrequencies) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(name_of(c));
    auto labels = test::some_labels(c.space, 30);
    labels[3][1] = kUnknown;
    labels[7][0] = kUnknown;
    const auto source = make_dataset_source({.space = c.space, .labels = labels, .unknowns = Unknowns::allow});
    const auto field = make_field(c.space, options_of(c.kind), 1);
    const auto input = some_evidence(c.space, 3, torch::kFloat32);
    EXPECT_EQ(field->forward(input).abs().max().item<double>(), 0.0);
    field->fit(*source);
    const bool shared = c.space.is(PartKind::sequence);
    const auto wanted = test::tensor_of(log_frequencies_by_loops(c.space, labels, shared));
    EXPECT_LT(max_difference(field->forward(input), wanted.expand({3, c.space.n_coordinates()})), 1e-6);  // of float32
  }
}

TEST(EvidenceNets, GradientsEqualFiniteDifferences) {
  const test::Threads one_thread(1);
  // Central differences with h = 1e-6: h^2 times third derivatives of size 1e3, and rounding of losses of size 100,
  // 1e-14 / h. ReLU kinks are further away.
  constexpr double kShift = 1e-6;
  constexpr double kDifferenceTol = 1e-6;
  for (const Case& c : cases()) {
    SCOPED_TRACE(name_of(c));
    NetOptions options = options_of(c.kind);
    if (!c.space.is(PartKind::columns)) options.of<TransformerOptions>().layers = 1;  // the table has two
    const auto field = make_field(c.space, options, 1);
    test::to_double(*field);
    randomise(*field);
    const auto input = some_evidence(c.space, 3);
    const auto direction = noise({3, c.space.n_coordinates()}, 3);
    const auto loss = [&] { return (field->forward(input) * direction).sum(); };
    loss().backward();
    for (const auto& [name, parameter] : field->parameters())
      EXPECT_GT(parameter.grad().abs().max().item<double>(), 1e-3) << name;
    EXPECT_LT(test::gradient_error(
                  *field, [&] { return loss().item<double>(); }, kShift),
              kDifferenceTol);
  }
}

// Relative to the largest: float32 products that another batch adds in another order, through two layers.
constexpr double kOrderTol = 1e-5;

TEST(EvidenceNets, ItemsDoNotInfluenceEachOther) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(name_of(c));
    const auto field = random_field(c);
    const auto input = some_evidence(c.space, 7, torch::kFloat32);
    const auto together = field->forward(input).detach();
    for (int64_t b = 0; b < 7; ++b)
      EXPECT_LT(max_difference(field->forward(rows_of(input, b, b + 1)), together.slice(0, b, b + 1)),
                kOrderTol * together.abs().max().item<double>())
          << b;
  }
}

// Float32 is fused, float64 is plain LibTorch: the same network, the same dropped numbers, the same gradients.
TEST(EvidenceNets, FusedOperationsEqualThePlainOnesBothWays) {
  constexpr double kSingleTol = 1e-4;  // relative to the largest entry: float32 through two layers and back
  const test::Threads one_thread(1);
  for (const double dropout : {0.0, 0.25})
    for (const Case& c : cases()) {
      SCOPED_TRACE(concat(name_of(c), ", dropout ", dropout));
      const auto single = random_field(c, dropout);
      const auto exact = random_field(c, dropout);
      test::to_double(*exact);
      const auto input = some_evidence(c.space, 5, torch::kFloat32);
      const FieldInput same{.W = input.W.to(torch::kFloat64),
                            .t = input.t.to(torch::kFloat64),
                            .strength = input.strength.to(torch::kFloat64),
                            .standardised = input.standardised.to(torch::kFloat64)};
      const auto direction = noise({5, c.space.n_coordinates()}, 3);
      single->set_training(true);
      exact->set_training(true);
      const auto found = single->forward(numbered(input, 40));
      const auto wanted = exact->forward(numbered(same, 40));
      EXPECT_LT(max_difference(found, wanted), kSingleTol * wanted.abs().max().item<double>());
      (found * direction.to(torch::kFloat32)).sum().backward();
      (wanted * direction).sum().backward();
      for (size_t k = 0; k < exact->parameters().size(); ++k) {
        const auto& [name, parameter] = exact->parameters()[k];
        const double scale = std::max(1.0, parameter.grad().abs().max().item<double>());
        EXPECT_LT(max_difference(single->parameters()[k].second.grad(), parameter.grad()), kSingleTol * scale) << name;
      }
    }
}

TEST(EvidenceNets, OnlyTrainingDropsAndOnlyNumberedItems) {
  const test::Threads one_thread(1);
  for (const Case& c : cases()) {
    SCOPED_TRACE(name_of(c));
    const auto field = random_field(c, 0.25);
    const auto input = some_evidence(c.space, 5, torch::kFloat32);
    const auto whole = field->forward(input);
    EXPECT_TRUE(torch::equal(field->forward(numbered(input, 40)), whole));
    field->set_training(true);
    EXPECT_TRUE(torch::equal(field->forward(input), whole));
    const auto dropped = field->forward(numbered(input, 40));
    EXPECT_GT(max_difference(dropped, whole), 1e-3);
    field->set_training(false);
    EXPECT_TRUE(torch::equal(field->forward(numbered(input, 40)), whole));
    const auto without = random_field(c);
    without->set_training(true);
    EXPECT_TRUE(torch::equal(without->forward(numbered(input, 40)), whole));
  }
}

TEST(EvidenceNets, WhatIsDroppedDependsOnTheItemsNumberAlone) {
  const test::Threads one_thread(1);
  for (const Case& c : cases()) {
    SCOPED_TRACE(name_of(c));
    const auto field = random_field(c, 0.25);
    field->set_training(true);
    const auto input = some_evidence(c.space, 9, torch::kFloat32);
    const auto all = field->forward(numbered(input, 40)).detach();
    EXPECT_TRUE(torch::equal(field->forward(numbered(input, 40)), all));
    EXPECT_GT(max_difference(field->forward(numbered(input, 41)), all), 1e-3);
    const auto some = field->forward(numbered(rows_of(input, 3, 8), 43));
    EXPECT_LT(max_difference(some, all.slice(0, 3, 8)), kOrderTol * all.abs().max().item<double>());
  }
}

// A network of eight labels whose two layers each add 1 to a stream of 1,000s, label by label; its logits show the
// stream.
std::shared_ptr<Field> counting_field(const std::string& kind, double dropout) {
  constexpr double kStream = 1000.0;
  const Space space = test::space_of({8});
  NetOptions options = options_of(kind, dropout);
  options.of<ResidualOptions>().width = 8;
  const auto field = make_field(space, options, 1);
  test::to_double(*field);
  const torch::NoGradGuard no_grad;
  const auto set = [&](const std::string& name, const torch::Tensor& value) {
    const auto& parameter = test::named(field->parameters(), name);
    parameter.copy_(value.expand_as(parameter));
  };
  const auto all = [](double value) { return torch::full({1}, value, torch::kFloat64); };
  for (const auto& [name, parameter] : field->parameters())
    if (name.find("norm") == std::string::npos) parameter.zero_();
  const auto identity = torch::eye(8, torch::kFloat64);
  if (kind == "residual") {
    set("in.bias", all(kStream));
    set("out.weight", kStream * identity);
  } else {
    set("position", all(kStream));
    set("labels", identity);
    set("out", kStream * identity);
  }
  for (int64_t k = 0; k < 2; ++k) {
    if (kind == "residual") {
      set(concat("block", k, ".up.bias"), all(1.0));
      set(concat("block", k, ".down.weight"), all(1.0 / 8.0));
      continue;
    }
    const std::string layer = concat("layer", k, ".");
    const auto hidden = test::named(field->parameters(), layer + "down").size(1);
    auto up = torch::full({2 * hidden, 1}, 1.0 / 8.0, torch::kFloat64);  // the stream is normalised to 1
    up.slice(0, 0, hidden).mul_(10.0);                                   // and silu(10) is 10
    set(layer + "up", up);
    set(layer + "down", all(0.1 / static_cast<double>(hidden)));
  }
  return field;
}

// With dropout 1/2 each label keeps what none, one or both of the layers add, twice: an even or odd number by chance.
TEST(EvidenceNets, LayersDropDifferentNumbers) {
  constexpr int64_t kItems = 500;
  for (const char* kind : {"residual", "transformer"}) {
    const auto field = counting_field(kind, 0.5);
    field->set_training(true);
    const auto input = numbered(some_evidence(test::space_of({8}), kItems), 40);
    FieldInput same = input;  // what the evidence says is the same for all labels
    same.W = torch::full_like(input.W, 1.0 / 8.0);
    same.standardised = torch::zeros_like(input.standardised);
    const auto out = field->forward(same).detach();
    const auto count = (0.5 * (out - out.select(1, 0).unsqueeze(1)).narrow(1, 1, 7)).round();  // 2 each, and rms 1.001
    for (const double difference : {-2.0, -1.0, 0.0, 1.0, 2.0}) {
      // Differences of two sums of two coins.
      const double p[] = {3.0 / 8.0, 1.0 / 4.0, 1.0 / 16.0};
      const double wanted = p[static_cast<int>(std::abs(difference))];
      const double share = (count == difference).to(torch::kFloat64).mean().item<double>();
      // Seven labels of an item are compared with the same one.
      EXPECT_NEAR(share, wanted, test::kSigmas * std::sqrt(wanted * (1.0 - wanted) / kItems))
          << kind << ", " << difference;
    }
  }
}

TEST(EvidenceNets, TheTrainingsSeedDecidesWhatIsDropped) {
  const test::Threads one_thread(1);
  for (const Case& c : cases()) {
    SCOPED_TRACE(name_of(c));
    auto input = numbered(some_evidence(c.space, 5, torch::kFloat32), 40);
    // Networks made with other seeds drop the same, so a loaded checkpoint goes on as before.
    const auto dropped = [&](uint64_t network, uint64_t training) {
      const auto field = make_field(c.space, options_of(c.kind, 0.25), network);
      randomise(*field);
      field->set_training(true);
      input.training.seed = training;
      return field->forward(input);
    };
    EXPECT_TRUE(torch::equal(dropped(1, 1), dropped(2, 1)));
    EXPECT_GT(max_difference(dropped(1, 1), dropped(1, 2)), 1e-3);
  }
}

TEST(EvidenceNets, SayThatTheyNeedEvidence) {
  for (const Case& c : cases()) {
    const auto field = random_field(c);
    const auto W = some_evidence(c.space, 2, torch::kFloat32).W;
    const auto message = test::any_error([&] { field->forward({W, torch::zeros({1})}); });
    EXPECT_TRUE(test::contains(message, "needs evidence: model.form = \"evidence\"")) << name_of(c);
  }
}

TEST(EvidenceNets, AreRefusedBeforeTheyFillTheMemory) {
  const Space space = Space::image(1000, 1000, 256);
  for (const std::string kind : {"residual", "transformer", "tree"}) {
    NetOptions options = options_of(kind);
    options.of<ResidualOptions>() = {.blocks = 200, .width = 65'536};
    options.of<TransformerOptions>() = {.layers = 256, .width = 2048, .heads = 4};
    // A transformer shares the labels of an image, so only its positions are many.
    const Space& asked = kind == "transformer" ? Space::image(65'536, 16'384, 2) : space;
    const auto message = test::input_error([&] { make_field(asked, options, 1); });
    EXPECT_TRUE(message.starts_with("a network for the image of ")) << kind << ": " << message;
  }
}

TEST(EvidenceNets, CudaAgreesWithTheCpu_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  // Float64, but for the angles of a sequence's positions, whose sines are float32.
  constexpr double kExactTol = 1e-10;
  constexpr double kAngleTol = 1e-5;
  for (const Case& c : cases()) {
    SCOPED_TRACE(name_of(c));
    const auto field = random_field(c, 0.25);
    test::to_double(*field);
    field->set_training(true);
    const auto input = some_evidence(c.space, 5);
    const auto here = field->forward(numbered(input, 40));
    field->to(torch::kCUDA);
    const FieldInput there{.W = input.W.cuda(),
                           .t = input.t.cuda(),
                           .strength = input.strength.cuda(),
                           .standardised = input.standardised.cuda()};
    EXPECT_LT(max_difference(field->forward(numbered(there, 40)).cpu(), here),
              c.space.is(PartKind::sequence) ? kAngleTol : kExactTol);
  }
}

// Widths that the CUDA kernels support, in the types that training uses.
TEST(EvidenceNets, CudaInShorterTypesAgreesWithTheCpu_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  for (const auto type : {torch::kFloat32, torch::kBFloat16})
    for (const Case& c : cases()) {
      if (type == torch::kBFloat16 && !net_kind(c.kind).reducible) continue;
      SCOPED_TRACE(concat(name_of(c), type == torch::kFloat32 ? " in float32" : " in bfloat16"));
      NetOptions options = options_of(c.kind, 0.25);
      options.of<ResidualOptions>().width = 64;
      options.of<TransformerOptions>().width = 64;
      const auto field = make_field(c.space, options, 1);
      {
        const torch::NoGradGuard no_grad;  // as after some training: layers that do something, but not too much
        for (const auto& [name, parameter] : field->parameters())
          parameter.add_(0.05 * noise(parameter.sizes(), 4, torch::kFloat32));
      }
      field->set_training(true);
      const auto input = some_evidence(c.space, 50, torch::kFloat32);
      const auto here = field->forward(numbered(input, 40)).detach();
      field->to(torch::kCUDA);
      if (type == torch::kBFloat16) field->reduce_precision(type);
      const FieldInput there{.W = input.W.cuda(),
                             .t = input.t.cuda(),
                             .strength = input.strength.cuda(),
                             .standardised = input.standardised.cuda()};
      const auto found = field->forward(numbered(there, 40)).detach();
      EXPECT_EQ(found.scalar_type(), torch::kFloat32);
      // Relative, of all outputs together. bfloat16 rounds by 2^-9 in each of a dozen operations.
      const double apart = (found.cpu() - here).norm().item<double>() / here.norm().item<double>();
      EXPECT_LT(apart, type == torch::kFloat32 ? 1e-4 : 3e-2);
    }
}

}  // namespace
}  // namespace segre::evidence_nets_test
