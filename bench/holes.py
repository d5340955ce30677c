#!/usr/bin/env python3
"""Answers about rows with holes, per network and setting of missing=, through the commands that users type.

    bench/holes.py xor                     y = a xor b with 3% of the labels flipped, and an irrelevant column
    bench/holes.py table --train T.csv --test E.csv [--options 'columns=a,b'] [--share 0.3]
    bench/holes.py mar                     x is missing in 70% or 5% of the rows, depending on the label of z
    bench/holes.py sorted                  150,000 rows sorted by a column of three labels
        [--kinds residual,transformer,...] [--steps 800] [--train-share 0.1] [--seed 1]

xor, table: trains on rows of which --train-share of the cells are deleted, then asks 'segre complete --probabilities' for
cells deleted from the test rows: --share of all cells, or in xor only y, with the irrelevant column or without it. Prints accuracy and
log loss in nats per cell, beside those of the column frequencies and, for the whole test rows, the order bound divided by
the number of columns: what the model's own chain rule promises for a cell, on average over how many others are known.

mar: the share of z = u in the data, in samples, by 'likelihood --only z', and as the marginal that 'complete' gives for an
empty row. One model should give one answer. sorted: the share of the last label in the data and in samples.
"""

import argparse
import collections
import csv
import math
import pathlib
import random
import re
import tempfile

from tables import delete_cells, print_markdown, read_table, run, source, write_table

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "?", "(missing)")


class Trained:
    """A run of segre in a folder."""

    def __init__(self, args, folder, table, kind, *options):
        self.args, self.folder = args, folder
        self.run = folder / "-".join(["run", kind, *options])
        steps = 100 if kind == "tree" else args.steps  # a tree is counted
        run([args.segre, "train", "--data", source(table, *options), "--out", self.run, "--seed", args.seed, "--set",
             f"net.kind={kind}", "--set", f"train.steps={steps}", "--set", "train.evidence=any",
             *(word for value in args.set for word in ("--set", value))])

    def probabilities(self, table):
        """Of each unknown cell: {(row, column): {label: probability}}, rows counted from 0."""
        found = collections.defaultdict(dict)
        run([self.args.segre, "complete", self.run, "--data", source(table), "--out", self.folder / "full.csv",
             "--probabilities", self.folder / "p.csv"])
        with open(self.folder / "p.csv", newline="") as file:
            for line in csv.DictReader(file):
                found[int(line["row"]) - 1, line["column"]][line["label"]] = float(line["probability"])
        return found

    def nats(self, table, *options):
        """Of the rows, by the bound that is asked for."""
        text = run([self.args.segre, "likelihood", self.run, "--data", source(table), "--items", "0", *options])
        return float(re.search(r"-log p per item (?:at most|about) ([-0-9.e+]+) nats", text).group(1))


def measure(pairs):
    """Accuracy and log loss +- standard error of (probabilities by label, true label)."""
    losses = [-math.log(max(p.get(truth, 0.0), 1e-12)) for p, truth in pairs]
    right = sum(max(p, key=p.get) == truth for p, truth in pairs)
    mean = sum(losses) / len(losses)
    error = math.sqrt(sum((x - mean) ** 2 for x in losses)) / len(losses)
    return f"{right / len(losses):.3f}", f"{mean:.3f} +- {error:.3f}"


def frequencies(names, rows):
    counts = {name: collections.Counter(row[i] for row in rows if row[i] not in MISSING) for i, name in enumerate(names)}
    return {name: {label: n / sum(count.values()) for label, n in count.items()} for name, count in counts.items()}


