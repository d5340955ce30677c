// What one evaluation of the network takes for few rows, and whether they have the bits that they have in a whole block
// of Sampler::rows_per_block() rows: then small requests compute few, see FewRows. One thread.
//
//   bench_few_rows RUN... -> {"run": ..., "one_row": {"completed_ms": 9.1, "marginals_ms": 0.5, "first_ms": 60.2},
//                             "rows": [{"rows": 1, "ms": 0.2, "same_bits": false}, ...]} per line

#include <iostream>
#include <nlohmann/json.hpp>

#include "segre/core/clock.h"
#include "segre/core/parallel.h"
#include "segre/core/tuning.h"
#include "segre/flow/row_blocks.h"
#include "segre/flow/sampler.h"
#include "segre/runs/load_run.h"
#include "segre/runs/sampling_flow.h"

namespace {

double milliseconds(const std::function<void()>& work) {
  constexpr double kLeast = 0.3;  // seconds
  work();
  const double start = segre::now_seconds();
  int64_t count = 0;
  for (; segre::now_seconds() - start < kLeast; ++count) work();
  return 1e3 * (segre::now_seconds() - start) / static_cast<double>(count);
}

// States half-way along the path, of samples with half of their labels known.
segre::State states_of(const segre::Flow& flow, const segre::LoadedRun& run, int64_t rows) {
  const segre::Sampler sampler(flow, run.experiment.sample, /*seed=*/1);
  auto labels = sampler.draw(0, rows).labels;
  if (!flow.from_evidence) labels = torch::Tensor();
  if (labels.defined()) labels.masked_fill_(torch::rand(labels.sizes()) < 0.5, segre::kUnknown);
  const auto v = torch::randn({rows, flow.space.n_coordinates()}, flow.options);
  return {v, torch::full({rows}, 0.4, flow.options), {.labels = labels}};
}

// One row of which half is known, as a Session completes it. The first request also finds out how few rows will do.
nlohmann::ordered_json one_row(const segre::LoadedRun& run) {
  const segre::Flow flow = segre::sampling_flow(run);
  if (!flow.from_evidence) return nullptr;
  const segre::Sampler sampler(flow, run.experiment.sample, /*seed=*/1);
  auto labels = sampler.draw(0, 1).labels;
  labels.slice(1, 0, (labels.size(1) + 1) / 2).fill_(segre::kUnknown);
  const segre::Known known{.labels = labels};
  const double start = segre::now_seconds();
  sampler.complete(known, 0, 0);
  const double first = 1e3 * (segre::now_seconds() - start);
  return {{"completed_ms", milliseconds([&] { sampler.complete(known, 0, 0); })},
          {"marginals_ms", milliseconds([&] { sampler.probabilities(known, 0); })},
          {"first_ms", first}};
}

nlohmann::ordered_json measure(const std::string& path) {
  const auto run = segre::load_run(path, torch::kCPU);
  const segre::Flow flow = segre::flow_of(run.model);
  const int64_t block = segre::rows_per_block(flow);
  const segre::State all = states_of(flow, run, block);
  const auto whole = flow.endpoint(all);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (int64_t count = 1; count <= block; count *= 2) {
    bool same = true;
    for (const int64_t first : {int64_t{0}, (block / count - 1) * count}) {
      const segre::State some{all.v.narrow(0, first, count), all.t.narrow(0, first, count),
                              all.known.slice(first, first + count)};
      same = same && torch::equal(flow.endpoint(some), whole.narrow(0, first, count));
    }
    const segre::State some{all.v.narrow(0, 0, count), all.t.narrow(0, 0, count), all.known.slice(0, count)};
    rows.push_back({{"rows", count}, {"ms", milliseconds([&] { flow.endpoint(some); })}, {"same_bits", same}});
  }
  return {{"run", path}, {"network", run.experiment.net.kind}, {"one_row", one_row(run)}, {"rows", rows}};
}

}  // namespace

int main(int argc, char** argv) {
  segre::tune_process();
  segre::set_threads(1);
  const torch::NoGradGuard no_grad;
  for (int k = 1; k < argc; ++k) std::cout << measure(argv[k]).dump() << std::endl;
}
