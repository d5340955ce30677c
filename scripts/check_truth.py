#!/usr/bin/env python3
"""Trains every kind of network on small random joint distributions and compares all answers with brute force.

A case is a seed and a kind of network. Its table has 3 to 5 columns of texts, numbers or binned measurements, drawn
from a joint distribution that is known exactly, with holes of one of five kinds, and is sorted or shuffled. The real
commands train on it, sample, complete, predict and score; the Python package, if this interpreter has it, must give the
same. Every case prints a line with its largest deviations; the exit code is 1 if one is beyond its limit.

  scripts/check_truth.py                            two seeds of every kind
  scripts/check_truth.py --seeds 1-1000 --jobs 8
  scripts/check_truth.py --seeds 17-17 --only transformer --verbose --keep /tmp/case

What is compared, and how far it may be off:

  exact   The model with itself, where only rounding differs: the chain rule between commands, a row among other rows,
          the command line and Python. Filling in from left to right gives the network's probability of every labeling,
          M ('likelihood --enumerate'). Mixtures and trees infer exactly, so that every conditional they print must be
          that of M. Units of the tolerance, which is that of numbers in float32 with 6 digits.
  error   Draws and estimates against what they are draws and estimates of, in standard errors. What integrators,
          and networks whose conditionals are not quite those of one distribution, are off by is allowed for first.
  nats    Against the joint distribution: the Kullback-Leibler divergence of what is printed from the exact
          conditional, averaged over cells. A model that fits n rows with k parameters as well as possible is off by
          k/(2n); SHARE times that and ALLOWED, for training a few seconds, are permitted.
  share   The divergence of an answer from the right reading of holes, as a share of that from a wrong one: column
          frequencies, "(missing)" for unknown, unknown for "(missing)". Right answers gave 0.01 to 0.7, those of a
          transformer that had learned little up to 1.3; wrong ones, put in their place, 1.2 to 300 and mostly above 4.

The allowances were set by running some sixty cases, whose largest deviations were four fifths of them. Mistakes cost
more: a table is used only if its columns tell at least LEAST_TOLD nats about each other on average, which an answer at
chance loses.
"""

import argparse
import concurrent.futures
import csv
import itertools
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import traceback
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

REPOSITORY = Path(__file__).resolve().parent.parent
KINDS = {
    "latent_class": (600, ["net.classes=64", "train.lr=0.03"]),
    "tree": (30, []),
    "mlp": (1000, ["net.hidden=[128,128]", "train.lr=0.003"]),
    "residual": (800, ["net.blocks=2", "net.block_width=128", "net.dropout=0", "train.lr=0.003"]),
    "transformer": (700, ["net.layers=2", "net.width=32", "net.token_heads=2", "net.dropout=0", "train.lr=0.004"]),
}  # steps of 256 rows, twice as many to fill unknown cells, and the size of the network
EXACT = {"latent_class", "tree"}  # their conditionals are those of one distribution
HOLES = ["none", "random, a label", "random, unknown", "informative, a label", "by another column, unknown"]
ROWS, TEST_ROWS, SAMPLES, DRAWS = 6000, 200, 4000, 20
LEAST_TOLD = 0.25  # nats

SIGMAS = 5.5  # over 10^5 comparisons one false alarm in 250 runs
ROUNDING = 1e-5  # of a probability
SHARE = 3.0
ALLOWED = {"latent_class": 0.02, "tree": 0.005, "mlp": 0.05, "residual": 0.05, "transformer": 0.08}  # nats per column
FILLED = 0.03  # nats per column more if training fills in unknown cells, which converges slowly; not trees
INCOHERENT = 0.08  # nats: conditionals of a network that are not those of one distribution
NEARER = 2.0  # times as far from the right reading of holes as from a wrong one
APART = 0.04  # nats between two readings of holes, to tell which of them it was
FLOW = 0.003  # of a frequency: steps of the integrator, labels that are not decided at its end
COHERENT = 0.015  # of a frequency: conditionals of a network that are not those of one distribution
MISSING = "(missing)"
WORDS = ["ash", "beech, red", 'the "oak"', "Föhre", "elm", "fir=tree", "larch", "100%", "yew", "Ahorn"]


# ---- tables ---------------------------------------------------------------------------------------------------------


@dataclass
class Column:
    name: str
    labels: list[str]  # as the model sorts them; of a binned column: what the measurements are around
    bins: int = 0  # measurements 100 k to 100 (k + 1) for label k are cut into so many bins
    rates: np.ndarray | None = None  # chance of a hole by the label of `cause`
    cause: int = -1
    edges: np.ndarray | None = None  # between the model's bins

    def size(self):
        return len(self.edges) + 1 if self.bins else len(self.labels)


