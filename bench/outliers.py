#!/usr/bin/env python3
"""Finds planted rows: how high 'segre outliers' ranks rows with a combination never seen in training.

    bench/outliers.py --segre build/segre --tables 20 [--same-file] [-- OPTIONS OF segre train]

Every table has 6 to 12 categorical columns of 2 to 6 labels that depend on each other (a random Bayesian network). Of
300 rows three are planted: each has a pair of labels that never occur together although both are common; everything
else in the row is drawn as in the others. A model is trained on clean rows of the same distribution (--same-file: on
the ranked file itself, planted rows included) and ranks the 300 rows. Prints the ranks of the planted rows and the area
under the ROC curve,
  before       by one pass of 'segre likelihood --times 32', the method before 'segre outliers' existed
  score, nats  by these columns of 'segre outliers'
  combination  by nats - independent: how surprising all labels are together, however rare each of them is
  pairs        without a model: how many pairs of the row's labels never occur in training
"""

import argparse
import csv
import math
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

PLANTED = 3
LEAST_SHARE = 0.15  # minimum for a label to count as common


def dirichlet(rng, n, spread=1.7):
    weights = [math.exp(spread * rng.gauss(0, 1)) for _ in range(n)]
    floor = 0.01 * sum(weights)
    total = sum(weights) + n * floor
    return [(w + floor) / total for w in weights]


def draw(rng, shares):
    return rng.choices(range(len(shares)), shares)[0]


class Network:
    """Columns in order, each with up to two earlier ones as parents."""

    def __init__(self, rng):
        n = rng.randint(6, 12)
        self.labels = [rng.randint(2, 6) for _ in range(n)]
        self.parents = [rng.sample(range(i), min(i, rng.randint(1, 2))) for i in range(n)]
        self.shares = []
        for i in range(n):
            table = {}
            for key in self._keys(i):
                table[key] = dirichlet(rng, self.labels[i])
            self.shares.append(table)

    def _keys(self, i):
        keys = [()]
        for parent in self.parents[i]:
            keys = [key + (label,) for key in keys for label in range(self.labels[parent])]
        return keys

    def row(self, rng, forced=None):
        row = []
        for i in range(len(self.labels)):
            key = tuple(row[parent] for parent in self.parents[i])
            row.append(forced[i] if forced and i in forced else draw(rng, self.shares[i][key]))
        return row

    def forbid(self, i, parent, a, b):
        at = self.parents[i].index(parent)
        for key, shares in self.shares[i].items():
            if key[at] == a:
                shares[b] = 0.0
                total = sum(shares)
                shares[:] = [s / total for s in shares]


def choose_forbidden(rng, network, rows):
    """Pairs (child, parent, a, b) of labels that are common, in different children."""
    found = []
    children = [i for i in range(len(network.labels)) if network.parents[i] and network.labels[i] > 2]
    rng.shuffle(children)
    for i in children:
        parent = rng.choice(network.parents[i])
        pairs = [(a, b) for a in range(network.labels[parent]) for b in range(network.labels[i])
                 if share(rows, parent, a) >= LEAST_SHARE and share(rows, i, b) >= 1.5 * LEAST_SHARE]
        if pairs:
            found.append((i, parent, *rng.choice(pairs)))
        if len(found) == PLANTED:
            return found
    return None


def share(rows, i, label):
    return sum(row[i] == label for row in rows) / len(rows)


def make_table(seed, n_rows, n_train):
    """Training rows, rows to rank, and which of the latter are planted."""
    rng = random.Random(seed)
    while True:
        network = Network(rng)
        forbidden = choose_forbidden(rng, network, [network.row(rng) for _ in range(500)])
        if not forbidden:
            continue
        for pair in forbidden:
            network.forbid(*pair)
        train = [network.row(rng) for _ in range(n_train)]
        common = all(min(share(train, p, a), share(train, i, b)) >= LEAST_SHARE for i, p, a, b in forbidden)
        if common:
            break
    known = [set(column) for column in zip(*train)]
    rows = []
    while len(rows) < n_rows - PLANTED:
        row = network.row(rng)
        if all(label in seen for label, seen in zip(row, known)):
            rows.append(row)
    planted = []
    for i, parent, a, b in forbidden:
        while True:
            row = network.row(rng, {i: b, parent: a})
            pairs = sum(row[p] == x and row[c] == y for c, p, x, y in forbidden)
            if pairs == 1 and all(label in seen for label, seen in zip(row, known)):
                break
        place = rng.randint(0, len(rows))
        rows.insert(place, row)
        planted = [k + (k >= place) for k in planted] + [place]
    return train, rows, planted


