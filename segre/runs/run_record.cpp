#include "segre/runs/run_record.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "segre/core/error.h"
#include "segre/io/files.h"
#include "segre/report/picture.h"
#include "segre/train/watcher.h"

namespace segre {

RunRecord::RunRecord(TrainPlan& plan, int64_t step) : plan_(plan), run_(plan.out), first_step_(step) {
  run_.set_data(plan.fingerprint);
  if (plan.ranks->is_first())
    log_.emplace(run_.metrics(), step,
                 plan.experiment.watch.tensorboard ? run_.path() / run_files::kTensorBoard : std::filesystem::path());
}

TrainPast RunRecord::past() {
  if (!is_first()) return {};
  TrainPast past{.best_loss = run_.best_loss(),
                 .n_without_best = static_cast<int64_t>(log_->latest(Watcher::kSinceBest).value_or(0.0)),
                 .is_logged = log_->at_start("loss").has_value()};
  // A finished run that is to continue waits for a new best as long as at the beginning.
  const auto& before = plan_.before;
  if (before && before->step == before->experiment.train.steps && !plan_.is_complete()) past.n_without_best = 0;
  // A run may have been killed between saving a checkpoint and marking it as the best: the log has its loss.
  const auto loss = log_->at_start("validation_loss");
  if (first_step_ > 0 && loss && *loss < past.best_loss) {
    past.best_loss = *loss;
    mark_best(first_step_, *loss);
  }
  return past;
}

void RunRecord::log(const nlohmann::json& line) {
  if (log_) log_->add(line);
}

void RunRecord::save(int64_t step, int64_t total, const NamedTensors& state) {
  // Under a time limit the number of steps changes along the way; a killed run resumes with the current one.
  plan_.experiment.train.steps = total;
  if (!is_first()) return;
  try {
    if (plan_.is_limited()) run_.write_config(plan_.experiment);
    run_.save(step, state, plan_.data.source->space(), plan_.experiment);
  } catch (const FileError& error) {
    if (!run_.latest()) throw;
    fail(error.what(), "; the last checkpoint is kept and can be resumed");
  }
}

void RunRecord::mark_best(int64_t step, double validation_loss) {
  if (is_first()) run_.mark_best(step, validation_loss);
}

void RunRecord::draw(int64_t step, const Model& averaged) {
  const Experiment& e = plan_.experiment;
  const Space& space = averaged.space();
  const int64_t count = e.watch.grid;
  if (!space.is(PartKind::image) || count == 0 || !is_first()) return;
  const Sampler sampler(averaged, e.sample, static_cast<uint64_t>(e.seed));
  const auto columns = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(count))));
  const Picture picture = draw_label_grid(space, sampler.draw(0, count).labels, columns);
  const std::string png = encode_png_rgb(picture.pixels, picture.height, picture.width);
  try {
    write_file_whole(run_.picture(step), [&](std::ostream& out) { out << png; });
  } catch (const FileError& error) {
    log_->warn(error.what());  // a failed picture must not end the training
  }
  log_->picture(step, png, picture.height, picture.width);
}

void RunRecord::finish(int64_t total) {
  plan_.experiment.train.steps = total;
  if (is_first()) run_.write_config(plan_.experiment);
}

}  // namespace segre
