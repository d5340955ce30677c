#!/usr/bin/env python3
"""How good synthetic rows of tables with labels and numbers are, beside independent columns and other programs.

    bench/mixed.py SEGRE TABLES OUT [--tables adult,shoppers,magic] [--max-time 300s] [--seeds 1,2] [--peers ctgan,tvae]

TABLES has NAME.train.csv.gz and NAME.test.csv.gz, and categorical.json, which names each table's columns of labels; the
last column is the one that trained models predict. OUT keeps runs, samples and logs. Each program gets the training
rows and writes as many. Printed for each, as a Markdown table:

  detection  1 - (2 AUC - 1) of XGBoost that tells training rows from samples: 1 if it cannot, 0 if always; labels
             one-hot, numbers as they are, the mean of 3 folds with AUC at least 0.5, as in SDMetrics' detection metrics
  shape      mean over columns of 1 - Kolmogorov-Smirnov distance (numbers) or 1 - total variation (labels)
  trend      mean over pairs of 1 - half the difference of correlations (numbers) or 1 - total variation of the
             contingency tables (otherwise, numbers in ten bins of equal width): both as in SDMetrics
  utility    XGBoost trained on the samples, tested on real test rows: AUC, or RMSE if the column is a number
  seconds    of training and sampling

Needs numpy, pandas, scikit-learn and xgboost; --peers need sdv (ctgan, tvae, copula), ForestDiffusion (forest) and
mostlyai-engine (mostly). --importance lists the columns that give samples away. --use NAME=FILE.csv scores rows that
something else wrote for one table.
"""

import argparse
import json
import os
import subprocess
import sys
import time

import numpy as np
import pandas as pd
from sklearn.metrics import mean_squared_error, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from xgboost import XGBClassifier, XGBRegressor

from tables import print_markdown

# Detection as published: the mean of 5 trainings, from the paper of TabPC (2026), which measured all of them.
PUBLISHED = {
    "TabPC": {"adult": 0.855, "beijing": 0.570, "default": 0.262, "diabetes": 0.792, "magic": 0.860, "shoppers": 0.894},
    "TabDiff": {"adult": 0.841, "beijing": 0.772, "default": 0.591, "diabetes": 0.562, "magic": 0.773,
                "shoppers": 0.736},
    "TabSyn": {"adult": 0.794, "beijing": 0.527, "default": 0.402, "diabetes": 0.522, "magic": 0.760,
               "shoppers": 0.655},
}


class Table:
    """A table with its labels as text and its numbers as float64."""

    def __init__(self, folder, name):
        with open(os.path.join(folder, "categorical.json"), encoding="utf-8") as file:
            self.labels = json.load(file)[name]
        self.name = name
        self.train_file = os.path.join(folder, f"{name}.train.csv.gz")
        self.train = self.read(self.train_file)
        self.test = self.read(os.path.join(folder, f"{name}.test.csv.gz"))
        self.target = self.train.columns[-1]

    def read(self, path):
        return self.typed(pd.read_csv(path, dtype=str, keep_default_na=False))

    def typed(self, frame):
        numbers = {c: frame[c] if c in self.labels else pd.to_numeric(frame[c], errors="coerce") for c in frame.columns}
        return pd.DataFrame({c: v.astype(str if c in self.labels else float) for c, v in numbers.items()})

    def is_label(self, column):
        return column in self.labels

    def features(self, frame, like, without=()):
        """Numbers as they are, labels one-hot by the labels of the frame `like`; and the column of each feature."""
        parts, columns = [], []
        for column in frame.columns:
            if column in without:
                continue
            if not self.is_label(column):
                parts.append(frame[column].to_numpy(np.float64)[:, None])
                columns.append(column)
                continue
            labels = np.unique(like[column])
            parts.append((frame[column].to_numpy()[:, None] == labels[None, :]).astype(np.float64))
            columns += [column] * len(labels)
        return np.concatenate(parts, axis=1), columns


def detection(table, rows, seed, jobs):
    """The score, and each column's share of the gain of the trees."""
    some = table.train if len(rows) >= len(table.train) else table.train.sample(len(rows), random_state=seed)
    real, columns = table.features(some, table.train)
    made, _ = table.features(rows, table.train)
    x = np.nan_to_num(np.concatenate([real, made]))
    y = np.concatenate([np.ones(len(real)), np.zeros(len(made))])
    told, gains = [], np.zeros(x.shape[1])
    for fit, held in StratifiedKFold(3, shuffle=True, random_state=seed).split(x, y):
        model = XGBClassifier(random_state=seed, n_jobs=jobs).fit(x[fit], y[fit])
        told.append(2.0 * max(0.5, roc_auc_score(y[held], model.predict_proba(x[held])[:, 1])) - 1.0)
        for feature, gain in model.get_booster().get_score(importance_type="total_gain").items():
            gains[int(feature[1:])] += gain
    by_column = pd.Series(gains).groupby(np.array(columns)).sum().sort_values(ascending=False)
    return 1.0 - float(np.mean(told)), by_column / by_column.sum()


