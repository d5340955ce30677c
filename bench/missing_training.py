#!/usr/bin/env python3
"""Training on tables with missing cells: what a model loses, and what leaving them out gains over a label of their own.

    bench/missing_training.py --train T.csv --valid V.csv --test E.csv [--share 0.3] [--max-time 60s]
        [--options 'header=0&labels=0|1'] [-- OPTIONS OF segre train]

A share of the training and validation cells is deleted at random. Trains for the same time on the complete tables, on
those with gaps read with missing=unknown, and on the same read with missing=label. Prints for the complete test rows
  test nats            the bound on -log p
  error                its standard error, of the estimate; the second one includes the choice of test rows
  more than complete   the mean difference between the rows' nats and those of the first model, with its standard error
With missing=label, the model also spends probability on missing cells, of which the test rows have none. The last line
is the same model given that no cell is missing, an event of probability (1 - share)^columns.
"""

import argparse
import collections
import csv
import math
import pathlib
import re
import statistics
import tempfile

from tables import delete_cells, print_markdown, read_table, run, source, write_table

NUMBER = r"([-+]?[0-9.]+(?:e[-+]?[0-9]+)?)"


def train(args, out, train_source, valid_source):
    run([args.segre, "train", "--data", train_source, "--set", f"data.validation={valid_source}", "--out", out,
         "--max-time", args.max_time, "--seed", args.seed, "--device", args.device, *args.training])


def first_number(pattern, text):
    found = re.search(pattern.replace("NUMBER", NUMBER), text)
    return found.group(1) if found else "unknown"


def score(args, out):
    """The nats of each row, and the printed errors of their mean: of estimation, and of the population."""
    scores = out.with_suffix(".csv")
    text = run([args.segre, "likelihood", out, "--data", source(args.test, args.options), "--times", args.times,
                "--device", args.device, "--out", scores])
    with open(scores, newline="") as file:
        lines = sorted(csv.DictReader(file), key=lambda line: int(line["item"]))
    return [-float(line["log_p"]) for line in lines], [first_number("standard error of estimation NUMBER", text),
                                                       first_number("NUMBER for the population", text)]


def difference(nats, others, distinct):
    """Mean of what `nats` has more than `others`, and its standard error."""
    more = [a - b for a, b in zip(nats, others)]
    mean = statistics.mean(more)
    sums = collections.Counter()  # by distinct row: equal rows share the noise of their scores
    for row, value in zip(distinct, more):
        sums[row] += value - mean
    return mean, math.sqrt(sum(value ** 2 for value in sums.values())) / len(more)


def write_gaps(args, folder):
    for name, path, seed in (("train", args.train, args.seed), ("valid", args.valid, args.seed + 1)):
        columns, rows = read_table(path, args.options)
        write_table(folder / f"{name}.csv", columns, delete_cells(rows, args.share, seed), args.options)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--segre", default="build/segre")
    parser.add_argument("--train", required=True)
    parser.add_argument("--valid", required=True)
    parser.add_argument("--test", required=True)
    parser.add_argument("--share", type=float, default=0.3, help="of the cells to delete")
    parser.add_argument("--max-time", default="60s", help="of each training")
    parser.add_argument("--times", type=int, default=64, help="evaluations per test row")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--options", default="", help="how segre reads the tables, e.g. 'header=0&labels=0|1'")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("training", nargs="*", help="options of 'segre train', after --")
    args = parser.parse_args()
    columns, test = read_table(args.test, args.options)
    distinct = [tuple(row) for row in test]
    no_gap = -len(columns) * math.log(1 - args.share)
    rows, complete = [], None
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_gaps(args, folder)
        whole, gaps = (args.train, args.valid), (folder / "train.csv", folder / "valid.csv")
        for tables, missing in ((whole, ""), (gaps, "missing=unknown"), (gaps, "missing=label")):
            out = folder / f"run{len(rows)}"
            train(args, out, *(source(table, args.options, missing) for table in tables))
            nats, errors = score(args, out)
            complete = complete or nats
            more, error = difference(nats, complete, distinct)
            for less in (0, no_gap) if missing == "missing=label" else (0,):
                what = f"{args.share:.0%} deleted, {missing}" if missing else "complete"
                rows.append([what + (", given no gap" if less else ""), f"{statistics.mean(nats) - less:.3f}", *errors,
                             f"{more - less:+.3f} +- {error:.3f}" if missing else ""])
    print_markdown(["training tables", "test nats", "error", "error, with choice of rows", "more than complete"], rows)


if __name__ == "__main__":
    main()