def compare(args, names, train, test, questions, options=""):
    """`questions`: what is asked; the cells (row, column) of the test rows that are deleted for it, and those measured."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_table(folder / "train.csv", names, delete_cells(train, args.train_share, args.seed))
        write_table(folder / "test.csv", names, test)
        alone = frequencies(names, train)
        cells = {what: [(r, i) for r, i in measured if test[r][i] in alone[names[i]]]
                 for what, (_, measured) in questions.items()}
        rows = [["column frequencies", "", *(value for what in questions for value in measure(
            [(alone[names[i]], test[r][i]) for r, i in cells[what]])), ""]]
        for missing in ("label", "unknown"):
            for kind in args.kinds.split(","):
                model = Trained(args, folder, folder / "train.csv", kind, options, f"missing={missing}")
                row = [kind, missing]
                for what, (deleted, _) in questions.items():
                    holes = [list(line) for line in test]
                    for r, i in deleted:
                        holes[r][i] = ""
                    write_table(folder / "holes.csv", names, holes)
                    p = model.probabilities(folder / "holes.csv")
                    row += measure([(p[r, names[i]], test[r][i]) for r, i in cells[what]])
                promise = model.nats(folder / "test.csv", "--bound", "order") / len(names)
                rows.append([*row, f"{promise:.3f}"])
        header = ["network", "missing="] + [f"{what}: {x}" for what in questions for x in ("accuracy", "log loss")]
        print_markdown([*header, "order bound / columns"], rows)


def ask_xor(args):
    rng = random.Random(args.seed)
    rows = []
    for _ in range(6000):
        a, b = rng.randrange(2), rng.randrange(2)
        y = a ^ b ^ (rng.random() < 0.03)
        rows.append([f"a{a}", f"b{b}", rng.choice(["left", "right", "ahead"]), f"y{y}"])
    train, test = rows[:5000], rows[5000:]
    y = [(r, 3) for r in range(len(test))]
    compare(args, ["a", "b", "irrelevant", "y"], train, test,
            {"y of all others": (y, y), "y, irrelevant blank": (y + [(r, 2) for r in range(len(test))], y)})


def ask_table(args):
    names, train = read_table(args.train)
    others, test = read_table(args.test)
    chosen = args.columns.split(",") if args.columns else names
    pick = lambda own, rows: [[row[own.index(name)] for name in chosen] for row in rows]
    train = pick(names, train)
    seen = [set(column) - set(MISSING) for column in zip(*delete_cells(train, args.train_share, args.seed))]
    test = [row for row in pick(others, test) if all(cell in labels for cell, labels in zip(row, seen))][:args.rows]
    deleted = delete_cells([["x"] * len(chosen)] * len(test), args.share, args.seed + 1)
    cells = [(r, i) for r, row in enumerate(deleted) for i, cell in enumerate(row) if cell == ""]
    compare(args, chosen, train, test, {f"{args.share:.0%} deleted": (cells, cells)}, args.options)


def ask_mar(args):
    rng = random.Random(args.seed)
    rows = []
    for _ in range(20000):
        z = rng.choice("uv")
        x = "pq"[rng.random() < (0.8 if z == "u" else 0.3)]
        y = "st"[rng.random() < (0.9 if x == "q" else 0.2)]
        rows.append([z, "" if rng.random() < (0.7 if z == "u" else 0.05) else x, y])
    table = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_table(folder / "train.csv", ["z", "x", "y"], rows)
        write_table(folder / "u.csv", ["z", "x", "y"], [["u", "p", "s"]])
        write_table(folder / "empty.csv", ["z", "x", "y"], [["", "", ""]])
        truth = sum(row[0] == "u" for row in rows) / len(rows)
        for kind in args.kinds.split(","):
            model = Trained(args, folder, folder / "train.csv", kind, "missing=unknown")
            run([args.segre, "sample", model.run, "--count", "20000", "--out", folder / "samples.csv"])
            samples = read_table(folder / "samples.csv")[1]
            only = math.exp(-model.nats(folder / "u.csv", "--only", "z", "--error", "0.005"))
            marginal = model.probabilities(folder / "empty.csv")[0, "z"]["u"]
            table.append([kind, f"{truth:.3f}", f"{sum(row[0] == 'u' for row in samples) / len(samples):.3f}",
                          f"{only:.3f}", f"{marginal:.3f}"])
    print_markdown(["network", "p(z = u) in the data", "samples", "--only z", "marginal"], table)


def ask_sorted(args):
    rng = random.Random(args.seed)
    rows = []
    for year in ("2021", "2022", "2023"):
        for _ in range(50000):
            a = rng.randrange(2 if year == "2023" else 4)
            rows.append([year, f"a{a}", f"b{(a + rng.randrange(2)) % 4}"])
    table = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_table(folder / "train.csv", ["year", "a", "b"], rows)
        for kind in args.kinds.split(","):
            model = Trained(args, folder, folder / "train.csv", kind)
            run([args.segre, "sample", model.run, "--count", "20000", "--out", folder / "samples.csv"])
            samples = read_table(folder / "samples.csv")[1]
            table.append([kind, "0.333", f"{sum(row[0] == '2023' for row in samples) / len(samples):.3f}"])
    print_markdown(["network", "share of the last year in the data", "in samples"], table)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("question", choices=["xor", "table", "mar", "sorted"])
    parser.add_argument("--segre", default="build/segre")
    parser.add_argument("--kinds", default="residual,transformer,mlp,latent_class,tree", help="values of net.kind")
    parser.add_argument("--steps", type=int, default=800, help="of each training")
    parser.add_argument("--train", help="table: rows to learn from")
    parser.add_argument("--test", help="table: rows to ask about")
    parser.add_argument("--columns", help="table: only these, separated by commas")
    parser.add_argument("--options", default="", help="table: further options of the source")
    parser.add_argument("--rows", type=int, default=1000, help="table: first rows of the test table to use")
    parser.add_argument("--share", type=float, default=0.3, help="table: of the test cells to delete")
    parser.add_argument("--train-share", type=float, default=0.1, help="of the training cells to delete")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], help="key=value for 'segre train', as often as wanted")
    args = parser.parse_args()
    {"xor": ask_xor, "table": ask_table, "mar": ask_mar, "sorted": ask_sorted}[args.question](args)


if __name__ == "__main__":
    main()