@dataclass
class Table:
    """A joint distribution p [c_1, ..., c_n] of labels, and how it appears in a file."""

    p: np.ndarray
    columns: list[Column]
    holes: str
    missing: str  # what training makes of holes: label or unknown
    is_sorted: bool
    token: str  # what stands for a missing value

    def draw(self, random, count):
        """Rows as the texts of a file, with holes."""
        x = np.stack(np.unravel_index(random.choice(self.p.size, count, p=self.p.ravel()), self.p.shape), 1)
        rows = np.empty(x.shape, dtype=object)
        for i, column in enumerate(self.columns):
            rows[:, i] = np.array(column.labels, dtype=object)[x[:, i]]
            if column.bins:
                rows[:, i] = [f"{100 * k + u:.2f}" for k, u in zip(x[:, i], random.random(count) * 99.99)]
            if column.rates is not None:
                rows[random.random(count) < column.rates[x[:, column.cause]], i] = None
        return rows

    def reads_missing(self, i):
        return self.missing == "label" and self.columns[i].rates is not None

    def seen(self):
        """The joint distribution of what the model sees: bins, and '(missing)' where it is a label."""
        q = self.p
        for i, column in enumerate(self.columns):
            channel = np.eye(self.p.shape[i])
            if column.bins:
                ends = np.concatenate([[-np.inf], column.edges, [np.inf]])
                around = 100.0 * np.arange(self.p.shape[i])[:, None]
                channel = np.diff(np.clip(ends, around, around + 100), axis=1) / 100
            if self.reads_missing(i):
                channel = np.hstack([channel * (1 - column.rates[:, None]), column.rates[:, None]])
            q = np.moveaxis(np.tensordot(q, channel, (i, 0)), -1, i)
        return q

    def codes(self, rows, unknown=False):
        """Texts as labels [rows, n], -1 where unknown: all holes if `unknown`, else those that are no label."""
        out = np.full(rows.shape, -1)
        for i, column in enumerate(self.columns):
            for k, text in enumerate(rows[:, i]):
                if text is None:
                    out[k, i] = column.size() if self.reads_missing(i) and not unknown else -1
                elif column.bins:
                    out[k, i] = np.searchsorted(column.edges, float(text), side="right")
                else:
                    out[k, i] = column.labels.index(text)
        return out

    def write(self, path, rows):
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([column.name for column in self.columns])
            writer.writerows([self.token if text is None else text for text in row] for row in rows)
        return path

    def source(self, path):
        bins = ",".join(f"{column.name}:{column.bins}" for column in self.columns if column.bins)
        return f"csv:{path}?missing={self.missing}" + (f"&bins={bins}" if bins else "")

    def __str__(self):
        sizes = "x".join(str(c) for c in self.p.shape)
        binned = ", binned" if any(column.bins for column in self.columns) else ""
        return f"{sizes}{binned}, holes {self.holes}, {'sorted' if self.is_sorted else 'shuffled'}"


def told(q):
    """How much the other columns tell about each, on average, in nats."""
    def entropy(p):
        p = p[p > 0]
        return -(p * np.log(p)).sum()
    return np.mean([entropy(q.sum(tuple({*range(q.ndim)} - {i}))) + entropy(q.sum(i)) - entropy(q)
                    for i in range(q.ndim)])  # fmt: skip


def random_joint(random, sizes, is_tree):
    """Any joint distribution, or one in which every column depends on one before it alone; with the leaves."""
    if not is_tree:
        p = np.exp(1.5 * random.normal(size=sizes))
        return p / p.sum(), list(range(len(sizes)))
    p = random.dirichlet(np.full(sizes[0], 3.0))
    parents = [-1]
    for i in range(1, len(sizes)):
        parents.append(int(random.integers(i)))
        table = random.dirichlet(np.full(sizes[i], 0.4), sizes[parents[i]])
        shape = [1] * i + [sizes[i]]
        shape[parents[i]] = sizes[parents[i]]
        p = p[..., None] * table.reshape(shape)
    return p, [i for i in range(len(sizes)) if i not in parents]


