#pragma once

#include "segre/net/tree.h"
#include "segre/path/e_geodesic.h"
#include "segre/tasks/predict.h"
#include "tests/support/reference.h"

// Runs that were never trained: the test states their model's probabilities, as a tree or as logits.

namespace segre::test {

/// A run of a table with this network.
inline LoadedRun run_of(const Space& space, std::shared_ptr<Field> field) {
  const auto path = make_e_geodesic(0.01);
  Experiment experiment;
  experiment.train.evidence.kind = EvidenceKind::any;
  experiment.sample.sampler = "erasure";
  experiment.sample.steps = space.n_variables();
  return {.experiment = experiment,
          .model = Model(space, path, Form::evidence, std::move(field)),
          .step = 0,
          .times = TimeDensity(decision_time(space, *path)),
          .data = {}};
}

/// A run of a table whose columns are independent, every label as likely as the others.
inline LoadedRun uniform_run(const Space& space) { return run_of(space, std::make_shared<TreeField>(space)); }

/// A network that has the same logits [S] for every row. Unlike a tree's tables they may be of any size.
class StatedLogits final : public Field {
 public:
  explicit StatedLogits(const torch::Tensor& logits) : logits_(add_buffer("logits", logits.to(torch::kFloat32))) {}
  torch::Tensor forward(const FieldInput& input) override {
    return logits_.unsqueeze(0).expand({input.W.size(0), logits_.size(0)}).contiguous();
  }
  int64_t n_activations() const override { return logits_.size(0); }

 private:
  torch::Tensor logits_;
};

/// The same, but the second of two columns depends on the first: p(b | a) = given[a][b].
inline LoadedRun run_given_first(const Space& space, const torch::Tensor& given) {
  LoadedRun run = uniform_run(space);
  Field& field = run.model.field();
  const torch::NoGradGuard no_grad;
  named(field.buffers(), "parents").copy_(torch::tensor({-1, 0}, torch::kInt64));
  named(field.buffers(), "tables")[1].narrow(0, 0, given.size(0)).narrow(1, 0, given.size(1)).copy_(given);
  field.refresh();
  return run;
}

/// Predicts a column of a file, and writes the predictions.
inline PredictionQuality predict_into(const LoadedRun& run, const SourceName& source, const std::string& column,
                                      std::ostream& out) {
  const Space& space = run.model.space();
  const PredictRequest request{.column = column, .holes_as_trained = !holes_are_unknown(source)};
  const Completer completer(run, options_of(request, space, run.experiment.sample));
  return predict_csv(completer, predicted_variable(space, request), source, "data", out);
}

}  // namespace segre::test