def total_variation(a, b):
    shares = pd.concat([a.value_counts(normalize=True), b.value_counts(normalize=True)], axis=1).fillna(0.0)
    return 0.5 * float((shares.iloc[:, 0] - shares.iloc[:, 1]).abs().sum())


def kolmogorov_smirnov(a, b):
    a, b = np.sort(a[~np.isnan(a)]), np.sort(b[~np.isnan(b)])
    at = np.concatenate([a, b])
    return float(np.max(np.abs(np.searchsorted(a, at, "right") / len(a) - np.searchsorted(b, at, "right") / len(b))))


def shape(table, rows):
    scores = []
    for c in table.train.columns:
        distance = total_variation if table.is_label(c) else lambda a, b: kolmogorov_smirnov(a.to_numpy(), b.to_numpy())
        scores.append(1.0 - distance(table.train[c], rows[c]))
    return float(np.mean(scores))


def trend(table, rows):
    def binned(frame, column):
        if table.is_label(column):
            return frame[column]
        return pd.Series(np.digitize(frame[column], np.histogram_bin_edges(table.train[column].dropna())))

    columns = list(table.train.columns)
    real, made = ({c: binned(frame, c) for c in columns} for frame in (table.train, rows))
    scores = []
    for k, a in enumerate(columns):
        for b in columns[k + 1:]:
            if table.is_label(a) or table.is_label(b):
                pairs = (pd.Series(list(zip(source[a], source[b]))) for source in (real, made))
                scores.append(1.0 - total_variation(*pairs))
            else:
                scores.append(1.0 - 0.5 * abs(table.train[a].corr(table.train[b]) - rows[a].corr(rows[b])))
    return float(np.nanmean(scores))


def utility(table, rows, seed, jobs):
    x, _ = table.features(rows, table.train, [table.target])
    test, _ = table.features(table.test, table.train, [table.target])
    if not table.is_label(table.target):
        model = XGBRegressor(random_state=seed, n_jobs=jobs).fit(x, rows[table.target])
        return float(mean_squared_error(table.test[table.target], model.predict(test)) ** 0.5)
    labels = list(np.unique(table.train[table.target]))
    y, wanted = (frame[table.target].map(labels.index).to_numpy() for frame in (rows, table.test))
    if len(np.unique(y)) < len(labels):
        return float("nan")
    p = XGBClassifier(random_state=seed, n_jobs=jobs).fit(x, y).predict_proba(test)
    return float(roc_auc_score(wanted, p[:, 1] if len(labels) == 2 else p, multi_class="ovr"))


class Segre:
    def __init__(self, args):
        self.args = args

    def __call__(self, table, seed):
        place = os.path.join(self.args.out, f"{table.name}.{seed}")
        log, start = place + ".log", time.time()
        with open(log, "w", encoding="utf-8") as file:
            for command in (["train", "--data", f"csv:{table.train_file}", "--out", place, "--seed", str(seed),
                             "--max-time", self.args.max_time, *self.args.train.split()],
                            ["sample", place, "--count", str(len(table.train)), "--out", place + ".csv", "--seed",
                             str(seed), *self.args.sample.split()]):
                if subprocess.run([self.args.segre, *command], stdout=file, stderr=file, check=False).returncode != 0:
                    sys.exit(f"segre {' '.join(command)} failed: see {log}")
        return table.read(place + ".csv"), time.time() - start


def independent(table, seed):
    """Every column shuffled on its own."""
    draw = np.random.default_rng(seed)
    return pd.DataFrame({c: draw.permutation(table.train[c].to_numpy()) for c in table.train.columns}), 0.0


def sdv_peer(kind):
    def run(table, seed):
        import torch  # pylint: disable=import-outside-toplevel
        from sdv import metadata, single_table  # pylint: disable=import-outside-toplevel
        np.random.seed(seed)
        torch.manual_seed(seed)
        types = {c: {"sdtype": "categorical" if table.is_label(c) else "numerical"} for c in table.train.columns}
        known = metadata.SingleTableMetadata.load_from_dict({"columns": types})
        start = time.time()
        model = getattr(single_table, kind)(known)
        model.fit(table.train)
        return table.typed(model.sample(len(table.train))), time.time() - start
    return run


def forest(table, seed):
    from ForestDiffusion import ForestDiffusionModel  # pylint: disable=import-outside-toplevel
    codes = {c: np.unique(table.train[c]) for c in table.labels}
    coded = table.train.assign(**{c: np.searchsorted(codes[c], table.train[c]) for c in codes})
    start = time.time()
    places = [list(table.train.columns).index(c) for c in codes]
    model = ForestDiffusionModel(coded.to_numpy(float), n_t=50, duplicate_K=10, cat_indexes=places, n_jobs=-1,
                                 seed=seed)
    made = pd.DataFrame(model.generate(batch_size=len(coded)), columns=table.train.columns)
    for c, labels in codes.items():
        made[c] = labels[made[c].round().astype(int).clip(0, len(labels) - 1)]
    return table.typed(made), time.time() - start


