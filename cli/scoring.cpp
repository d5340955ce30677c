#include "cli/scoring.h"

#include <memory>
#include <optional>

#include "segre/core/progress.h"

namespace segre::cli {

ItemScores score_in_parts(const std::function<ItemScores(const torch::Tensor& labels)>& score,
                          const torch::Tensor& labels, int64_t part, const std::string& what) {
  Progress progress(what, labels.size(0));
  std::vector<torch::Tensor> log_p;
  std::vector<torch::Tensor> std_error;
  for (int64_t first = 0; first < labels.size(0); first += part) {
    const auto scores = score(labels.slice(0, first, first + part));
    log_p.push_back(scores.log_p);
    std_error.push_back(scores.std_error);
    progress.update(std::min(labels.size(0), first + part));
  }
  return {torch::cat(log_p), torch::cat(std_error)};
}

std::function<void(int64_t, int64_t)> show_rounds(const std::string& what) {
  struct Shown {
    std::optional<Progress> bar;
    int64_t done = 0;
  };
  return [what, shown = std::make_shared<Shown>()](int64_t done, int64_t total) {
    if (!shown->bar || done <= shown->done) shown->bar.emplace(what, total);
    shown->done = done;
    shown->bar->update(done);
  };
}

}  // namespace segre::cli
