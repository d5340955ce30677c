// Training speed of a transformer on a table of 256 columns, everything included: gathering a batch of the data, times,
// noise, any evidence, forward, backward, clipping, Adam, weight average. By default 6 layers of width 384 with 6 heads
// and dropout 0.1: 11,261,696 parameters with 2 labels per column. The data are random labels; the speed does not
// depend on them. Prints one JSON line: gib is the GPU memory that training takes, on the CPU the process's peak
// resident memory; start_to_training_s is from program start until steps run at full speed. The peer is
// train_transformer_peer.py; bench/transformer.sh runs both in turn.
//
//   bench_train_transformer SECONDS DEVICE BATCH [LABELS [key=value ...]]
//   bench_train_transformer 10 cuda 64 2 net.layers=12

#include <sys/resource.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "segre/core/clock.h"
#include "segre/core/device.h"
#include "segre/core/memory.h"
#include "segre/core/parallel.h"
#include "segre/core/tuning.h"
#include "segre/core/version.h"
#include "segre/net/transformer.h"
#include "segre/recipes/experiment.h"

namespace {

constexpr int64_t kColumns = 256;
constexpr int64_t kItems = 16'384;
constexpr int64_t kChunk = 50;  // steps between two looks at the losses, which wait for the device

segre::Dataset random_table(int64_t n_labels) {
  const auto space = segre::Space::table(std::vector<segre::Variable>(kColumns, {"", n_labels, {}}));
  return {space, torch::randint(n_labels, {kItems, kColumns}, segre::label_type(space))};
}

segre::Experiment experiment_of(int64_t batch) {
  segre::Experiment experiment;
  experiment.net.kind = "transformer";
  experiment.net.dropout = 0.1;
  experiment.net.of<segre::TransformerOptions>() = {.layers = 6, .width = 384, .heads = 6};
  experiment.train.evidence.kind = segre::EvidenceKind::any;
  experiment.train.adam = {.beta2 = 0.99, .ema = 0.999, .clip = 1.0};
  experiment.train.schedule = {.lr = 1e-3, .warmup = 500, .kind = segre::ScheduleKind::cosine};
  experiment.train.steps = 1'000'000;
  experiment.train.batch = batch;
  return experiment;
}

double peak_resident_gib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 0x1p20;  // of kB
}

int run(int argc, char** argv) {
  const double start = segre::now_seconds();
  const double seconds = std::stod(argv[1]);
  const auto device = segre::parse_device(argv[2]);
  const int64_t n_labels = argc > 4 ? std::stoll(argv[4]) : 2;
  auto experiment = experiment_of(std::stoll(argv[3]));
  auto schema = segre::schema_of(experiment);
  for (int k = 5; k < argc; ++k) schema.set(argv[k]);
  const auto source = segre::make_dataset_source(random_table(n_labels));
  const int64_t free_before = segre::available_memory(device);
  const segre::Model model = segre::make_model(experiment, source->space(), device);
  segre::Trainer trainer(model, *source, experiment.train, 1, segre::training_type(experiment.net, device));
  const auto advance = [&trainer](int64_t steps) {
    for (int64_t k = 0; k < steps; ++k) trainer.advance();
    return trainer.take_losses().back();
  };
  advance(device.is_cuda() ? 5 : 2);  // on CUDA, the step is captured after three
  const double ready = segre::now_seconds() - start;
  for (int k = 0; device.is_cuda() && k < 2; ++k) advance(kChunk);  // until the clocks are up

  const double begin = segre::now_seconds();
  int64_t steps = 0;
  while (segre::now_seconds() - begin < seconds) {
    trainer.advance();
    ++steps;
    if (steps % kChunk == 0) trainer.take_losses();
  }
  trainer.take_losses();
  const double rate = static_cast<double>(steps) / (segre::now_seconds() - begin);
  const double gib = device.is_cuda() ? static_cast<double>(free_before - segre::available_memory(device)) / 0x1p30
                                      : peak_resident_gib();
  std::cout << nlohmann::json{{"case", "train_transformer"},
                              {"who", "segre"},
                              {"revision", segre::revision()},
                              {"device", argv[2]},
                              {"threads", segre::n_threads()},
                              {"parameters", segre::n_parameters(model.field())},
                              {"labels", n_labels},
                              {"batch", experiment.train.batch},
                              {"steps_per_second", rate},
                              {"items_per_second", rate * static_cast<double>(experiment.train.batch)},
                              {"steps", steps},
                              {"gib", gib},
                              {"start_to_training_s", ready},
                              {"last_loss", advance(1)}}
                   .dump()
            << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: bench_train_transformer SECONDS DEVICE BATCH [LABELS [key=value ...]]\n";
    return 2;
  }
  segre::tune_process();
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "bench_train_transformer: " << error.what() << '\n';
    return 1;
  }
}
