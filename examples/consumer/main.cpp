// The C++ of README.md and docs/extending.md as one program, printed by scripts/readme_program.sh.
#include <segre/segre.h>
#include <iostream>

struct TwoLayers final : segre::Field {
  torch::Tensor in, out;

  TwoLayers(const segre::Space& space, uint64_t seed) {
    in = add_parameter("in", segre::WeightSource(seed).uniform({32, space.n_coordinates()}, /*bound=*/0.5));
    out = add_parameter("out", torch::zeros({space.n_coordinates(), 32}));
  }
  torch::Tensor forward(const torch::Tensor& W, const torch::Tensor& /*t*/) override {
    return torch::relu(W.mm(in.t())).mm(out.t());
  }
  int64_t n_activations() const override { return in.size(0) + out.size(0); }
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

  const auto samples = segre::Sampler(model, recipe.sample, /*seed=*/1).draw(0, 1000).labels;
  const segre::Flow flow = segre::flow_of(model);
  const auto distinct = segre::distinct_items(items);  // each different item is scored once
  const segre::FreeBound bound(flow, segre::TimeDensity(1.0), {.times = 4096});
  const auto average = segre::summarise(bound(distinct.labels), space, distinct.counts);
  std::cout << "log p of an item: " << average.log_p << " +- " << average.total_error() << '\n';

  const auto path = segre::mean_of_weights(segre::FlowBound(flow, {.draws = 4})(distinct.labels));
  std::cout << "by the flow: " << path.log_p[0].item<double>() << " +- " << path.std_error[0].item<double>() << '\n';

  segre::set_talk(nullptr);  // no progress bar, no notes
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

  const segre::JointOracle oracle(segre::make_joint_table(space, distinct.labels, distinct.counts),
                                  segre::make_e_geodesic(0.01));
  const auto v = torch::zeros({1, space.n_coordinates()}, torch::kFloat64);
  const auto F = oracle.velocity(v, 0.3);  // also log_density, posterior_marginals, endpoint, divergence, log_p
}
