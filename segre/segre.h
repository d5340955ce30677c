#pragma once

// All of segre: every public header, in the order of the data flow. A folder includes only folders above it.

// gives: Error, InputError, RandomStream, threads, WorkCallbacks, WorkDisplay, log messages, require_memory,
// parse_device, revision
#include "segre/core/captured.h"
#include "segre/core/cleanup.h"
#include "segre/core/deadline.h"
#include "segre/core/device.h"
#include "segre/core/error.h"
#include "segre/core/interrupt.h"
#include "segre/core/log.h"
#include "segre/core/memory.h"
#include "segre/core/parallel.h"
#include "segre/core/philox.h"
#include "segre/core/progress.h"
#include "segre/core/rng.h"
#include "segre/core/scalar_math.h"
#include "segre/core/text.h"
#include "segre/core/torch.h"
#include "segre/core/tuning.h"
#include "segre/core/utf8.h"
#include "segre/core/version.h"
#include "segre/core/work.h"
#include "segre/core/work_display.h"

// gives: Space (which variables, how many labels each), and per-variable operations on [*, S] tensors
#include "segre/ranks/device_ranks.h"
#include "segre/ranks/failure.h"
#include "segre/ranks/join.h"
#include "segre/ranks/launch.h"
#include "segre/ranks/ranks.h"
#include "segre/space/bins.h"
#include "segre/space/blocks.h"
#include "segre/space/check_labels.h"
#include "segre/space/space.h"

// gives: files written whole, files mapped into memory, CSV, NPY, PNG, gzip, zip, safetensors
#include "segre/io/append_file.h"
#include "segre/io/csv.h"
#include "segre/io/csv_reader.h"
#include "segre/io/descriptor.h"
#include "segre/io/expansion.h"
#include "segre/io/fetch.h"
#include "segre/io/files.h"
#include "segre/io/folders.h"
#include "segre/io/gzip.h"
#include "segre/io/lock.h"
#include "segre/io/mapped_file.h"
#include "segre/io/mapped_rows.h"
#include "segre/io/npy.h"
#include "segre/io/output.h"
#include "segre/io/png.h"
#include "segre/io/safetensors.h"
#include "segre/io/tensorboard.h"
#include "segre/io/zip.h"

// gives: ConfigSchema, the keys of a config declared once; OptionSet
#include "segre/config/option_set.h"
#include "segre/config/schema.h"

// gives: fused loops, each with its plain twin
#include "segre/kernels/adam_kernel.h"

// gives: DataSource: labels [B, n]; Dataset, JointTable
#include "segre/data/check_joint.h"
#include "segre/data/dataset.h"
#include "segre/data/joint_table.h"
#include "segre/data/missing.h"
#include "segre/data/origin.h"
#include "segre/data/source.h"
#include "segre/data/source_name.h"
#include "segre/data/split.h"
#include "segre/data/summary.h"

// gives: the readers of files, and of tables in memory
#include "segre/read/frame.h"
#include "segre/read/public_data.h"
#include "segre/read/readers.h"

// gives: the toys, glyphs and streets
#include "segre/generate/generated.h"
#include "segre/generate/glyphs.h"
#include "segre/generate/item_random.h"
#include "segre/generate/streets.h"
#include "segre/generate/toys.h"

// gives: open_source by name, what kinds there are; relabel, which gives a second file the labels of the first
#include "segre/sources/relabel.h"
#include "segre/sources/source_kinds.h"

// gives: the geometry: project, lift, replicator, Fisher-Rao norm, Segre map
#include "segre/simplex/embedding.h"
#include "segre/simplex/lift.h"
#include "segre/simplex/replicator.h"
#include "segre/simplex/tangent.h"

// gives: State (v, t and what is known besides), random sets of known variables
#include "segre/state/known.h"
#include "segre/state/patterns.h"
#include "segre/state/state.h"

// gives: Path (a_t, s_t) and its kinds, PathSample (v_t and its velocity), decision_time
#include "segre/path/e_geodesic.h"
#include "segre/path/formula_path.h"
#include "segre/path/path.h"
#include "segre/path/path_kinds.h"
#include "segre/path/path_sample.h"
#include "segre/path/ray.h"
#include "segre/path/time_density.h"

// gives: JointOracle, the exact flow of a known joint distribution
#include "segre/oracle/joint_oracle.h"

// gives: Field (the network) and its kinds, WeightSource
#include "segre/net/field.h"
#include "segre/net/latent_class.h"
#include "segre/net/layers.h"
#include "segre/net/linear.h"
#include "segre/net/mlp.h"
#include "segre/net/net_cost.h"
#include "segre/net/net_kinds.h"
#include "segre/net/net_options.h"
#include "segre/net/residual.h"
#include "segre/net/transformer.h"
#include "segre/net/tree.h"
#include "segre/net/unet.h"
#include "segre/net/unet_plan.h"

