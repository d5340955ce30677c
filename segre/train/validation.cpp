#include "segre/train/validation.h"

#include "segre/core/one_thread.h"

namespace segre {
namespace {

constexpr uint64_t kSeed = 0;  // the same for every run

}  // namespace

Validation::Validation(Model model, const torch::Tensor& labels, Objective objective, double t_max)
    : model_(std::move(model)),
      labels_(labels.to(model_.options().device())),
      objective_(objective),
      t_max_(t_max),
      t1_(decision_time(model_.space(), model_.path())) {
  model_.field().set_training(false);
}

torch::Tensor Validation::measure(int64_t from, int64_t to) const {
  const torch::NoGradGuard no_grad;
  const int64_t K = labels_.size(0);
  const auto u = TimeLaw::uniforms({kSeed, Purpose::validation_time}, 0, K).slice(0, from, to);
  const auto t = (u * t_max_).to(model_.options());
  const auto sample =
      sample_path(model_.space(), model_.path(), labels_.slice(0, from, to), t, {kSeed, Purpose::validation_noise},
                  static_cast<uint64_t>(from), needs_velocity(objective_));
  const auto value = evaluate(model_, sample, objective_);
  const auto rate = information_rate(model_.path().at(t));
  const auto information = torch::where(t < t1_, t_max_ * rate * value.error, torch::zeros_like(t));
  return torch::stack({value.loss.sum(torch::kFloat64), information.sum(torch::kFloat64)}).to(torch::kCPU);
}

ValidationResult Validation::operator()(const NamedTensors& weights) {
  {
    const torch::NoGradGuard no_grad;
    for (const auto& [name, parameter] : model_.field().parameters()) parameter.copy_(weights.at(name));
    for (const auto& [name, buffer] : model_.field().buffers())
      if (const auto at = weights.find("buffers." + name); at != weights.end()) buffer.copy_(at->second);
  }
  const int64_t K = labels_.size(0);
  const bool on_cpu = labels_.is_cpu();
  const int64_t rows = on_cpu ? std::min<int64_t>(64, model_.field().shard_rows()) : 256;
  std::vector<torch::Tensor> parts((K + rows - 1) / rows);
  const auto n_parts = static_cast<int64_t>(parts.size());
  at::parallel_for(0, n_parts, on_cpu ? 1 : n_parts, [&](int64_t begin, int64_t end) {
    const OneThread alone;
    for (int64_t k = begin; k < end; ++k) parts[k] = measure(k * rows, std::min(K, (k + 1) * rows));
  });
  const auto mean = torch::stack(parts).sum(0) / static_cast<double>(K);
  return {mean[0].item<double>(), mean[1].item<double>()};
}

}  // namespace segre
