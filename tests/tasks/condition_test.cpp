// Conditions with ranges and sets: how they are read, and what follows from them in a known joint distribution.

#include "segre/tasks/condition.h"

#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "segre/space/moment.h"
#include "segre/tasks/condition_cases.h"
#include "segre/tasks/session.h"
#include "segre/tasks/to_json.h"
#include "tests/support/heard_log.h"
#include "tests/support/messages.h"
#include "tests/support/statistics.h"
#include "tests/support/threads.h"
#include "tests/tasks/known_tree.h"

namespace segre::condition_test {
namespace {

using test::contains;
using test::input_error;
using test::kSigmas;
using test::named;

double seconds(const char* text) { return static_cast<double>(parse_moment(text)->seconds); }

// Ages 0 to 79 in 16 intervals of 5 years, four of which share a label of the first variable, and 40 by itself.
Bins ages() {
  Bins bins{.edges = {}, .are_levels = true, .fine = 4, .own = {40}};
  for (int k = 0; k <= 16; ++k) bins.edges.push_back(k < 16 ? 5 * k : 79);
  return bins;
}

// Income in two labels; age in two variables; a month; days of January 2020 in three intervals.
Space table() {
  Variable age{"age", 6, {}, ages()};
  for (int64_t label = 0; label < 5; ++label) age.label_names.push_back(ages().name(label));
  age.label_names.emplace_back("(missing)");
  age.column = "age";
  Variable within{"age within", 4, {}};
  within.column = "age";
  Bins days{.unit = Bins::Unit::day, .edges = {}, .are_levels = true};
  days.edges = {seconds("2020-01-01"), seconds("2020-01-11"), seconds("2020-01-21"), seconds("2020-01-31")};
  Variable day{"day", 3, {days.name(0), days.name(1), days.name(2)}, days};
  return Space::table(
      {{"income", 2, {"<=50K", ">50K"}}, age, within, {"Month", 4, {"Nov", "Dec", "a|b", "May, June"}}, day});
}

// p(income, age, within, month, day): income first, age given income, the level within given age, the others given
// income. Every probability differs from the others.
struct Known {
  std::vector<double> income{0.7, 0.3};
  static double entry(int64_t row, int64_t column) { return 1.0 + static_cast<double>((3 * row + 2 * column) % 7); }
  static std::vector<double> row(int64_t row, int64_t n) {
    std::vector<double> p;
    double sum = 0.0;
    for (int64_t k = 0; k < n; ++k) sum += entry(row, k);
    for (int64_t k = 0; k < n; ++k) p.push_back(entry(row, k) / sum);
    return p;
  }
  double age(int64_t income_label, int64_t label) const { return row(income_label + 1, 6)[label]; }
  // Single values and missing ones have no levels.
  double within(int64_t age_label, int64_t k) const {
    return age_label < 4 ? row(age_label + 2, 4)[k] : k == 0 ? 1.0 : 0.0;
  }
  double month(int64_t income_label, int64_t label) const { return row(income_label + 5, 4)[label]; }
  double day(int64_t income_label, int64_t label) const { return row(income_label + 4, 3)[label]; }
};

LoadedRun run_of_table() {
  const Known p;
  const Space space = table();
  LoadedRun run = test::uniform_run(space);
  Field& field = run.model.field();
  const torch::NoGradGuard no_grad;
  named(field.buffers(), "parents").copy_(torch::tensor({-1, 0, 1, 0, 0}, torch::kInt64));
  named(field.buffers(), "marginals")[0].narrow(0, 0, 2).copy_(test::tensor_of(p.income));
  const auto set = [&](int64_t variable, int64_t n_parent, const auto& table_of) {
    for (int64_t a = 0; a < n_parent; ++a)
      for (int64_t b = 0; b < space.n_labels(variable); ++b)
        named(field.buffers(), "tables")[variable][a][b] = table_of(a, b);
  };
  set(1, 2, [&](int64_t a, int64_t b) { return p.age(a, b); });
  set(2, 6, [&](int64_t a, int64_t b) { return p.within(a, b); });
  set(3, 2, [&](int64_t a, int64_t b) { return p.month(a, b); });
  set(4, 2, [&](int64_t a, int64_t b) { return p.day(a, b); });
  field.refresh();
  run.experiment.sample.steps = space.n_variables();
  DataFingerprint data{};
  data.n_items = 1000;
  run.data = data;
  return run;
}

// P(income = i and the age is one of the whole numbers for which `holds`).
double p_of_ages(int64_t income, const std::function<bool(int)>& holds) {
  const Known p;
  double sum = 0.0;
  for (int64_t label = 0; label < 4; ++label)
    for (int64_t k = 0; k < 4; ++k) {
      const int low = static_cast<int>(5 * (4 * label + k));
      std::vector<int> values;  // of the interval, without 40 and with the last one
      for (int v = low; v < low + 5; ++v)
        if (v != 40 && v <= 79) values.push_back(v);
      const auto inside = std::count_if(values.begin(), values.end(), holds);
      sum +=
          p.age(income, label) * p.within(label, k) * static_cast<double>(inside) / static_cast<double>(values.size());
    }
  if (holds(40)) sum += p.age(income, 4);
  return p.income[income] * sum;
}

class Conditions : public testing::Test {
 protected:
  static Condition condition(const std::string& text) { return parse_condition(table(), text, "--given"); }
  std::string error(const std::string& text) const {
    return input_error([&] { condition(text); });
  }
  // log P(condition) and what is logged about it.
  double log_p(const std::string& text) {
    const test::HeardLog log;
    const auto sampler = session_.sampler(session_.sampling(), 1);
    return report_condition(session_.run(), condition(text), ask_of(*sampler), "--given")->log_p;
  }
  // Rows of samples, as JSON.
  Json rows(const std::string& text, int64_t count, uint64_t seed = 1) {
    const test::HeardLog log;
    const Sampled result =
        session_.sample({.count = count, .sample = session_.sampling(), .seed = seed, .given = condition(text)});
    return to_json(result)["samples"];
  }

