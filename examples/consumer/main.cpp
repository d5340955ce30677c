// The C++ of README.md and docs/extending.md as one program, printed by scripts/readme_program.sh.
#include <segre/segre.h>
#include <iostream>

struct TwoLayers final : segre::Field {
  TwoLayers(const segre::Space& space, uint64_t seed)
      : in(add_parameter("in", segre::WeightSource(seed).uniform({32, space.n_coordinates()}, /*bound=*/0.5))),
        out(add_parameter("out", torch::zeros({space.n_coordinates(), 32}))) {}
  torch::Tensor forward(const segre::FieldInput& input) override { return torch::relu(input.W.mm(in.t())).mm(out.t()); }
  int64_t n_activations() const override { return in.size(0) + out.size(0); }
  torch::Tensor in, out;
};

struct Circle final : segre::FormulaPath<Circle> {
  template <class T>
  segre::PathCoefficients<T> formula(const T& t) const {
    using std::cos, std::sin, torch::cos, torch::sin;
    return {sin(kTurn * t), cos(kTurn * t), kTurn * cos(kTurn * t), -kTurn * sin(kTurn * t)};
  }
  double time_at(double ratio) const override { return std::atan(ratio) / kTurn; }
  double corner_scale(int64_t n_labels) const override { return std::log1p(99.0 * static_cast<double>(n_labels)); }
  double t_end() const override { return 1.0; }
  std::string name() const override { return "circle"; }
  static constexpr double kTurn = 1.5707963267948966;
};

int main() {
  // Your own items: [N, n] integers, a column per variable. Here streets are wet when it rains.
  const auto sky = torch::randint(3, {4000}, torch::kInt64);
  const auto items = torch::stack({sky, sky.eq(2).to(torch::kInt64)}, 1);
  const auto space = segre::Space::table({{"sky", 3, {"sun", "cloud", "rain"}}, {"wet", 2, {}}});
  const std::shared_ptr<segre::DataSource> source = segre::make_dataset_source({space, items});
  segre::Experiment recipe = segre::recipe_for(space, source->n_items());
  recipe.train.steps = 500;
  const segre::Model model = segre::make_model(recipe, space, torch::kCPU);
  segre::Trainer trainer(model, *source, recipe.train, /*seed=*/1);
  while (trainer.n_steps() < recipe.train.steps) trainer.step();
  segre::load_weights(model.field(), trainer.state(), /*averaged=*/true);

  const segre::Sampler sampler(model, recipe.sample, /*seed=*/1);
  const auto samples = sampler.draw(0, 1000).labels;
  // It rains; is the street wet? The distribution of every unknown label given the known ones.
  const auto rain = torch::tensor({2, -1}, torch::kInt64).view({1, 2});  // -1 is segre::kUnknown
  const auto p = sampler.probabilities({.labels = rain}, 0)[0];          // [S], 3 labels and 2
  std::cout << "P(wet | rain) = " << p[4].item<double>() << '\n';
  const segre::Flow flow = segre::flow_of(model);
  const auto distinct = segre::distinct_items(items);  // each different item is scored once
  const segre::FreeBound bound(flow, segre::TimeDensity(1.0), {.times = 4096});
  const auto average = segre::summarise(bound(distinct.labels), space, distinct.counts);
  std::cout << "log p of an item: " << average.log_p << " +- " << average.total_error() << '\n';

  segre::tune_process();           // threads that sleep, no subnormal numbers: as the program segre has it
  segre::send_log_to(&std::cerr);  // notes and warnings; without this line there are none

  const auto path_scores = segre::mean_of_weights(segre::FlowBound(flow, {.draws = 4})(distinct.labels));
  std::cout << "by the flow: " << path_scores.log_p[0].item<double>() << " +- "
            << path_scores.std_error[0].item<double>() << '\n';

  const segre::JointOracle oracle(segre::make_joint_table(space, distinct.labels, distinct.counts),
                                  segre::make_e_geodesic(0.01));
  const auto v = torch::zeros({1, space.n_coordinates()}, torch::kFloat64);
  const auto F = oracle.velocity(v, 0.3);  // also log_density, posterior_marginals, endpoint, divergence, log_p

  segre::TrainRunOptions options;
  options.source = source;
  options.field = {"two-layers",
                   [](const segre::Space& space, uint64_t seed) { return std::make_shared<TwoLayers>(space, seed); }};
  options.callbacks.on_validation = [](const segre::ValidationProgress& at) {
    std::cout << "step " << at.step << ": " << at.result.nats << " nats\n";
  };
  options.callbacks.stop = [start = segre::now_seconds()] { return segre::now_seconds() - start > 60.0; };
  segre::train_run(recipe, segre::RunDirectory("runs/mine"), options);
  const auto run = segre::load_run("runs/mine", torch::kCPU, options.field, segre::Checkpoint::best);
  std::cout << "loaded: step " << run.step << '\n';
  const auto scored = segre::Scorer(run, {.error = segre::ErrorGoal{.nats = 0.02}})(items);  // segre likelihood
  std::cout << scored.scores.describe() << '\n' << segre::describe(scored.summary, scored.scores.kind) << '\n';

  segre::NetKind two_layers{.name = "two_layers", .help = "a hidden layer of 32", .make = {}};
  two_layers.make = [](const segre::Space& space, const segre::NetOptions& /*options*/, uint64_t seed) {
    return std::make_shared<TwoLayers>(space, seed);
  };

  segre::PathKind circle{.name = "circle", .help = "signal and noise on a circle", .make = {}};
  circle.make = [](const segre::PathOptions& /*options*/) { return std::make_shared<const Circle>(); };

  const segre::Model turning(space, circle.make({}), segre::Form::evidence, two_layers.make(space, {}, /*seed=*/1));
  segre::Trainer turner(turning, *source, recipe.train, /*seed=*/1);
  while (turner.n_steps() < recipe.train.steps) turner.step();
  segre::load_weights(turning.field(), turner.state(), /*averaged=*/true);
  const auto turned = segre::FreeBound(segre::flow_of(turning), segre::TimeDensity(1.0), {.times = 4096});
  std::cout << "on a circle: " << segre::summarise(turned(distinct.labels), space, distinct.counts).log_p << '\n';

  const auto dice = segre::Space::table({{"first", 6, {}}, {"second", 6, {}}, {"higher", 2, {}}});
  const auto roll = [](segre::ItemRandom random, uint8_t* out) {
    out[0] = static_cast<uint8_t>(random.below(6));
    out[1] = static_cast<uint8_t>(random.below(6));
    out[2] = out[1] > out[0] ? 1 : 0;
  };
  const auto rolls = segre::make_generated_source(dice, segre::Purpose::source_rows, /*seed=*/0, roll);
  std::cout << "dice: " << rolls->rows(0, 1000).select(1, 2).sum().item<int64_t>() << " of 1000 second ones higher\n";
}
