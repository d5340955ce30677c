#include "cli/scoring.h"

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

}  // namespace segre::cli
