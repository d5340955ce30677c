#!/usr/bin/env python3
"""The table of bench/density.sh, which also asks it for the sizes of the data sets.

    bench/density.py OUT/results.jsonl
    bench/density.py --describe DIR NAME LABELS.csv

Prints in Markdown the nats per test row of each model and data set, and their standard errors over test rows (which
include that of estimation). Lower is better.
  tree          the tree of largest mutual information, by segre's bound `order`
  mixture       a mixture of products, by segre's bound `free`. Tree and mixture are exact: their bounds are tight
  segre free    the default recipe: at least -log p of the stochastic sampler, in the mean
  segre order   the same network: at least -log p of filling in label by label in any order, in the mean
  network       the one that the default recipe chose
  causal        a transformer in PyTorch, from left to right; exact
  masked        a transformer in PyTorch, any order; a bound like segre's `order`
--describe prints a JSON line of sizes. If a column has labels only in the validation or test rows, it also writes
LABELS.csv, the dictionary= of the training table that declares all labels of these columns.
"""

import argparse
import csv
import json
import pathlib
import sys

from tables import print_markdown, read_table

MISSING = {"", "NA", "N/A", "NaN", "nan", "null", "NULL", "?", "(missing)"}  # as segre reads them
COLUMNS = {  # (model, bound) to show, the first one that is there
    "tree": [("tree", "order"), ("tree", "free")],
    "mixture": [("mixture", "free")],
    "segre free": [("segre", "free")],
    "segre order": [("segre", "order")],
    "network": None,
    "causal": [("causal", "exact")],
    "masked": [("masked", "order")],
}


def describe(folder, name, labels_file):
    tables = {part: read_table(folder / f"{name}.{part}.csv.gz") for part in ("train", "valid", "test")}
    names = tables["train"][0]
    for part, (columns, rows) in tables.items():
        if columns != names or any(len(row) != len(names) for row in rows):
            sys.exit(f"{folder / name}.{part}.csv.gz: other columns than in {name}.train.csv.gz")
        if not rows:
            sys.exit(f"{folder / name}.{part}.csv.gz: has no rows")
    parts = {part: [["" if cell in MISSING else cell for cell in row] for row in rows]
             for part, (_, rows) in tables.items()}
    trained = [set(column) for column in zip(*parts["train"])]
    every = [set(column) for column in zip(*(row for rows in parts.values() for row in rows))]
    lacking = {column: labels for column, labels, there in zip(names, every, trained) if labels != there}
    if lacking:
        with open(labels_file, "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["column", "label"])
            writer.writerows([column, label] for column, labels in lacking.items() for label in sorted(labels))

    def unseen_rows(part):
        return sum(any(cell not in there for cell, there in zip(row, trained)) for row in parts[part])

    counts = [len(labels) for labels in every]
    print(json.dumps({"name": name, "model": "data", "bound": "none", "columns": len(names),
                      "labels": [min(counts), max(counts)], **{part: len(rows) for part, rows in parts.items()},
                      "unseen": {"labels": sum(counts) - sum(map(len, trained)), "valid": unseen_rows("valid"),
                                 "test": unseen_rows("test")},
                      "missing": sum(cell == "" for rows in parts.values() for row in rows for cell in row)}))


def with_error(result):
    digits = 3 if result["nats"] < 10 else 2
    return f"{result['nats']:.{digits}f} +- {result['error']:.{digits}f}"


def row_of(name, results):
    data = results.get(("data", "none"), {})
    cells = [name, str(data.get("columns", "")), f"{data['train']:,}" if data else "",
             f"{data['test']:,}" if data else ""]
    for choices in COLUMNS.values():
        if choices is None:
            chosen = next((result for (model, _), result in results.items() if model == "segre"), {})
            cells.append(chosen.get("network", ""))
            continue
        found = [results[choice] for choice in choices if choice in results]
        cells.append(with_error(found[0]) if found else "")
    return cells


def notes_of(name, data):
    """What a reader has to know about the rows."""
    if data.get("unseen", {}).get("labels"):
        unseen = data["unseen"]
        yield (f"{name}: labels that the training rows lack: {unseen['labels']}, in {unseen['valid']} validation and "
               f"{unseen['test']} test rows. They are declared, and all rows are scored.")
    if data.get("missing"):
        yield f"{name}: has {data['missing']:,} missing cells; the nats are those of the other cells."


def print_table(path):
    found = {}  # name: {(model, bound): the last such line}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        try:
            result = json.loads(line)
            found.setdefault(result["name"], {})[result["model"], result["bound"]] = result
        except (ValueError, KeyError, TypeError):
            sys.exit(f"{path}:{number}: is not a result")
    print_markdown(["data", "columns", "training rows", "test rows", *COLUMNS],
                   [row_of(name, results) for name, results in sorted(found.items())])
    notes = [note for name, results in sorted(found.items())
             for note in notes_of(name, results.get(("data", "none"), {}))]
    if notes:
        print("\n" + "\n".join(notes))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="?", type=pathlib.Path)
    parser.add_argument("--describe", nargs=3, metavar=("DIR", "NAME", "LABELS.csv"))
    args = parser.parse_args()
    if (args.results is None) == (args.describe is None):
        parser.error("give either OUT/results.jsonl or --describe")
    try:
        if args.describe:
            folder, name, labels_file = args.describe
            describe(pathlib.Path(folder), name, labels_file)
        else:
            print_table(args.results)
    except OSError as problem:
        sys.exit(str(problem))


if __name__ == "__main__":
    main()
