// Training steps per second of the 91 x 91 MLP (configs/mlp.toml), everything included: data, times, noise, forward,
// backward, Adam, average. Prints one JSON line. The peer is train_mlp_peer.py; bench/run.sh runs both in turn.
//
//   bench_train_mlp CONFIG SECONDS BATCH

#include <iostream>
#include <nlohmann/json.hpp>

#include "segre/core/clock.h"
#include "segre/core/parallel.h"
#include "segre/core/tuning.h"
#include "segre/core/version.h"
#include "segre/recipes/experiment.h"
#include "segre/sources/source_kinds.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: bench_train_mlp CONFIG SECONDS BATCH\n";
    return 2;
  }
  segre::tune_process();
  segre::Experiment experiment;
  auto schema = segre::schema_of(experiment);
  schema.read_file(argv[1]);
  schema.set(std::string("train.batch=") + argv[3]);
  const auto source = segre::open_source(experiment.data);
  const segre::Model model = segre::make_model(experiment, source->space(), torch::kCPU);
  segre::Trainer trainer(model, *source, experiment.train, 1);
  constexpr int kWarmUp = 50;
  for (int k = 0; k < kWarmUp; ++k) trainer.step();
  const double seconds = std::stod(argv[2]);
  const double start = segre::now_seconds();
  int64_t steps = 0;
  double loss = 0.0;
  while (segre::now_seconds() - start < seconds) {
    loss = trainer.step();
    ++steps;
  }
  const double rate = static_cast<double>(steps) / (segre::now_seconds() - start);
  std::cout << nlohmann::json{{"case", "train_mlp"},
                              {"who", "segre"},
                              {"revision", segre::revision()},
                              {"threads", segre::n_threads()},
                              {"batch", experiment.train.batch},
                              {"steps_per_second", rate},
                              {"last_loss", loss}}
                   .dump()
            << '\n';
}