def random_table(random, kind, holes):
    while True:
        n = int(random.integers(3, 6))
        sizes = random.integers(2, 5, n)
        if sizes.prod() > 100:
            continue
        p, leaves = random_joint(random, sizes, kind == "tree")
        if told(p) > LEAST_TOLD and p.min() * p.size > 0.001:
            break
    columns = []
    for i, c in enumerate(sizes):
        if random.random() < 0.5:
            labels = [str(v) for v in sorted(random.choice([0, 1, 2, 7, 9, 10, 100, -3], c, replace=False).tolist())]
        else:
            labels = sorted(random.choice(WORDS, c, replace=False).tolist())
        columns.append(Column(["a", "b, too", "c=1", "größe", "e"][i], labels))
    if kind != "tree" and random.random() < 0.3:  # bins of a tree's columns do not depend on each other as a tree
        i = int(random.integers(n))
        columns[i] = Column("m", [str(100 * k) for k in range(sizes[i])], bins=int(sizes[i]))
    for i in range(n):
        column, how = columns[i], holes.split(",")[0]
        if how == "none" or (how == "by another column" and i == 0) or random.random() < 0.3:
            continue
        if kind == "tree" and holes.endswith("label") and i not in leaves:
            continue  # a hole hides a label that its neighbours depend on: no longer a tree
        column.cause = 0 if how == "by another column" else i
        c = int(sizes[column.cause])
        column.rates = np.full(c, random.uniform(0.1, 0.3)) if how == "random" else random.permutation(
            np.linspace(0.02, random.uniform(0.3, 0.6), c))  # fmt: skip
    return Table(p, columns, holes, "unknown" if holes.endswith("unknown") else "label", bool(random.random() < 0.5),
                 str(random.choice(["", "NA", "?"])))  # fmt: skip


# ---- brute force ----------------------------------------------------------------------------------------------------


class Answers:
    """Everything that can be asked of a joint distribution q; missing[i] is the label of missing values, or -1."""

    def __init__(self, q, missing):
        self.q, self.missing, self.kept = q, missing, {}

    def given(self, known, present=()):
        """q with the known labels (-1: unknown), without the label of missing values of the columns `present`."""
        key = (tuple(known), tuple(present))
        if key not in self.kept:
            q = self.q
            for i, label in enumerate(known):
                if label >= 0:
                    q = np.take(q, [label], i)
                elif i in present and self.missing[i] >= 0:
                    q = np.delete(q, self.missing[i], i)
            self.kept[key] = q
        return self.kept[key]

    def marginal(self, known, i, present=()):
        """p(x_i | known), of the labels other than that of missing values if i is in `present`."""
        q = self.given(known, present)
        q = q.sum(tuple(k for k in range(q.ndim) if k != i))
        return q / q.sum()

    def log_p(self, known):
        return math.log(self.given(known).sum())


def with_rest(p):
    return np.append(p, max(0.0, 1.0 - p.sum()))


def divergence(p, found):
    some = p > 0
    return float((p[some] * np.log(p[some] / np.maximum(found[some], 1e-300))).sum())


def chi_sigmas(counts, p, errors=0.0):
    """Chi-square of counts with probabilities p, as standard deviations of a normal number (Wilson and Hilferty).
    Outcomes expected less than ten times count together; frequencies may be off by `errors` for nothing."""
    total = counts.sum()
    rare = p * total < 10
    def pooled(x):
        return np.append(x[~rare], x[rare].sum()) if rare.any() else x
    counts, expected = pooled(counts), pooled(p * total)
    counts, expected = counts[expected > 0], expected[expected > 0]
    if len(counts) < 2:
        return 0.0
    off = np.maximum(np.abs(counts - expected) - errors * total, 0)
    k = len(counts) - 1
    chi = (off**2 / expected).sum() / k
    return float((chi ** (1 / 3) - (1 - 2 / (9 * k))) / math.sqrt(2 / (9 * k)))


# ---- a case ---------------------------------------------------------------------------------------------------------


@dataclass
class Found:
    """How far answers were off, as shares of what is permitted."""

    all: list = field(default_factory=list)  # unit, what, value, limit

    def add(self, unit, what, value, limit):
        self.all.append((unit, what, float(value), float(limit)))

    def same(self, what, one, other, scale=1.0):
        """Numbers that differ by rounding alone."""
        one, other = np.asarray(one, float), np.asarray(other, float)
        off = np.max(np.abs(one - other), initial=0.0) if one.shape == other.shape else np.inf
        self.add("exact", what, off, ROUNDING * scale)

    def true(self, what, holds):
        self.add("exact", what, 0.0 if holds else np.inf, ROUNDING)

    def failed(self):
        return [entry for entry in self.all if not entry[2] <= entry[3]]

    def worst(self, unit):
        some = (entry for entry in self.all if entry[0] == unit)
        return max(some, key=lambda entry: entry[2] / entry[3], default=(unit, "nothing", 0.0, 1.0))


