// Training speed of a UNet, everything included: gathering a batch of the data, times, noise, forward, backward, Adam,
// weight average. The data are random labels of the config's shape; the speed does not depend on them. Prints one JSON
// line: samples_per_second is the median over the windows, with their min and max; first_step_s times the first step;
// start_to_training_s is from program start until steps run at full speed. The peer is train_unet_peer.py.
//
//   bench_train_unet CONFIG HEIGHT WIDTH LABELS BATCH DEVICE WINDOWS SECONDS [key=value ...]
//   bench_train_unet configs/paper/mnist.toml 32 32 2 256 cuda 5 4

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "segre/core/clock.h"
#include "segre/core/device.h"
#include "segre/core/memory.h"
#include "segre/core/parallel.h"
#include "segre/core/tuning.h"
#include "segre/core/version.h"
#include "segre/recipes/experiment.h"

namespace {

constexpr int kWarmUp = 5;

segre::Dataset random_labels(int64_t height, int64_t width, int64_t c) {
  const auto space = segre::Space::image(height, width, c);
  const int64_t count = std::min<int64_t>(4096, (int64_t{1} << 28) / (height * width));
  return {space, torch::randint(c, {count, height * width}, segre::label_type(space))};
}

// Steps per second over one window.
double measure(segre::Trainer& trainer, double seconds) {
  const double start = segre::now_seconds();
  int64_t steps = 0;
  while (segre::now_seconds() - start < seconds) {
    trainer.advance();
    ++steps;
    if (steps % 32 == 0) trainer.take_losses();
  }
  trainer.take_losses();
  return static_cast<double>(steps) / (segre::now_seconds() - start);
}

int run(int argc, char** argv) {
  const double start = segre::now_seconds();
  const auto device = segre::parse_device(argv[6]);
  segre::Experiment experiment;
  auto schema = segre::schema_of(experiment);
  schema.read_file(argv[1]);
  schema.set(std::string("train.batch=") + argv[5]);
  for (int k = 9; k < argc; ++k) schema.set(argv[k]);
  const auto source =
      segre::make_dataset_source(random_labels(std::stoll(argv[2]), std::stoll(argv[3]), std::stoll(argv[4])));
  const segre::Model model = segre::make_model(experiment, source->space(), device);
  const int64_t free_before = segre::available_memory(device);
  segre::Trainer trainer(model, *source, experiment.train, 1, segre::compute_type(experiment.net, device));
  const double before = segre::now_seconds();
  trainer.step();
  const double first_step = segre::now_seconds() - before;
  for (int k = 1; k < (device.is_cuda() ? kWarmUp : 1); ++k) trainer.step();
  const double ready = segre::now_seconds() - start;
  std::vector<double> rates;
  for (int k = 0; k < std::stoi(argv[7]); ++k)
    rates.push_back(static_cast<double>(experiment.train.batch) * measure(trainer, std::stod(argv[8])));
  std::sort(rates.begin(), rates.end());
  std::cout << nlohmann::json{{"case", "train_unet"},
                              {"who", "segre"},
                              {"config", argv[1]},
                              {"revision", segre::revision()},
                              {"device", argv[6]},
                              {"threads", segre::n_threads()},
                              {"batch", experiment.train.batch},
                              {"samples_per_second", rates[rates.size() / 2]},
                              {"min", rates.front()},
                              {"max", rates.back()},
                              {"first_step_s", first_step},
                              {"start_to_training_s", ready},
                              {"gib", static_cast<double>(free_before - segre::available_memory(device)) / 0x1p30}}
                   .dump()
            << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 9) {
    std::cerr << "usage: bench_train_unet CONFIG HEIGHT WIDTH LABELS BATCH DEVICE WINDOWS SECONDS [key=value ...]\n";
    return 2;
  }
  segre::tune_process();
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "bench_train_unet: " << error.what() << '\n';
    return 1;
  }
}