def write_table(path, rows):
    with open(path, "w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow([f"c{i}" for i in range(len(rows[0]))])
        writer.writerows([[chr(ord("a") + label) for label in row] for row in rows])


def unseen_pairs(train, rows):
    n = len(rows[0])
    seen = {(i, j, row[i], row[j]) for row in train for i in range(n) for j in range(i)}
    return [sum((i, j, row[i], row[j]) not in seen for i in range(n) for j in range(i)) for row in rows]


def auroc(scores, planted):
    inside = [s for k, s in enumerate(scores) if k not in planted]
    wins = sum((scores[p] > s) + 0.5 * (scores[p] == s) for p in planted for s in inside)
    return wins / (len(inside) * len(planted))


def ranks(scores, planted):
    return sorted(1 + sum(s > scores[p] for s in scores) for p in planted)


def columns_of(path, key):
    """A CSV file as {column: values in the order of `key`}."""
    with open(path, newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: int(row[key]))
    return {name: [row[name] for row in rows] for name in rows[0]}


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return done


def measure(args, seed, folder):
    train, rows, planted = make_table(seed, args.rows, args.train_rows)
    write_table(folder / "train.csv", train)
    write_table(folder / "rows.csv", rows)
    learned = "rows.csv" if args.same_file else "train.csv"
    run([args.segre, "train", "--data", f"csv:{folder / learned}", "--out", str(folder / "run"), *args.training])
    data = ["--data", f"csv:{folder / 'rows.csv'}", "--checkpoint", args.checkpoint]
    run([args.segre, "likelihood", str(folder / "run"), *data, "--times", "32", "--out", str(folder / "before.csv")])
    before = [-float(x) for x in columns_of(folder / "before.csv", "item")["log_p"]]
    # Without percentiles, few rows need to be scored for them.
    run([args.segre, "outliers", str(folder / "run"), *data, "--error", args.error,
         "--calibration", "1000" if args.percentiles else "8", "--out", str(folder / "odd.csv")])
    found = columns_of(folder / "odd.csv", "item")
    ordinary = [float(x) >= 95 for k, x in enumerate(found["percentile"]) if k not in planted]
    scores = {"before": before} | {name: [float(x) for x in found[name]] for name in ("score", "nats")}
    simple = [float(x) for x in found["independent"]]
    scores["combination"] = [nats - labels for nats, labels in zip(scores["nats"], simple)]
    scores["pairs"] = unseen_pairs(rows if args.same_file else train, rows)
    return {name: (auroc(values, planted), ranks(values, planted)) for name, values in scores.items()}, ordinary


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--segre", default="build/segre")
    parser.add_argument("--tables", type=int, default=20)
    parser.add_argument("--first", type=int, default=1, help="seed of the first table")
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--train-rows", type=int, default=600)
    parser.add_argument("--same-file", action="store_true")
    parser.add_argument("--percentiles", action="store_true",
                        help="also print how many ordinary rows reach the 95th percentile, which should be 5%%")
    parser.add_argument("--error", default="0.1")
    parser.add_argument("--checkpoint", default="last")
    parser.add_argument("training", nargs="*", help="options of 'segre train', after --")
    args = parser.parse_args()
    results, beyond = [], []
    for seed in range(args.first, args.first + args.tables):
        with tempfile.TemporaryDirectory() as folder:
            found, ordinary = measure(args, seed, pathlib.Path(folder))
        results.append(found)
        beyond.append(statistics.mean(ordinary))
        shown = "; ".join(f"{name} {ranks} ({area:.3f})" for name, (area, ranks) in results[-1].items())
        print(f"table {seed}: {shown}" + (f"; beyond 95: {beyond[-1]:.3f}" if args.percentiles else ""), flush=True)
    if args.percentiles:
        error = statistics.stdev(beyond) / len(beyond) ** 0.5 if len(beyond) > 1 else math.nan
        print(f"\nordinary rows at or above the 95th percentile: {statistics.mean(beyond):.4f} +- {error:.4f} of them")
    print("\nscore        AUROC: mean, lowest   rank of a planted row: median, worst   among the first 10")
    for name in results[0]:
        areas = [result[name][0] for result in results]
        all_ranks = [rank for result in results for rank in result[name][1]]
        first = sum(rank <= 10 for rank in all_ranks)
        print(f"{name:12} {statistics.mean(areas):.4f}, {min(areas):.4f}        {statistics.median(all_ranks):5.1f}, "
              f"{max(all_ranks):3}                        {first} of {len(all_ranks)}")


if __name__ == "__main__":
    main()
