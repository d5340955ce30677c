#pragma once

// All of segre: every public header, in the order of the data flow. A folder includes only folders above it.

// gives: Error, InputError, RandomStream, threads, WorkCallbacks, Progress, log messages, require_memory, parse_device,
// revision
#include "segre/core/clock.h"
#include "segre/core/deadline.h"
#include "segre/core/error.h"
#include "segre/core/log.h"
#include "segre/core/parallel.h"
#include "segre/core/rng.h"
#include "segre/core/tuning.h"
#include "segre/core/version.h"
#include "segre/core/work.h"

// gives: Ranks, the processes that do one job together
#include "segre/ranks/join.h"
#include "segre/ranks/ranks.h"

// gives: Space (which variables, how many labels each), and per-variable operations on [*, S] tensors
#include "segre/space/bins.h"
#include "segre/space/check_labels.h"
#include "segre/space/part.h"
#include "segre/space/space.h"
#include "segre/space/value_set.h"

// gives: files written whole, files mapped into memory, CSV, NPY, PNG, gzip, zip, safetensors
#include "segre/io/csv.h"
#include "segre/io/npy.h"
#include "segre/io/safetensors.h"

// gives: ConfigSchema, the keys of a config declared once; OptionSet
#include "segre/config/schema.h"

// gives: DataSource: labels [B, n]; Dataset, JointTable
#include "segre/data/dataset.h"
#include "segre/data/joint_table.h"
#include "segre/data/source.h"
#include "segre/data/source_name.h"
#include "segre/data/split.h"

// gives: the readers of files, and of tables in memory
#include "segre/read/frame.h"
#include "segre/read/readers.h"

// gives: open_source by name, what kinds there are, generated data among them; relabel, which gives a second file the
// labels of the first
#include "segre/sources/generated.h"
#include "segre/sources/relabel.h"
#include "segre/sources/source_kinds.h"

// gives: the geometry (project, lift, replicator, Segre map); State (v, t and what is known besides); Path (a_t, s_t)
// and its kinds, PathSample (v_t and its velocity), decision_time
#include "segre/path/e_geodesic.h"
#include "segre/path/formula_path.h"
#include "segre/path/path.h"
#include "segre/path/path_kinds.h"
#include "segre/path/path_sample.h"
#include "segre/path/ray.h"
#include "segre/path/simplex.h"
#include "segre/path/state.h"
#include "segre/path/time_density.h"

// gives: Field (the network) and its kinds, WeightSource
#include "segre/net/field.h"
#include "segre/net/latent_class.h"
#include "segre/net/layers.h"
#include "segre/net/linear.h"
#include "segre/net/mlp.h"
#include "segre/net/net_kinds.h"
#include "segre/net/residual.h"
#include "segre/net/transformer.h"
#include "segre/net/tree.h"
#include "segre/net/unet.h"

// gives: Model (network, path and form: dv/dt = F(v, t)); JointOracle, the exact flow of a known joint distribution
#include "segre/model/joint_oracle.h"
#include "segre/model/model.h"

// gives: Trainer, from path samples to parameters; TrainCallbacks
#include "segre/train/train_callbacks.h"
#include "segre/train/trainer.h"
#include "segre/train/validation.h"

// gives: Flow, the kinds of samplers, Integrator; Sampler: noise -> flow -> labels
#include "segre/flow/draw.h"
#include "segre/flow/flow.h"
#include "segre/flow/sampler.h"
#include "segre/flow/sampler_kinds.h"

// gives: FreeBound, FlowBound, direct_estimate: log p of items with errors
#include "segre/likelihood/direct.h"
#include "segre/likelihood/flow_bound.h"
#include "segre/likelihood/free_bound.h"
#include "segre/likelihood/order_bound.h"
#include "segre/likelihood/scores.h"

// gives: total_variation and its noise floor; evaluate: samples compared with held-out and training items; auroc
#include "segre/eval/evaluation.h"
#include "segre/eval/roc.h"
#include "segre/eval/table_evaluation.h"
#include "segre/eval/total_variation.h"

// gives: Page and Figures
#include "segre/report/page.h"
#include "segre/report/picture.h"

// gives: out-of-distribution scores; rows ranked by oddness
#include "segre/ood/detector.h"
#include "segre/ood/outliers.h"

// gives: Experiment (a config with the options of every stage), recipe_for, CustomField
#include "segre/recipes/custom_field.h"
#include "segre/recipes/experiment.h"
#include "segre/recipes/recipe.h"

// gives: plan_training, train_run, RunDirectory, load_run
#include "segre/runs/load_run.h"
#include "segre/runs/run_directory.h"
#include "segre/runs/train_plan.h"
#include "segre/runs/train_run.h"

// gives: Session, and what the commands do: score, sample, complete, predict, evaluate, detect, rank; rows by names,
// and results as JSON
#include "segre/tasks/complete.h"
#include "segre/tasks/condition.h"
#include "segre/tasks/detect_outside.h"
#include "segre/tasks/evaluate_run.h"
#include "segre/tasks/predict.h"
#include "segre/tasks/rank_outliers.h"
#include "segre/tasks/rows.h"
#include "segre/tasks/sample_run.h"
#include "segre/tasks/score.h"
#include "segre/tasks/session.h"
#include "segre/tasks/to_json.h"
