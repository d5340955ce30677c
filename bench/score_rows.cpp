// Times the scoring of rows, one by one and all at once; bench/python_overhead.py compares it with Python.
//
//   bench_score_rows RUN SOURCE ROWS EVALUATIONS -> {"one_by_one": seconds, "at_once": seconds}

#include <iostream>

#include "segre/core/clock.h"
#include "segre/core/tuning.h"
#include "segre/sources/relabel.h"
#include "segre/tasks/score.h"

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: bench_score_rows RUN SOURCE ROWS EVALUATIONS\n";
    return 2;
  }
  segre::tune_process();
  const auto run = segre::load_run(argv[1], torch::kCPU);
  const int64_t rows = std::stoll(argv[3]);
  const auto labels = segre::first_items(run.model.space(), argv[2], rows, argv[2]);
  segre::ScoreOptions options{.evaluations = std::stoll(argv[4])};
  options.error.reset();
  const auto seconds = [&](int64_t at_once) {
    const double start = segre::now_seconds();
    for (int64_t k = 0; k < rows; k += at_once) segre::Scorer(run, options)(labels.slice(0, k, k + at_once));
    return segre::now_seconds() - start;
  };
  seconds(rows);  // warms up
  std::cout << "{\"one_by_one\": " << seconds(1) << ", \"at_once\": " << seconds(rows) << "}\n";
}