// gives: Model (network, path and form: dv/dt = F(v, t))
#include "segre/model/model.h"

// gives: Trainer, from path samples to parameters
#include "segre/train/adam.h"
#include "segre/train/captured_step.h"
#include "segre/train/evidence.h"
#include "segre/train/holes.h"
#include "segre/train/objective.h"
#include "segre/train/schedule.h"
#include "segre/train/time_law.h"
#include "segre/train/trainer.h"
#include "segre/train/validation.h"

// gives: Flow, the kinds of samplers, Integrator
#include "segre/flow/carry.h"
#include "segre/flow/field_function.h"
#include "segre/flow/flow.h"
#include "segre/flow/integrator.h"
#include "segre/flow/row_blocks.h"
#include "segre/flow/sampler_kinds.h"
#include "segre/flow/state_blocks.h"
#include "segre/flow/step.h"

// gives: Sampler: noise -> flow -> labels
#include "segre/sample/draw.h"
#include "segre/sample/sampler.h"

// gives: FreeBound, FlowBound, direct_estimate: log p of items with errors
#include "segre/likelihood/calibration.h"
#include "segre/likelihood/control.h"
#include "segre/likelihood/direct.h"
#include "segre/likelihood/flow_bound.h"
#include "segre/likelihood/free_bound.h"
#include "segre/likelihood/order_bound.h"
#include "segre/likelihood/proposal.h"
#include "segre/likelihood/refine.h"
#include "segre/likelihood/score_each.h"
#include "segre/likelihood/scores.h"
#include "segre/likelihood/summary.h"
#include "segre/likelihood/trace.h"

// gives: total_variation and its noise floor; evaluate: samples compared with held-out and training items; auroc
#include "segre/eval/convergence.h"
#include "segre/eval/evaluation.h"
#include "segre/eval/intervals.h"
#include "segre/eval/label_summary.h"
#include "segre/eval/metric_text.h"
#include "segre/eval/neighbours.h"
#include "segre/eval/pairs.h"
#include "segre/eval/roc.h"
#include "segre/eval/sampler_knee.h"
#include "segre/eval/sampler_quality.h"
#include "segre/eval/statistics.h"
#include "segre/eval/total_variation.h"

// gives: Page and Figures
#include "segre/report/convergence_page.h"
#include "segre/report/evaluation_page.h"
#include "segre/report/figures.h"
#include "segre/report/heat_map.h"
#include "segre/report/histogram.h"
#include "segre/report/page.h"
#include "segre/report/picture.h"
#include "segre/report/sampler_figures.h"
#include "segre/report/sampler_page.h"

// gives: out-of-distribution scores; rows ranked by oddness
#include "segre/ood/complexity.h"
#include "segre/ood/label_surprise.h"
#include "segre/ood/measures.h"
#include "segre/ood/outliers.h"
#include "segre/ood/rare_pairs.h"
#include "segre/ood/report.h"
#include "segre/ood/scores.h"
#include "segre/ood/tables.h"
#include "segre/ood/verdict.h"

// gives: Experiment (a config), RunDirectory, load_run, train_run, TrainDisplay, plan_scaling
#include "segre/experiment/checkpoint.h"
#include "segre/experiment/custom_field.h"
#include "segre/experiment/data_fingerprint.h"
#include "segre/experiment/experiment.h"
#include "segre/experiment/load_run.h"
#include "segre/experiment/machine.h"
#include "segre/experiment/recipe.h"
#include "segre/experiment/resolve.h"
#include "segre/experiment/run_directory.h"
#include "segre/experiment/run_files.h"
#include "segre/experiment/scaling_plan.h"
#include "segre/experiment/train_callbacks.h"
#include "segre/experiment/train_display.h"
#include "segre/experiment/train_run.h"

// gives: Session, and what the commands do: score, sample, complete, predict, evaluate, detect, rank, compare, check;
// rows by names, and results as JSON
#include "segre/tasks/check_conditionals.h"
#include "segre/tasks/check_estimators.h"
#include "segre/tasks/complete.h"
#include "segre/tasks/complete_items.h"
#include "segre/tasks/converge.h"
#include "segre/tasks/detect_outside.h"
#include "segre/tasks/evaluate_run.h"
#include "segre/tasks/given.h"
#include "segre/tasks/item_stream.h"
#include "segre/tasks/known_joint.h"
#include "segre/tasks/predict.h"
#include "segre/tasks/rank_outliers.h"
#include "segre/tasks/rows.h"
#include "segre/tasks/sample_run.h"
#include "segre/tasks/score.h"
#include "segre/tasks/session.h"
#include "segre/tasks/to_json.h"
#include "segre/tasks/training_items.h"
