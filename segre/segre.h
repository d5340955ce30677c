#pragma once

// All of segre. The order of the includes is the flow of the data; a folder includes only folders above it.

// gives: Error, InputError, RandomStream, require_memory, Progress, talk, revision
#include "segre/core/cleanup.h"
#include "segre/core/error.h"
#include "segre/core/interrupt.h"
#include "segre/core/memory.h"
#include "segre/core/progress.h"
#include "segre/core/rng.h"
#include "segre/core/talk.h"
#include "segre/core/tuning.h"
#include "segre/core/version.h"

// gives: Space (which variables, how many labels each), and per-variable operations on [*, S] tensors
#include "segre/space/blocks.h"
#include "segre/space/check_labels.h"
#include "segre/space/space.h"

// gives: files written whole, CSV, NPY, PNG, gzip, zip, safetensors
#include "segre/io/append_file.h"
#include "segre/io/csv.h"
#include "segre/io/csv_reader.h"
#include "segre/io/descriptor.h"
#include "segre/io/fetch.h"
#include "segre/io/files.h"
#include "segre/io/folders.h"
#include "segre/io/gzip.h"
#include "segre/io/lock.h"
#include "segre/io/npy.h"
#include "segre/io/output.h"
#include "segre/io/png.h"
#include "segre/io/safetensors.h"
#include "segre/io/tensorboard.h"
#include "segre/io/zip.h"

// gives: ConfigSchema, the keys of a config declared once
#include "segre/config/schema.h"

// gives: DataSource: labels [B, n]; what kinds there are; the readers of files (Dataset); JointTable;
// relabel, by which a second file speaks the labels of the first
#include "segre/data/check_joint.h"
#include "segre/data/glyphs.h"
#include "segre/data/joint_table.h"
#include "segre/data/readers.h"
#include "segre/data/relabel.h"
#include "segre/data/source.h"
#include "segre/data/source_kinds.h"
#include "segre/data/streets.h"
#include "segre/data/summary.h"
#include "segre/data/toys.h"

// gives: the geometry: project, lift, replicator, Fisher-Rao norm, Segre map
#include "segre/simplex/embedding.h"
#include "segre/simplex/lift.h"
#include "segre/simplex/replicator.h"
#include "segre/simplex/tangent.h"

// gives: Path (a_t, s_t), PathSample (v_t and its velocity), decision_time
#include "segre/path/path.h"
#include "segre/path/path_sample.h"

// gives: JointOracle, the exact flow of a known joint distribution
#include "segre/oracle/joint_oracle.h"

// gives: Field (the network), WeightSource
#include "segre/net/field.h"
#include "segre/net/layers.h"

// gives: Model (network, path and form: dv/dt = F(v, t))
#include "segre/model/model.h"

// gives: Trainer, from path samples to parameters
#include "segre/train/trainer.h"
#include "segre/train/validation.h"

// gives: Flow, steppers, integrate, Integrator; Sampler: noise -> flow -> labels
#include "segre/flow/flow.h"
#include "segre/flow/integrator.h"
#include "segre/flow/stepper.h"
#include "segre/sample/sampler.h"

// gives: FreeBound, FlowBound, direct_estimate: log p of items with errors
#include "segre/likelihood/direct.h"
#include "segre/likelihood/flow_bound.h"
#include "segre/likelihood/free_bound.h"
#include "segre/likelihood/score_each.h"
#include "segre/likelihood/summary.h"

// gives: total_variation and its noise floor; evaluate: samples against held-out and training items; auroc
#include "segre/eval/convergence.h"
#include "segre/eval/evaluation.h"
#include "segre/eval/roc.h"
#include "segre/eval/sampler_quality.h"
#include "segre/eval/total_variation.h"

// gives: Page and Figures
#include "segre/report/evaluation_page.h"
#include "segre/report/figures.h"
#include "segre/report/page.h"
#include "segre/report/picture.h"
#include "segre/report/sampler_figures.h"

// gives: out-of-distribution scores; rows ranked by oddness
#include "segre/ood/label_surprise.h"
#include "segre/ood/outliers.h"
#include "segre/ood/report.h"
#include "segre/ood/verdict.h"

// gives: Experiment (a config), RunDirectory, load_run, train_run
#include "segre/experiment/recipe.h"
#include "segre/experiment/run.h"