  test::Threads one_thread_{1};
  Session session_{run_of_table(), "run"};
};

// Of labels in float32.
constexpr double kSingle = 2e-5;

TEST_F(Conditions, EveryOperatorHasItsExactProbability) {
  const auto p = [](const std::function<bool(int)>& holds) {
    return std::log(p_of_ages(0, holds) + p_of_ages(1, holds));
  };
  EXPECT_NEAR(log_p("age=30..62"), p([](int a) { return a >= 30 && a <= 62; }), kSingle);
  EXPECT_NEAR(log_p("age=30.."), p([](int a) { return a >= 30; }), kSingle);
  EXPECT_NEAR(log_p("age=..12"), p([](int a) { return a <= 12; }), kSingle);
  EXPECT_NEAR(log_p("age>60"), p([](int a) { return a > 60; }), kSingle);
  EXPECT_NEAR(log_p("age>=60"), p([](int a) { return a >= 60; }), kSingle);
  EXPECT_NEAR(log_p("age<12"), p([](int a) { return a < 12; }), kSingle);
  EXPECT_NEAR(log_p("age<=12"), p([](int a) { return a <= 12; }), kSingle);
  EXPECT_NEAR(log_p("age>12,age<=31"), p([](int a) { return a > 12 && a <= 31; }), kSingle);
  EXPECT_NEAR(log_p("age=7|40|51..52"), p([](int a) { return a == 7 || a == 40 || a == 51 || a == 52; }), kSingle);
  // Missing values are no numbers, but they are not 40 either.
  const Known known;
  const double missing = 0.7 * known.age(0, 5) + 0.3 * known.age(1, 5);
  EXPECT_NEAR(
      log_p("age!=40"),
      std::log(p_of_ages(0, [](int a) { return a != 40; }) + p_of_ages(1, [](int a) { return a != 40; }) + missing),
      kSingle);
  EXPECT_NEAR(log_p("age=(missing)"), std::log(missing), kSingle);
  EXPECT_NEAR(log_p("age=(missing)|30..62"), std::log(std::exp(p([](int a) { return a >= 30 && a <= 62; })) + missing),
              kSingle);
}

TEST_F(Conditions, LabelsMayHoldTheSignsThemselves) {
  EXPECT_NEAR(log_p("income=<=50K"), std::log(0.7), kSingle);
  EXPECT_NEAR(log_p("income!=<=50K"), std::log(0.3), kSingle);
  EXPECT_NEAR(log_p("income=>50K"), std::log(0.3), kSingle);
  EXPECT_NEAR(log_p("income=<=50K|>50K"), 0.0, kSingle);
  const Known p;
  const auto month = [&](int64_t label) { return 0.7 * p.month(0, label) + 0.3 * p.month(1, label); };
  EXPECT_NEAR(log_p("Month=Nov|Dec"), std::log(month(0) + month(1)), kSingle);
  EXPECT_NEAR(log_p("Month=a|b"), std::log(month(2)), kSingle) << "a label";
  EXPECT_NEAR(log_p("Month=a%7Cb|Dec"), std::log(month(2) + month(1)), kSingle);
  EXPECT_NEAR(log_p("Month=Nov|\"May, June\""), std::log(month(0) + month(3)), kSingle);
  EXPECT_NEAR(log_p("Month=Nov|May%2C June"), std::log(month(0) + month(3)), kSingle);
  EXPECT_NEAR(log_p("Month!=Nov|Dec"), std::log(month(2) + month(3)), kSingle);
}

// The columns depend on each other through income.
TEST_F(Conditions, SeveralColumnsFollowTheChainRule) {
  const Known p;
  double sum = 0.0;
  for (int64_t i = 0; i < 2; ++i)
    sum += p_of_ages(i, [](int a) { return a >= 33 && a <= 71; }) * (p.month(i, 0) + p.month(i, 1)) *
           (0.8 * p.day(i, 0) + 0.5 * p.day(i, 1));
  EXPECT_NEAR(log_p("age=33..71,Month=Nov|Dec,day=2020-01-03..2020-01-15"), std::log(sum), kSingle);
}

TEST_F(Conditions, DatesHaveRangesOfDays) {
  const Known p;
  const auto day = [&](int64_t label) { return 0.7 * p.day(0, label) + 0.3 * p.day(1, label); };
  EXPECT_NEAR(log_p("day<2020-01-11"), std::log(day(0)), kSingle);
  EXPECT_NEAR(log_p("day>=2020-01-21"), std::log(day(2)), kSingle);
  EXPECT_NEAR(log_p("day>2020-01-21"), std::log(day(2) * 10.0 / 11.0), kSingle) << "the last has its end";
  EXPECT_NEAR(log_p("day!=2020-01-11..2020-01-20"), std::log(day(0) + day(2)), kSingle);
  for (const Json& row : rows("day=2020-01-09..2020-01-12", 200)) {
    const auto text = row["day"].get<std::string>();
    EXPECT_TRUE(text >= "2020-01-09" && text <= "2020-01-12") << text;
  }
}

// A number has a probability in its level, and a density in the units of the column.
TEST_F(Conditions, ANumberHasADensity) {
  const double p = p_of_ages(0, [](int a) { return a == 37; }) + p_of_ages(1, [](int a) { return a == 37; });
  EXPECT_NEAR(log_p("age=37"), std::log(p), kSingle) << "in steps of 1, a density is a probability";
  const test::HeardLog log;
  const auto sampler = session_.sampler(session_.sampling(), 1);
  EXPECT_TRUE(report_condition(session_.run(), condition("age=37"), ask_of(*sampler), "")->is_density);
  EXPECT_FALSE(report_condition(session_.run(), condition("age=40"), ask_of(*sampler), "")->is_density);
  EXPECT_FALSE(report_condition(session_.run(), condition("age=37..38"), ask_of(*sampler), "")->is_density);
}

// Frequencies of samples against the exact conditional distribution, at five standard deviations.
TEST_F(Conditions, SamplesHaveTheExactConditional) {
  constexpr int64_t kCount = 20'000;
  const auto holds = [](int a) { return a >= 33 && a <= 71; };
  const double total = p_of_ages(0, holds) + p_of_ages(1, holds);
  std::map<std::string, int64_t> counts;
  std::map<int, int64_t> by_age;
  for (const Json& row : rows("age=33..71", kCount)) {
    const auto age = row["age"].get<int>();
    ASSERT_TRUE(holds(age)) << age;
    ++by_age[age];
    ++counts[row["income"].get<std::string>()];
  }
  const auto expect = [&](int64_t count, double p, const std::string& what) {
    EXPECT_NEAR(static_cast<double>(count) / kCount, p, kSigmas * std::sqrt(p * (1.0 - p) / kCount)) << what;
  };
  expect(counts[">50K"], p_of_ages(1, holds) / total, "income");
  for (int age = 33; age <= 71; ++age) {
    const auto one = [age](int a) { return a == age; };
    expect(by_age[age], (p_of_ages(0, one) + p_of_ages(1, one)) / total, std::to_string(age));
  }
}

// The same with every sampler: rk4 carries the columns that are not given.
TEST_F(Conditions, TheFlowHasItToo) {
  constexpr int64_t kCount = 4000;
  const auto holds = [](int a) { return a >= 33 && a <= 71; };
  const Known p;
  double both = 0.0;
  double total = 0.0;
  for (int64_t i = 0; i < 2; ++i) {
    const double here = p_of_ages(i, holds) * (p.month(i, 0) + p.month(i, 1));
    total += here;
    if (i == 1) both = here;
  }
  const test::HeardLog log;
  const SampleOptions flow{.sampler = "rk4", .steps = 20};
  const Sampled result =
      session_.sample({.count = kCount, .sample = flow, .given = condition("age=33..71,Month=Nov|Dec")});
  const double share = (result.labels.select(1, 0) == 1).to(torch::kFloat64).mean().item<double>();
  const double expected = both / total;
  // The flow with 20 steps is off by less than a hundredth.
  EXPECT_NEAR(share, expected, 0.01 + kSigmas * std::sqrt(expected * (1.0 - expected) / kCount));
  EXPECT_TRUE((result.labels.select(1, 3) <= 1).all().item<bool>());
}

TEST_F(Conditions, AGivenNumberStaysAsItIs) {
  for (const Json& row : rows("age=37", 50)) EXPECT_EQ(row["age"], 37);
  for (const Json& row : rows("age=37.5", 50)) EXPECT_EQ(row["age"], 37.5);
  const test::HeardLog log;
  const auto sampled = session_.sample({.count = 5, .sample = session_.sampling(), .given = condition("age=130")});
  for (const Json& row : to_json(sampled)["samples"]) EXPECT_EQ(row["age"], 130);
}

// Labels that are stated outright give the samples that they always gave.
TEST_F(Conditions, LabelsAloneKeepTheirBits) {
  const test::HeardLog log;
  const auto sampler = session_.sampler(session_.sampling(), 3);
  auto labels = torch::full({1, 5}, kUnknown, torch::kInt64);
  labels[0][0] = 1;
  labels[0][3] = 2;
  const auto direct = sampler->complete({.labels = labels.expand({700, -1})}, 0, 0).labels;
  const auto through = session_.sample(
      {.count = 700, .sample = session_.sampling(), .seed = 3, .given = condition("Month=a|b,income=>50K")});
  EXPECT_TRUE(torch::equal(direct.to(through.labels.scalar_type()), through.labels));
}

TEST_F(Conditions, MoreSamplesBeginWithTheFewer) {
  const Json many = rows("age>60,Month!=Nov", 3000, 5);
  const Json few = rows("age>60,Month!=Nov", 20, 5);
  for (size_t k = 0; k < few.size(); ++k) EXPECT_EQ(few[k], many[k]);
  EXPECT_NE(rows("age>60,Month!=Nov", 20, 6), few);
}

// Where labels are too many for a case each, those inside stay together as evidence; probabilities are the same.
TEST_F(Conditions, LabelsThatStayTogetherAreTheSame) {
  const auto sampler = session_.sampler(session_.sampling(), 1);
  const auto nothing = torch::full({1, 5}, kUnknown, torch::kInt64);
  const Condition given = condition("age=33..71,Month!=Nov,day>2020-01-04");
  const auto fine = split_condition(table(), given, {.labels = nothing}, ask_of(*sampler));
  const auto coarse = split_condition(table(), given, {.labels = nothing}, ask_of(*sampler), {.most = 1});
  EXPECT_GT(fine.log_p.size(0), 3 * coarse.log_p.size(0));
  EXPECT_TRUE(coarse.known.soft.defined());
  EXPECT_NEAR(coarse.log_p_of_items()[0].item<double>(), fine.log_p_of_items()[0].item<double>(), kSingle);
}

TEST_F(Conditions, TrainingThatHadNothingLikeItIsNoted) {
  const auto noted = [&](const std::string& text) {
    test::HeardLog log;
    const auto sampler = session_.sampler(session_.sampling(), 1);
    report_condition(session_.run(), condition(text), ask_of(*sampler), "--given");
    return log.text();
  };
  EXPECT_TRUE(contains(noted("age=33..71"), "log p of the condition age=33..71: -0."));
  EXPECT_EQ(noted("age=33..71").find("next to nothing"), std::string::npos);
  EXPECT_TRUE(contains(noted("age=51,Month=Nov,day=2020-01-05,income=>50K"), "next to nothing like"));
  EXPECT_TRUE(contains(noted("age=130"), "age = 130 lies outside the range of training, 0 to 79"));
}

TEST_F(Conditions, MessagesNameWhatIsWrong) {
  EXPECT_TRUE(contains(error("Month=Nov|Oct"), "--given Month=Nov|Oct: Month has the labels Nov, Dec"));
  EXPECT_TRUE(contains(error("Month=1..3"), "ranges are of numbers and dates"));
  EXPECT_TRUE(contains(error("age=60..30"), "the range is reversed, it begins at 60 and ends at 30"));
  EXPECT_TRUE(contains(error("age>100"), "leaves no value of age; training had values from 0 to 79"));
  EXPECT_TRUE(contains(error("age=30.2..30.8"), "leaves no value of age"));
  EXPECT_TRUE(contains(error("age>60,age<20"), "--given age>60,age<20: leaves no value of age"));
  EXPECT_TRUE(contains(error("age=30,age=31"), "age is stated twice"));
  EXPECT_TRUE(contains(error("age=old"), "age holds numbers from 0 to 79; 'old' is none"));
  EXPECT_TRUE(contains(error("age=30..old"), "'old' is none"));
  EXPECT_TRUE(contains(error("age=.."), "a range needs an end"));
  EXPECT_TRUE(contains(error("day=2020-02-30..2020-03-01"), "day holds dates from 2020-01-01 to 2020-01-31"));
  EXPECT_TRUE(contains(error("agee>30"), "the model has no variable 'agee'; the nearest is age"));
  EXPECT_TRUE(contains(error("income!=<=50K|>50K"), "leaves no value of income at all"));
}

// Rows with unknown cells are filled in so that the condition holds; a known cell must not contradict it.
TEST_F(Conditions, CompletionsSatisfyThem) {
  const test::HeardLog log;
  CompleteOptions options{.sample = session_.sampling(), .condition = condition("age=33..71,Month=Nov|Dec")};
  auto labels = torch::full({400, 5}, kUnknown, torch::kInt64);
  labels.select(1, 0).fill_(1);
  ItemsInMemory items({.labels = labels});
  const Completed done = session_.complete(items, {options, {.draws = 3, .probabilities = true}});
  const Json json = to_json(done);
  EXPECT_TRUE(json.contains("condition"));
  std::map<std::string, int64_t> months;
  for (const Json& row : json["rows"])
    for (const Json& one : row["completions"]) {
      EXPECT_TRUE(one["age"] >= 33 && one["age"] <= 71) << one.dump();
      EXPECT_EQ(one["income"], ">50K");
      ++months[one["Month"].get<std::string>()];
    }
  const Known p;
  const double nov = p.month(1, 0) / (p.month(1, 0) + p.month(1, 1));
  EXPECT_NEAR(static_cast<double>(months["Nov"]) / 1200, nov, kSigmas * std::sqrt(nov * (1.0 - nov) / 1200));
  EXPECT_NEAR(done.items.probabilities[0][table().offset(3)].item<double>(), nov, kSingle);
  labels[7][3] = 2;
  ItemsInMemory contrary({.labels = labels});
  EXPECT_TRUE(contains(input_error([&] {
                         session_.complete(contrary, {options, {}});
                       }),
                       "item 8 contradicts what is given: age=33..71,Month=Nov|Dec"));
}

// Draws of a few items share blocks, each with its own case; they are those of one draw after another.
TEST_F(Conditions, ManyDrawsOfAFewAreThoseOfOneAtATime) {
  const test::HeardLog log;
  const Completer completer(
      session_.run(), {.sample = session_.sampling(), .seed = 6, .condition = condition("age=33..71,Month!=Nov")});
  auto labels = torch::full({2, 5}, kUnknown, torch::kInt64);
  labels[1][0] = 1;
  const auto known = completer.known_of(labels);
  constexpr int64_t kDraws = 900;
  const auto all = completer.draws(known, 0, 0, kDraws);
  for (const int64_t draw : {int64_t{0}, int64_t{1}, int64_t{500}, kDraws - 1})
    EXPECT_TRUE(torch::equal(completer.draw(known, 0, draw), all.select(1, draw))) << draw;
  const Known p;
  const double dec = p.month(1, 1) / (1.0 - p.month(1, 0));
  const double share = (all.select(0, 1).select(1, 3) == 1).to(torch::kFloat64).mean().item<double>();
  EXPECT_NEAR(share, dec, kSigmas * std::sqrt(dec * (1.0 - dec) / kDraws));
}

TEST_F(Conditions, PredictionsAreGivenThem) {
  const test::HeardLog log;
  ItemsInMemory items({.labels = torch::full({3, 5}, kUnknown, torch::kInt64)});
  const auto holds = [](int a) { return a >= 33 && a <= 71; };
  const Predicted found = session_.predict(items, {.column = "income", .condition = condition("age=33..71")});
  EXPECT_NEAR(found.items.probabilities[0][1].item<double>(),
              p_of_ages(1, holds) / (p_of_ages(0, holds) + p_of_ages(1, holds)), kSingle);
  EXPECT_TRUE(
      contains(input_error([&] { session_.predict(items, {.column = "age", .condition = condition("age=33..71")}); }),
               "the column to predict"));
}

// log p(x | condition) = log p(x) - log P(condition) for items that satisfy it.
TEST_F(Conditions, ScoresAreGivenThem) {
  const test::HeardLog log;
  ScoreOptions options{.method = ScoreMethod::order, .error = {}, .order = LabelOrder::left_to_right};
  options.evaluations = 8;
  const auto labels = torch::tensor({{1, 2, 1, 0, 2}, {0, 2, 3, 1, 0}, {0, 0, 0, 0, 0}}, torch::kInt64);
  const ScoredData plain = session_.score(labels, options);
  options.condition = condition("age=33..71,Month=Nov|Dec");
  const ScoredData given = session_.score(labels, options);
  const double p = log_p("age=33..71,Month=Nov|Dec");
  for (const int64_t k : {0, 1})
    EXPECT_NEAR(given.all().log_p[k].item<double>(), plain.all().log_p[k].item<double>() - p, kSingle);
  EXPECT_EQ(given.all().log_p[2].item<double>(), -INFINITY) << "age 0 to 4";
  EXPECT_EQ(given.summary.n_items, 2);
  // Given income, too.
  options.given = torch::tensor({1, 0, 0, 0, 0}).to(torch::kBool);
  const ScoredData both = session_.score(labels, options);
  ScoreOptions income = options;
  income.condition = {};
  const ScoredData of_income = session_.score(labels, income);
  const Known known;
  const auto holds = [](int a) { return a >= 33 && a <= 71; };
  const double p_given = p_of_ages(1, holds) / 0.3 * (known.month(1, 0) + known.month(1, 1));
  EXPECT_NEAR(both.all().log_p[0].item<double>(), of_income.all().log_p[0].item<double>() - std::log(p_given), kSingle);
}

TEST_F(Conditions, ColumnsAndStatementsMayBeMixed) {
  const GivenTerms terms = parse_given(table(), {"income,age=30..62,Month"}, "--given");
  EXPECT_EQ(test::labels_of(terms.variables.nonzero().flatten()), (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(terms.condition.text(), "age=30..62");
  EXPECT_TRUE(parse_given(table(), {"income,age"}, "--given").condition.empty());
  EXPECT_FALSE(parse_given(table(), {"age>3"}, "--given").variables.defined());
}

// Labels that are numbers, without levels, are in ranges as well.
TEST(ConditionLabels, ThatAreNumbersHaveRanges) {
  const Space space = Space::table({{"storeys", 4, {"1", "2", "10", "(missing)"}}, {"c", 2, {"x", "y"}}});
  const Condition given = parse_condition(space, "storeys>=2", "--given");
  ASSERT_EQ(given.limits().size(), 1U);
  EXPECT_EQ(given.limits()[0].shares, (std::vector<double>{0, 1, 1, 0}));
  EXPECT_EQ(test::labels_of(parse_condition(space, "storeys>2", "--given").labels()), (std::vector<int64_t>{2, -1}));
}

}  // namespace
}  // namespace segre::condition_test
