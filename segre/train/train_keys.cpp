#include "segre/train/trainer.h"

namespace segre {

void declare_train_keys(ConfigSchema& schema, TrainOptions& options) {
  schema.choice<Objective>("train.objective", &options.objective,
                           {{"metric", Objective::metric}, {"cross_entropy", Objective::cross_entropy}}, Later::fixed,
                           "what is minimised: the paper's metric objective, or the cross entropy of the labels");
  schema.choice<TimeLawKind>(
      "train.time_law", &options.time_law,
      {{"uniform", TimeLawKind::uniform},
       {"decision", TimeLawKind::decision},
       {"information", TimeLawKind::information}},
      Later::fixed, "times of training: uniform on [0, 1], on [0, decision time], or where labels are decided");
  schema.flag("train.reweight", &options.reweight, Later::fixed, "weight the information law back to uniform times");
  declare_evidence_keys(schema, options.evidence);
  schema.integer("train.steps", &options.steps, {1, 1e12}, Later::free, "optimiser steps");
  schema.integer("train.epochs", &options.epochs, {0, 1e9}, Later::free,
                 "passes over the data instead of train.steps; 0: train.steps");
  schema.flag(
      "train.fill_holes", &options.fill_holes, Later::fixed,
      "fill unknown cells by the model's own draws, right if they are missing at random; false leaves them out, "
      "faster, and right only if they are missing completely at random (a tree always fills)");
  schema.integer("train.batch", &options.batch, {1, 1e9}, Later::fixed, "items per step, over all ranks");
  schema.integer("train.shards", &options.shards, {0, 1 << 20}, Later::fixed,
                 "parts of a batch for threads and ranks on the CPU, a power of two; 0: as many as are worthwhile");
  schema.choice<ReduceType>("train.reduce", &options.reduce,
                            {{"float32", ReduceType::float32}, {"bfloat16", ReduceType::bfloat16}}, Later::free,
                            "type of the gradients that the GPUs of ranks exchange");
  schema.number("train.lr", &options.schedule.lr, {0, 10}, Later::free, "maximum learning rate");
  schema.integer("train.warmup", &options.schedule.warmup, {0, 1e12}, Later::free,
                 "steps of linear rise to it; a tenth of the training if that is not longer");
  schema.choice<ScheduleKind>("train.schedule", &options.schedule.kind,
                              {{"constant", ScheduleKind::constant}, {"cosine", ScheduleKind::cosine}}, Later::free,
                              "after warm-up: constant, or a cosine down to 0");
  schema.number("train.beta1", &options.adam.beta1, {0, 0.9999}, Later::fixed, "Adam's decay of the mean gradient");
  schema.number("train.beta2", &options.adam.beta2, {0, 0.999999}, Later::fixed,
                "Adam's decay of the mean squared gradient");
  schema.number("train.adam_eps", &options.adam.eps, {1e-20, 1}, Later::fixed, "Adam's epsilon");
  schema.number("train.ema", &options.adam.ema, {0, 0.999999}, Later::fixed,
                "decay of the averaged weights that sampling uses; 0: the last weights");
  schema.number("train.clip", &options.adam.clip, {0, 1e9}, Later::free, "maximum norm of the gradient; 0: no limit");
}

}  // namespace segre
