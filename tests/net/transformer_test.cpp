#include "segre/net/transformer.h"

#include <cmath>

#include "tests/net/evidence_input.h"
#include "tests/support/reference.h"

namespace segre::transformer_test {
namespace {

using test::max_difference;
using test::named;
using test::randomise;
using test::Row;
using test::some_evidence;
using test::values_of;

using Rows = std::vector<Row>;
using Shapes = std::vector<std::pair<std::string, std::vector<int64_t>>>;

NetOptions options_with(const TransformerOptions& own) {
  NetOptions options;
  options.kind = "transformer";
  options.of<TransformerOptions>() = own;
  return options;
}

constexpr TransformerOptions kSmall{.layers = 2, .width = 8, .heads = 2};

std::unique_ptr<TransformerField> random_transformer(const Space& space, const TransformerOptions& own = kSmall) {
  auto field = std::make_unique<TransformerField>(space, options_with(own), 1);
  test::to_double(*field);
  randomise(*field);
  return field;
}

Shapes shapes_of(const Field& field) {
  Shapes out;
  for (const auto& [name, parameter] : field.parameters()) out.emplace_back(name, parameter.sizes().vec());
  return out;
}

void add(Row& to, const Row& x, double factor = 1.0) {
  for (size_t k = 0; k < to.size(); ++k) to[k] += factor * x[k];
}

double dot(const Row& x, const Row& y) {
  double sum = 0.0;
  for (size_t k = 0; k < x.size(); ++k) sum += x[k] * y[k];
  return sum;
}

// The rows of a matrix with `columns` columns.
Rows rows_in(const Row& matrix, size_t columns) {
  Rows out;
  for (size_t at = 0; at < matrix.size(); at += columns)
    out.emplace_back(matrix.begin() + static_cast<std::ptrdiff_t>(at),
                     matrix.begin() + static_cast<std::ptrdiff_t>(at + columns));
  return out;
}

Row product(const Row& matrix, const Row& x) {
  Row out;
  for (const Row& row : rows_in(matrix, x.size())) out.push_back(dot(row, x));
  return out;
}

Row normalised(const Row& x, const Row& gain) {
  const double size = std::sqrt(dot(x, x) / static_cast<double>(x.size()) + 1e-6);
  Row out(x.size());
  for (size_t k = 0; k < x.size(); ++k) out[k] = gain[k] * x[k] / size;
  return out;
}

// silu(a) b for u = [a, b].
Row gated(const Row& u) {
  Row out(u.size() / 2);
  for (size_t k = 0; k < out.size(); ++k) out[k] = u[k] / (1.0 + std::exp(-u[k])) * u[out.size() + k];
  return out;
}

// Number k of the first half and of the second turn together, from one radian per position down to 1e-4.
Row rotated(const Row& x, size_t position) {
  const size_t half = x.size() / 2;
  Row out(x.size());
  for (size_t k = 0; k < half; ++k) {
    const double speed = std::pow(1e4, -static_cast<double>(k) / static_cast<double>(half));
    const double angle = static_cast<double>(position) * speed;
    out[k] = x[k] * std::cos(angle) - x[half + k] * std::sin(angle);
    out[half + k] = x[k] * std::sin(angle) + x[half + k] * std::cos(angle);
  }
  return out;
}

// Each head's mean of the values, weighted with softmax(q k / sqrt(part)); heads side by side.
Rows attended(const Rows& tokens, const Row& qkv, size_t heads, bool rotary) {
  const size_t d = tokens[0].size();
  const size_t part = d / heads;
  Rows out(tokens.size());
  for (size_t head = 0; head < heads; ++head) {
    Rows q, k, v;
    for (size_t i = 0; i < tokens.size(); ++i) {
      const Rows parts = rows_in(product(qkv, tokens[i]), part);  // heads of q, then of k, then of v
      q.push_back(rotary ? rotated(parts[head], i) : parts[head]);
      k.push_back(rotary ? rotated(parts[heads + head], i) : parts[heads + head]);
      v.push_back(parts[2 * heads + head]);
    }
    for (size_t i = 0; i < tokens.size(); ++i) {
      Row mean(part, 0.0);
      double total = 0.0;
      for (size_t j = 0; j < tokens.size(); ++j) {
        const double weight = std::exp(dot(q[i], k[j]) / std::sqrt(static_cast<double>(part)));
        add(mean, v[j], weight);
        total += weight;
      }
      for (const double value : mean) out[i].push_back(value / total);
    }
  }
  return out;
}

// The message to all variables of item b, by loops.
Row by_loops(const Space& space, const Field& field, const TransformerOptions& own, const FieldInput& input,
             int64_t b) {
  const auto weight = [&](const std::string& name) { return values_of(named(field.parameters(), name)); };
  const bool shared = !space.is(PartKind::columns);
  const bool rotary = space.is(PartKind::sequence);
  const auto d = static_cast<size_t>(own.width);
  const auto row_of = [&](int64_t i, int64_t j) { return static_cast<size_t>(shared ? j : space.offset(i) + j); };
  const Row W = values_of(input.W[b]), z = values_of(input.standardised[b]), g = values_of(input.strength[b]);
  const Rows E = rows_in(weight("labels"), d), A = rows_in(weight("evidence"), d);
  Rows x;
  for (int64_t i = 0; i < space.n_variables(); ++i) {
    Row token(d, 0.0);
    for (int64_t j = 0; j < space.n_labels(i); ++j) {
      add(token, E[row_of(i, j)], W[space.offset(i) + j]);
      if (space.n_labels(i) <= 256) add(token, A[row_of(i, j)], z[space.offset(i) + j]);
    }
    add(token, weight("strength"), std::log1p(g[i]));
    if (!rotary) add(token, rows_in(weight("position"), d)[i]);
    x.push_back(token);
  }
  for (int64_t l = 0; l < own.layers; ++l) {
    const auto of = [&](const char* name) { return weight(concat("layer", l, ".", name)); };
    Rows normal;
    for (const Row& token : x) normal.push_back(normalised(token, of("norm_attention")));
    const Rows mixed = attended(normal, of("qkv"), static_cast<size_t>(own.heads), rotary);
    for (size_t i = 0; i < x.size(); ++i) {
      add(x[i], product(of("mix"), mixed[i]));
      add(x[i], product(of("down"), gated(product(of("up"), normalised(x[i], of("norm_mlp"))))));
    }
  }
  Row out;
  const Row bias = weight("bias");
  for (int64_t i = 0; i < space.n_variables(); ++i) {
    const Row y = product(weight("out"), normalised(x[i], weight("norm")));
    for (int64_t j = 0; j < space.n_labels(i); ++j)
      out.push_back(dot(y, E[row_of(i, j)]) + bias[rotary ? j : space.offset(i) + j]);
  }
  return out;
}

void expect_equals_loops(const Space& space, double tol) {
  SCOPED_TRACE(space.describe());
  const auto field = random_transformer(space);
  const auto input = some_evidence(space, 3);
  const auto found = field->forward(input);
  for (int64_t b = 0; b < 3; ++b)
    EXPECT_LT(max_difference(found[b], test::tensor_of(by_loops(space, *field, kSmall, input, b))), tol) << b;
}

// Some hundred float64 operations on numbers of size up to 10.
constexpr double kRounding = 1e-11;

TEST(Transformer, IsWhatLoopsGive) {
  expect_equals_loops(test::mixed_space(), kRounding);  // the blocks of equal counts reorder its columns
  expect_equals_loops(test::space_of({5, 2, 3, 2, 5, 1}), kRounding);
  expect_equals_loops(test::space_of({3, 3, 3}), kRounding);
  expect_equals_loops(Space::image(2, 3, 3), kRounding);
}

TEST(Transformer, OfASequenceIsWhatLoopsGive) {
  // The sines of positions are float32: 1e-7 of numbers of size 10, through two layers.
  expect_equals_loops(Space::sequence(7, 3), 1e-5);
}

TEST(Transformer, NamesAndShapesItsParameters) {
  const TransformerField table(test::mixed_space(), options_with({.layers = 1, .width = 8, .heads = 2}), 1);
  EXPECT_EQ(shapes_of(table), (Shapes{{"labels", {20, 8}},
                                      {"evidence", {20, 8}},
                                      {"strength", {1, 8}},
                                      {"position", {5, 8}},
                                      {"layer0.norm_attention", {8}},
                                      {"layer0.qkv", {24, 8}},
                                      {"layer0.mix", {8, 8}},
                                      {"layer0.norm_mlp", {8}},
                                      {"layer0.up", {32, 8}},
                                      {"layer0.down", {8, 16}},
                                      {"norm", {8}},
                                      {"out", {8, 8}},
                                      {"bias", {20}}}));
  EXPECT_FALSE(table.couples_items());
}

TEST(Transformer, IsNoLargerThanItsKindSays) {
  for (const Space& space : {test::mixed_space(), Space::image(4, 4, 3), test::binary_space(9)}) {
    const auto options = options_with(kSmall);
    const auto count = static_cast<double>(n_parameters(TransformerField(space, options, 1)));
    EXPECT_GE(transformer_kind().count(space, options), count);
    EXPECT_LE(transformer_kind().count(space, options), 1.2 * count);
  }
}

TEST(Transformer, TheWeightsOfASequenceServeAnyLength) {
  const auto of_length = [](int64_t n) {
    return TransformerField(Space::sequence(n, 3), options_with(kSmall), 1).parameters();
  };
  const auto shorter = of_length(8), longer = of_length(16);
  ASSERT_EQ(shorter.size(), longer.size());
  for (size_t k = 0; k < shorter.size(); ++k) {
    EXPECT_EQ(shorter[k].first, longer[k].first);
    EXPECT_TRUE(torch::equal(shorter[k].second, longer[k].second)) << shorter[k].first;
  }
}

// The variables of x [B, n *] in another order.
torch::Tensor moved(const torch::Tensor& x, const torch::Tensor& order) {
  return x.reshape({x.size(0), order.size(0), -1}).index_select(1, order).flatten(1);
}

FieldInput moved(const FieldInput& input, const torch::Tensor& order) {
  return {.W = moved(input.W, order),
          .t = input.t,
          .strength = moved(input.strength, order),
          .standardised = moved(input.standardised, order)};
}

torch::Tensor another_order() { return torch::tensor({3, 1, 2, 0, 5, 4}, torch::kInt64); }

TEST(Transformer, WhereAVariableIsMatters) {
  const auto order = another_order();
  for (const Space& space : {Space::sequence(6, 3), Space::image(2, 3, 3)}) {
    const auto field = random_transformer(space);
    const auto input = some_evidence(space, 4);
    EXPECT_GT(max_difference(field->forward(moved(input, order)), moved(field->forward(input), order)), 1e-3)
        << space.describe();
  }
}

TEST(Transformer, WithoutPositionsItWouldNotMatter) {
  const auto order = another_order();
  const Space space = Space::image(2, 3, 3);
  const auto field = random_transformer(space);
  {
    const torch::NoGradGuard no_grad;
    for (const char* name : {"position", "bias"}) named(field->parameters(), name).zero_();
  }
  const auto input = some_evidence(space, 4);
  EXPECT_LT(max_difference(field->forward(moved(input, order)), moved(field->forward(input), order)), kRounding);
}

TEST(Transformer, VariablesOfManyLabelsShowNoEvidenceButTheirPoint) {
  const Space space = test::space_of({2, 300, 3});
  const auto field = random_transformer(space);
  EXPECT_EQ(field->reads(), FieldReads::standardised);
  const auto input = some_evidence(space, 2);
  const auto before = field->forward(input);
  FieldInput other = input;
  other.standardised = input.standardised.clone();
  other.standardised.narrow(1, 2, 300).fill_(7.0);
  EXPECT_TRUE(torch::equal(field->forward(other), before));
  other.standardised.narrow(1, 0, 2).fill_(7.0);
  EXPECT_GT(max_difference(field->forward(other), before), 1e-3);
  expect_equals_loops(space, 10 * kRounding);  // sums of 300 numbers
}

TEST(Transformer, ASpaceOfSuchVariablesAloneReadsNone) {
  const Space space = Space::sequence(3, 300);
  const auto field = random_transformer(space);
  EXPECT_EQ(field->reads(), FieldReads::strength);
  for (const auto& [name, parameter] : field->parameters()) EXPECT_NE(name, "evidence");
  auto input = some_evidence(space, 2);
  input.standardised = torch::Tensor();
  EXPECT_EQ(field->forward(input).sizes(), (std::vector<int64_t>{2, 900}));
}

TEST(Transformer, LooksUpKnownLabelsAmongManyInsteadOfReadingTheirCorners) {
  const Space space = Space::sequence(3, 300);
  const auto field = random_transformer(space);
  ASSERT_TRUE(field->embeds_labels());
  EXPECT_FALSE(random_transformer(test::mixed_space())->embeds_labels());
  auto input = some_evidence(space, 2);
  input.standardised = torch::Tensor();
  input.known = torch::tensor({7, -1, 299, -2, 0, -1}, torch::kInt64).view({2, 3});
  const auto without = field->forward(input);
  const Known known{.labels = input.known};
  const auto shown = with_corners(space, known, input.W);
  ASSERT_FALSE(torch::equal(shown, input.W));
  input.W = shown;
  EXPECT_TRUE(torch::equal(field->forward(input), without)) << "whatever W says of them";
  // A product with the corner is the same token.
  input.known = torch::Tensor();
  EXPECT_LT(max_difference(field->forward(input), without), 1e-5 * without.abs().max().item<double>());
}

TEST(Transformer, RefusesWidthsThatHeadsDoNotDivide) {
  const auto refusal = [](int64_t width, int64_t heads) {
    return test::input_error(
        [&] { TransformerField(test::mixed_space(), options_with({.layers = 1, .width = width, .heads = heads}), 1); });
  };
  const std::string rest = ": the width must be a multiple of 8 and of twice the heads";
  EXPECT_EQ(refusal(12, 2), "net.width = 12, net.token_heads = 2" + rest);
  EXPECT_EQ(refusal(24, 8), "net.width = 24, net.token_heads = 8" + rest);
  EXPECT_EQ(refusal(8, 8), "net.width = 8, net.token_heads = 8" + rest);
  EXPECT_EQ(refusal(48, 6), "");
}

TEST(Transformer, SaysWhatItIs) {
  EXPECT_EQ(describe_net(options_with(kSmall)), "transformer with 2 layers of width 8");
  const TransformerField field(test::mixed_space(), options_with(kSmall), 1);
  EXPECT_EQ(field.layers().size(), 4u);  // tokens, two layers, labels
}

}  // namespace
}  // namespace segre::transformer_test