def mostly(table, seed):
    import tempfile  # pylint: disable=import-outside-toplevel
    from mostlyai import engine  # pylint: disable=import-outside-toplevel
    engine.set_random_state(seed)
    start = time.time()
    with tempfile.TemporaryDirectory() as place:
        kinds = {c: "TABULAR_CATEGORICAL" if table.is_label(c) else "TABULAR_NUMERIC_AUTO" for c in table.train.columns}
        engine.split(workspace_dir=place, tgt_data=table.train, model_type="TABULAR", tgt_encoding_types=kinds)
        engine.analyze(workspace_dir=place)
        engine.encode(workspace_dir=place)
        engine.train(workspace_dir=place)
        engine.generate(workspace_dir=place, sample_size=len(table.train))
        made = pd.read_parquet(os.path.join(place, "SyntheticData"))
    return table.typed(made[table.train.columns]), time.time() - start


PEERS = {"ctgan": sdv_peer("CTGANSynthesizer"), "tvae": sdv_peer("TVAESynthesizer"),
         "copula": sdv_peer("GaussianCopulaSynthesizer"), "forest": forest, "mostly": mostly}


def scored(table, name, rows, seconds, seed, args):
    score, gains = detection(table, rows, seed, args.jobs)
    if args.importance:
        print(f"{table.name}, {name}, seed {seed}, share of the gain: " +
              ", ".join(f"{c} {share:.2f}" for c, share in gains.head(10).items()), file=sys.stderr)
    return [score, shape(table, rows), trend(table, rows), utility(table, rows, seed, args.jobs), seconds]


def rows_of(table, args):
    """A line of the printed table for each program, several seeds as mean and spread."""
    programs = {"independent columns": independent}
    if not args.use:
        programs["segre"] = Segre(args)
    for use in args.use:
        name, path = use.split("=", 1)
        programs[name] = lambda table, seed, path=path: (table.read(path), float("nan"))
    programs.update({name: PEERS[name] for name in args.peers})
    lines = []
    for name, make in programs.items():
        found = []
        for seed in args.seeds:
            try:
                rows, seconds = make(table, seed)
            except ImportError as problem:
                print(f"{name} is left out: {problem}", file=sys.stderr)
                break
            found.append(scored(table, name, rows, seconds, seed, args))
        if not found:
            continue
        mean, spread = np.mean(found, axis=0), np.std(found, axis=0)
        cells = [f"{m:.3f}" + (f" +- {s:.3f}" if len(found) > 1 else "") for m, s in zip(mean[:4], spread[:4])]
        lines.append([table.name, name, *cells, "" if np.isnan(mean[4]) else f"{mean[4]:.0f}"])
        print(" | ".join(lines[-1]), file=sys.stderr)
    for name, figures in PUBLISHED.items():
        if table.name in figures:
            lines.append([table.name, f"{name}, published", f"{figures[table.name]:.3f}", "", "", "", ""])
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("segre", help="the program")
    parser.add_argument("folder", metavar="tables")
    parser.add_argument("out")
    parser.add_argument("--tables", default="adult,shoppers,magic", type=lambda text: text.split(","))
    parser.add_argument("--max-time", default="300s", help="of a training")
    parser.add_argument("--seeds", default="1", type=lambda text: [int(word) for word in text.split(",")])
    parser.add_argument("--train", default="", help="more options of 'segre train'")
    parser.add_argument("--sample", default="", help="more options of 'segre sample'")
    parser.add_argument("--peers", default=[], type=lambda text: text.split(","), help=", ".join(PEERS))
    parser.add_argument("--use", default=[], action="append", metavar="NAME=FILE.csv", help="score these rows instead")
    parser.add_argument("--importance", action="store_true", help="list the columns that give samples away")
    parser.add_argument("--jobs", default=2, type=int, help="threads of XGBoost")
    args = parser.parse_args()
    unknown = set(args.peers) - set(PEERS)
    if unknown:
        parser.error(f"no such peer: {', '.join(sorted(unknown))}; known: {', '.join(PEERS)}")
    os.makedirs(args.out, exist_ok=True)
    lines = [line for name in args.tables for line in rows_of(Table(args.folder, name), args)]
    print_markdown(["table", "rows of", "detection", "shape", "trend", "utility", "seconds"], lines)
    print("\nPublished: figures of TabPC (2026), mean of 5 trainings; their splits and settings of XGBoost may differ.")


if __name__ == "__main__":
    main()