class Case:
    def __init__(self, seed, kind, folder, program):
        self.kind, self.folder, self.program = kind, folder, program
        self.found = Found()
        place = list(KINDS).index(kind)
        self.random = np.random.default_rng([seed, place])
        self.seed = seed
        self.table = random_table(self.random, kind, HOLES[(seed + place) % len(HOLES)])
        self.names = [column.name for column in self.table.columns]
        self.n = len(self.names)
        self.fills = self.table.missing == "unknown"  # whether training fills holes by the model's own draws

    def segre(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True,
                              env={**os.environ, "OMP_NUM_THREADS": "1"}, timeout=300)  # fmt: skip
        if done.returncode != 0:
            raise RuntimeError(f"segre {' '.join(map(str, arguments))}\n{done.stderr}")
        return done.stdout

    def read(self, name):
        with open(self.folder / name, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def limit(self, cells=1):
        """Of a divergence from the joint distribution, of so many columns."""
        by_rows = SHARE * (self.q.q.size - 1) / (2 * ROWS)
        return by_rows + cells * (ALLOWED[self.kind] + FILLED * (self.fills and self.kind != "tree"))

    def train(self):
        table = self.table
        rows = table.draw(self.random, ROWS)
        if table.is_sorted:
            rows = np.array(sorted(rows, key=lambda row: [text or "" for text in row]), dtype=object)
        self.training = table.source(table.write(self.folder / "train.csv", rows))
        steps, network = KINDS[self.kind]
        self.config = [f"net.kind={self.kind}", f"train.steps={steps * (1 + self.fills)}", "train.batch=256",
                       "train.warmup=50", "train.ema=0.99", "data.holdout=0.05", *network]  # fmt: skip
        sets = [word for key in self.config for word in ("--set", key)]
        self.segre("train", "--data", self.training, "--out", "run", "--seed", self.seed, *sets)
        self.read_labels()
        rows = table.draw(self.random, TEST_ROWS)
        self.rows, self.gaps = rows, rows.copy()
        self.gaps[self.random.random(rows.shape) < 0.3] = None
        table.write(self.folder / "test.csv", self.rows)
        table.write(self.folder / "gaps.csv", self.gaps)

    def read_labels(self):
        """The probabilities of all labelings, and with them the model's labels."""
        self.segre("likelihood", "run", "--enumerate", "--bound", "order", "--order", "left-to-right", "--samples", 0,
                   "--out", "all.csv")  # fmt: skip
        lines = self.read("all.csv")
        self.labels = [list(dict.fromkeys(line[name] for line in lines)) for name in self.names]
        for i, column in enumerate(self.table.columns):
            expected = column.labels + [MISSING] * self.table.reads_missing(i)
            if column.bins:
                bins = [text for text in self.labels[i] if text != MISSING]
                column.edges = np.array([float(re.match(r"\[(.*), ", text)[1]) for text in bins[1:]])
                expected = bins + [MISSING] * self.table.reads_missing(i)
            self.found.true("labels are sorted, (missing) last", self.labels[i] == expected)
        shape = [len(labels) for labels in self.labels]
        model = np.exp([float(line["log_p"]) for line in lines]).reshape(shape)
        missing = [labels.index(MISSING) if MISSING in labels else -1 for labels in self.labels]
        self.q, self.model = Answers(self.table.seen(), missing), Answers(model, missing)
        self.found.same("probabilities of all labelings add up to 1", model.sum(), 1.0)
        self.found.add("nats", "all labelings against the joint", divergence(self.q.q, model), self.limit(self.n))

    def frequencies(self, what, name, expected, errors):
        """Samples of a file against a joint distribution: chi-square if they are exact, else single and pairs."""
        codes = self.codes_of_samples(name)
        for some in itertools.chain(itertools.combinations(range(self.n), 2), [tuple(range(self.n))] * (errors == 0)):
            p = expected.sum(tuple(i for i in range(self.n) if i not in some))
            counts = np.zeros(p.shape)
            np.add.at(counts, tuple(codes[:, list(some)].T), 1)
            self.found.add("error", what, chi_sigmas(counts.ravel(), p.ravel() / p.sum(), errors), SIGMAS)

    def codes_of_samples(self, name):
        """Samples write a missing value with the file's token."""
        missing = {"", MISSING, self.table.token}
        return np.array([[labels.index(MISSING if line[c] in missing else line[c])
                          for c, labels in zip(self.names, self.labels)] for line in self.read(name)])  # fmt: skip

    def sample(self):
        exact = self.kind in EXACT
        errors = FLOW if exact else FLOW + COHERENT
        self.segre("sample", "run", "--count", SAMPLES, "--out", "samples.csv")
        self.frequencies("samples", "samples.csv", self.model.q, errors)
        self.segre("sample", "run", "--count", SAMPLES, "--sampler", "erasure", "--steps", self.n,
                   "--out", "filled.csv")  # fmt: skip
        self.frequencies("samples by erasure", "filled.csv", self.model.q, 0.0 if exact else COHERENT)
        i = int(self.random.integers(self.n))
        known = np.full(self.n, -1)
        known[i] = self.q.q.sum(tuple({*range(self.n)} - {i})).argmax()
        pair = f"{self.names[i]}={self.labels[i][known[i]]}"
        if self.table.columns[i].bins or re.search(r'[,"%]|=.*=', pair):
            return
        self.segre("sample", "run", "--count", SAMPLES, "--given", pair, "--out", "given.csv")
        expected = np.zeros_like(self.model.q)
        place = tuple(slice(known[k], known[k] + 1) if k == i else slice(None) for k in range(self.n))
        expected[place] = self.model.given(known)
        self.frequencies("samples --given", "given.csv", expected / expected.sum(), errors)

    def probabilities(self, name):
        """--probabilities: {(row, column): distribution of the labels}, 0 for that of missing values."""
        out = {}
        for line in self.read(name):
            i = self.names.index(line["column"])
            p = out.setdefault((int(line["row"]) - 1, i), np.zeros(len(self.labels[i])))
            p[self.labels[i].index(line["label"])] = float(line["probability"])
        return out

    def conditionals(self, what, p, known, present):
        """Distributions {(row, column): p} against those of the model and of the joint, given known [rows, n]."""
        of_truth, of_model, rounded = [], [], 0.0
        readings = {"as any label": [], "as a label": []}
        as_labels = self.table.codes(self.gaps)
        for (row, i), found in p.items():
            found = np.delete(found, self.q.missing[i]) if self.q.missing[i] >= 0 else found
            right = self.q.marginal(known[row], i, present)
            of_truth.append(divergence(right, found))
            by_model = self.model.marginal(known[row], i, present)
            of_model.append(divergence(by_model, found))
            rounded = max(rounded, np.abs(by_model - found).max())
            if (known[row] < 0).sum() > 1:  # other holes, too
                readings["as any label"].append((right, self.q.marginal([-1] * self.n, i, present), found))
                told = np.where(np.arange(self.n) == i, -1, as_labels[row])
                readings["as a label"].append((right, self.q.marginal(told, i, (i,)), found))
        self.add_conditionals(what, rounded, of_model, of_truth)
        self.add_reading("complete: rows with holes at chance", readings["as any label"])
        self.add_reading("complete: other holes as (missing)", readings["as a label"])

    def add_reading(self, what, answers):
        """Answers must be nearer to what is right than to what another reading of holes would give. Networks are off by
        something in every direction, which counts on both sides."""
        answers = [(right, wrong, found) for right, wrong, found in answers if divergence(right, wrong) > 0.01]
        if len(answers) < 20 or np.mean([divergence(right, wrong) for right, wrong, _ in answers]) < APART:
            return
        near, far = (np.mean([divergence(answer[k], answer[2]) for answer in answers]) for k in (0, 1))
        self.found.add("share", what, near / max(far, 1e-9), NEARER)

    def add_conditionals(self, what, rounded, of_model, of_truth):
        if self.kind in EXACT:
            self.found.add("exact", f"{what}, against all labelings", rounded, ROUNDING)
        else:
            self.found.add("nats", f"{what}, against all labelings", np.mean(of_model), INCOHERENT)
        self.found.add("nats", f"{what}, against the joint", np.mean(of_truth), self.limit())

    def complete(self):
        """Holes are unknown, and no answer is '(missing)'."""
        known, present = self.table.codes(self.gaps, unknown=True), tuple(range(self.n))
        self.segre("complete", "run", "--data", "csv:gaps.csv", "--draws", DRAWS, "--out", "draws.csv",
                   "--probabilities", "p.csv")  # fmt: skip
        self.p = p = self.probabilities("p.csv")
        self.found.true("--probabilities has every unknown cell", set(p) == set(zip(*np.nonzero(known < 0))))
        self.conditionals("complete", p, known, present)
        self.check_draws(p, known)
        # The same rows in another order, and a part of them.
        order = self.random.permutation(TEST_ROWS)
        self.table.write(self.folder / "mixed.csv", self.gaps[order])
        self.segre("complete", "run", "--data", "csv:mixed.csv", "--best", "--out", "best.csv",
                   "--probabilities", "mixed-p.csv")  # fmt: skip
        mixed = {(order[row], i): found for (row, i), found in self.probabilities("mixed-p.csv").items()}
        cells = sorted(p)
        self.found.same("complete among other rows", np.concatenate([mixed[cell] for cell in cells]),
                        np.concatenate([p[cell] for cell in cells]))  # fmt: skip
        self.check_best(mixed, order)
        part = TEST_ROWS // 3
        self.segre("complete", "run", "--data", f"csv:gaps.csv?limit={part}", "--draws", DRAWS, "--out", "part.csv")
        alone, first = self.read("part.csv"), self.read("draws.csv")[: part * DRAWS]
        self.found.true("draws do not depend on later rows", alone == first)

    def check_draws(self, p, known):
        """What is known stays as it is, and draws have the frequencies that --probabilities says."""
        lines = self.read("draws.csv")
        texts = np.array([[line[name] for name in self.names] for line in lines], dtype=object)
        texts = texts.reshape(TEST_ROWS, DRAWS, self.n)
        there = known >= 0
        kept = np.where(there, self.gaps, "")[:, None, :].repeat(DRAWS, 1)
        self.found.true("complete keeps what is known", (np.where(there[:, None, :], texts, "") == kept).all())
        codes = self.table.codes(texts.reshape(-1, self.n)).reshape(texts.shape)
        errors = FLOW if self.kind in EXACT else FLOW + COHERENT
        for i in range(self.n):
            cells = [row for row in range(TEST_ROWS) if not there[row, i]]
            for j in range(len(self.labels[i])):
                found = np.array([(codes[row, :, i] == j).sum() for row in cells])
                expected = np.array([p[row, i][j] for row in cells])
                spread = math.sqrt(DRAWS * (expected * (1 - expected)).sum() + 1.0)
                off = max(0.0, abs(found.sum() - DRAWS * expected.sum()) - errors * DRAWS * len(cells))
                self.found.add("error", "draws against --probabilities", off / spread, SIGMAS)

    def check_best(self, p, order):
        best = self.table.codes(np.array([[line[name] for name in self.names] for line in self.read("best.csv")],
                                         dtype=object))  # fmt: skip
        place = np.argsort(order)
        behind = max(found.max() - found[best[place[row], i]] for (row, i), found in p.items())
        self.found.add("exact", "--best is the most likely label", behind, ROUNDING)

    def leak(self):
        """complete --given: what is not given must not come back, as a number would that the file has."""
        binned = [i for i in range(self.n) if self.table.columns[i].bins]
        if not binned:
            return
        others = ",".join(quoted(name) for i, name in enumerate(self.names) if i not in binned)
        self.segre("complete", "run", "--data", "csv:test.csv", "--given", others, "--out", "imputed.csv")
        found = [line[self.names[binned[0]]] for line in self.read("imputed.csv")]
        there = [text for text in self.rows[:, binned[0]] if text is not None]
        same = sum(one == other for one, other in zip(found, self.rows[:, binned[0]]))
        self.found.add("error", "numbers that come back from the file", same, 1.5 + 0.02 * len(there))

    def predict(self):
        """The target is unknown, the others are read as training reads them."""
        codes = self.table.codes(self.rows)
        for i in self.random.permutation(self.n)[:2]:
            self.segre("predict", "run", "--data", f"csv:test.csv?missing={self.table.missing}",
                       "--column", self.names[i], "--out", "predicted.csv")  # fmt: skip
            lines = self.read("predicted.csv")
            of_truth, of_model, rounded, readings = [], [], 0.0, []
            for row, line in enumerate(lines):
                known = codes[row].copy()
                known[i] = -1
                kept = [label for label in self.labels[i] if label != MISSING]
                q, model = self.q.marginal(known, i, (i,)), self.model.marginal(known, i, (i,))
                told = {kept.index(line["label"]): float(line["probability"])}
                if self.rows[row, i] is not None:
                    truth = codes[row, i]
                    self.found.true("predict knows the truth", line["truth"] == kept[truth])
                    told[truth] = float(line["truth_probability"])
                some = list(told)  # of the other labels only the sum is told
                found = with_rest(np.array(list(told.values())))
                of_truth.append(divergence(with_rest(q[some]), found))
                of_model.append(divergence(with_rest(model[some]), found))
                rounded = max(rounded, np.abs(with_rest(model[some]) - found).max())
                holes = tuple(k for k in range(self.n) if k == i or self.rows[row, k] is None)
                unknown = self.q.marginal(np.where(np.isin(np.arange(self.n), holes), -1, codes[row]), i, holes)
                readings.append((with_rest(q[some]), with_rest(unknown[some]), found))
            self.add_conditionals("predict", rounded, of_model, of_truth)
            self.add_reading("predict: holes as unknown", readings)

    def scores(self, *arguments, data="csv:test.csv"):
        """log p and standard error per row; holes are what training makes of them."""
        self.segre("likelihood", "run", "--data", f"{data}?missing={self.table.missing}", *arguments,
                   "--out", "scores.csv")  # fmt: skip
        lines = self.read("scores.csv")
        return tuple(np.array([float(line[name]) for line in lines]) for name in ("log_p", "std_error"))

    def score(self):
        codes = self.table.codes(self.rows)
        order = ("--bound", "order", "--order", "left-to-right")
        size = int(self.random.integers(1, self.n))
        some = sorted(self.random.permutation(self.n)[:size]) if self.kind in EXACT else list(range(size))
        one = ",".join(quoted(self.names[i]) for i in some)
        other = ",".join(quoted(self.names[i]) for i in range(self.n) if i not in some)
        within = np.where(np.isin(np.arange(self.n), some), codes, -1)
        whole = np.array([self.model.log_p(row) for row in codes])
        part = np.array([self.model.log_p(row) for row in within])
        of_all, of_one = self.scores(*order)[0], self.scores(*order, "--only", one)[0]
        of_other = self.scores(*order, "--only", other, "--given", one)[0]
        self.found.same("--only A and --only B --given A are all", of_one + of_other, of_all)
        if self.kind in EXACT or (codes >= 0).all():
            self.found.same("left to right, against all labelings", of_all, whole, 10)
            self.found.same("--only, against all labelings", of_one, part, 10)
        self.chain(of_all, codes)
        self.estimate("--bound free", whole, codes, "--bound", "free", "--times", 256)
        self.estimate("--bound path", whole, codes, "--bound", "path", "--draws", 2, "--items", 16)  # they are slow
        self.estimate("--bound order", whole, codes, "--bound", "order", "--times", 64)
        self.estimate("--bound free --given", whole - part, codes, "--bound", "free", "--times", 256, "--given", one)
        self.estimate("--bound free --only", part, within, "--bound", "free", "--times", 256, "--only", one)
        # The same rows in another order.
        shuffled = self.random.permutation(TEST_ROWS)
        self.table.write(self.folder / "shuffled.csv", self.rows[shuffled])
        free = ("--bound", "free", "--times", 32)
        self.found.same("scores among other rows", self.scores(*free, data="csv:shuffled.csv")[0],
                        self.scores(*free)[0][shuffled], 10)  # fmt: skip

    def estimate(self, what, exact, codes, *arguments):
        """Estimates against log p; rows that are equal have equal errors, and count once."""
        found, error = self.scores(*arguments)
        exact, codes = exact[: len(found)], codes[: len(found)]
        _, first, counts = np.unique(codes, axis=0, return_index=True, return_counts=True)
        off, error = (found - exact)[first], error[first]
        if self.kind in EXACT:
            allowed = 2e-3 * len(first)  # misread labels and integration, which the errors printed have too
            sigmas = max(0.0, abs(off.sum()) - allowed) / math.sqrt((error**2).sum() + 1e-12)
            self.found.add("error", f"{what}, against all labelings", sigmas, SIGMAS)
        else:
            mean = abs((off * counts).sum() / counts.sum())
            noise = SIGMAS * math.sqrt(((error * counts) ** 2).sum()) / counts.sum()
            self.found.add("nats", f"{what}, against all labelings", max(0.0, mean - noise), INCOHERENT * self.n)

    def chain(self, of_all, codes):
        """The mean log loss of predict over an order is that of filling in from left to right."""
        if any(self.table.reads_missing(i) for i in range(self.n)):
            return  # predict knows that the target is not missing
        total = np.zeros(TEST_ROWS)
        for i in range(self.n):
            rows = self.rows.copy()
            rows[:, i + 1 :] = None
            self.table.write(self.folder / "prefix.csv", rows)
            self.segre("predict", "run", "--data", "csv:prefix.csv?missing=unknown", "--column", self.names[i],
                       "--out", "step.csv")  # fmt: skip
            total += [math.log(float(line["truth_probability"] or 1)) for line in self.read("step.csv")]
        self.found.same("predict over an order, against left to right", total, of_all, 10)

    def python(self):
        """The package gives what the command line gives: numbers as the texts that it writes."""
        try:
            import pandas as pd
            import segre
        except ImportError:
            return
        model = segre.load(self.folder / "run")
        test, gaps, train = (pd.read_csv(self.folder / f"{name}.csv", na_values=[self.table.token])
                             for name in ("test", "gaps", "train"))  # fmt: skip
        p = model.predict(gaps)
        starts = np.concatenate([[0], np.cumsum([len(labels) for labels in self.labels])])
        texts = {cell: [f"{v:.6g}" for v in p[cell[0], starts[cell[1]] : starts[cell[1] + 1]]] for cell in self.p}
        off = [abs(float(text) - value) for cell, found in self.p.items()
               for j, (text, value) in enumerate(zip(texts[cell], found)) if j != self.q.missing[cell[1]]]  # fmt: skip
        self.found.true("Python: probabilities", max(off) == 0.0)
        drawn = model.complete(gaps, draws=DRAWS).reset_index(drop=True)
        self.found.true("Python: completions", self.same_table(drawn, "draws.csv"))
        self.found.true("Python: samples", self.same_table(model.sample(SAMPLES), "samples.csv", binned=False))
        self.scores("--bound", "free", "--times", 32)
        scores = model.log_prob(test, evaluations=32, missing=self.table.missing)
        texts = [line["log_p"] for line in self.read("scores.csv")]
        self.found.true("Python: scores", [f"{v:.10g}" for v in scores] == texts)
        if self.seed % 4 == 0:  # it takes as long as the training before
            # Whole numbers stay whole where some are missing, or their labels would be 2.0 and 10.0, sorted as texts.
            table = train.convert_dtypes()
            bins = {column.name: column.bins for column in self.table.columns if column.bins}
            config = {key: eval_key(value) for key, value in (word.split("=", 1) for word in self.config)}
            config["seed"] = self.seed
            again = segre.fit(table, config=config, missing=self.table.missing, progress=False, bins=bins or None)
            other = again.log_prob(test, evaluations=32, missing=self.table.missing)
            self.found.true("Python: the same model", list(other) == list(scores))

    def same_table(self, frame, name, binned=True):
        lines = self.read(name)
        for i, column in enumerate(self.names):
            if self.table.columns[i].bins and not binned:
                continue  # the command line writes the names of bins
            missing = {"", MISSING, self.table.token}
            found = [None if v != v or v is None else plain(str(v)) for v in frame[column]]
            if found != [None if line[column] in missing else plain(line[column]) for line in lines]:
                return False
        return True


def plain(text):
    """A number if it is one: 2 and 2.0, or 12.5 and 12.50, are the same value."""
    try:
        return float(text)
    except ValueError:
        return text


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def eval_key(text):
    """The value of a key of a config."""
    if text.startswith("["):
        return [int(v) for v in text.strip("[]").split(",")]
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text


# ---- all cases ------------------------------------------------------------------------------------------------------


def run_case(seed, kind, program, keep):
    """The line that a case prints, and whether it is right."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(keep) / f"{seed}-{kind}" if keep else Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        case = Case(seed, kind, folder, program)
        title = f"seed {seed}  {kind}: {case.table}"
        try:
            for part in (case.train, case.sample, case.complete, case.leak, case.predict, case.score, case.python):
                part()
        except Exception:  # a command or a function that fails is a finding, too
            return f"{title}: FAILED\n{traceback.format_exc(limit=-2)}", False, case.found.all
        worst = [f"{value:.3g} of {limit:.2g} {unit} ({what})" for unit, what, value, limit in
                 (case.found.worst(unit) for unit in ("exact", "error", "nats", "share"))]  # fmt: skip
        failed = "".join(f"\n  {what}: {value:.4g} {unit}, at most {limit:.4g} permitted" for unit, what, value, limit
                         in case.found.failed())  # fmt: skip
        return f"{title}: {'FAILED' if failed else 'worst ' + ', '.join(worst)}{failed}", not failed, case.found.all


def parse_seeds(text):
    """"A-B", or "N" for 1 to N."""
    found = re.fullmatch(r"(?:(\d+)-)?(\d+)", text)
    if not found or int(found[1] or 1) > int(found[2]):
        raise argparse.ArgumentTypeError(f"{text}: expected A-B, or N for 1 to N")
    return range(int(found[1] or 1), int(found[2]) + 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=parse_seeds, default=range(1, 3), metavar="A-B|N",
                        help="default: 2, for 1 and 2")  # fmt: skip
    parser.add_argument("--only", choices=KINDS, action="append", help="only this kind of network")
    parser.add_argument("--build", default=REPOSITORY / "build", type=Path, help="where the program segre is")
    parser.add_argument("--jobs", type=int, default=2, help="cases at a time, each on one thread")
    parser.add_argument("--keep", metavar="DIR", help="keep the files of every case there")
    parser.add_argument("--one", action="store_true", help="only the first case, in this process; prints it as JSON")
    parser.add_argument("--verbose", action="store_true", help="at the end, the largest deviations of each comparison")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    program = options.build.resolve() / "segre"
    keep = options.keep and Path(options.keep).resolve()
    cases = [(seed, kind) for seed in options.seeds for kind in options.only or KINDS]
    if options.one:
        print(json.dumps(run_case(*cases[0], program, keep), default=float))
        return
    n_failed, everything = 0, []

    # Processes of their own: the package has its threads and its LibTorch. Not a pool of them, which needs /dev/shm.
    def in_a_process(seed, kind):
        command = [sys.executable, __file__, "--one", "--seeds", f"{seed}-{seed}", "--only", kind, "--build", options.build]
        done = subprocess.run([*command, *(["--keep", keep] if keep else [])], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"seed {seed}, {kind}: {done.stderr}")
        return json.loads(done.stdout.splitlines()[-1])

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(in_a_process, *case) for case in cases]):
            line, right, found = done.result()
            print(line, flush=True)
            n_failed += not right
            everything += found
    if options.verbose:
        for unit, what in sorted({tuple(entry[:2]) for entry in everything}):
            shares = sorted(value / limit for u, w, value, limit in everything if (u, w) == (unit, what))
            print(f"{unit:6} {what:55} {len(shares):6} comparisons; of the limit: median {np.median(shares):.3f}, "
                  f"99% {shares[int(0.99 * (len(shares) - 1))]:.3f}, worst {shares[-1]:.3f}")  # fmt: skip
    print(f"{len(cases)} cases, {len(everything)} comparisons, {n_failed} cases failed")
    sys.exit(n_failed > 0)


if __name__ == "__main__":
    main()
