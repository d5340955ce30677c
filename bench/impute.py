#!/usr/bin/env python3
"""Predicts deleted cells of a table of zeros and ones: 'segre complete' compared with simpler methods.

    .venv/bin/python bench/impute.py --run RUN --train plants.train.csv.gz --test plants.test.csv.gz
        [--rows 1000] [--shares 0.1,0.3,0.5] [--options 'header=0&labels=0|1'] [-- OPTIONS OF segre complete]

RUN was trained on --train. A share of the cells in the first test rows is deleted at random, and every method gives the
probability that each of them is 1, given the rest of its row. Prints accuracy and log loss per deleted cell,
  column frequencies   from the training rows, whatever the rest of the row
  Chow-Liu tree        the tree of largest mutual information; its marginals given the rest are exact
  IterativeImputer     of scikit-learn: linear regressions of each column on all others, in ten rounds
  segre                'segre complete --probabilities'
"""

import argparse
import csv
import pathlib
import sys
import tempfile
import warnings

import numpy as np

from tables import delete_cells, print_markdown, read_table, run, source, write_table

FLOOR = 1e-6  # least probability of a label: no single cell decides the log loss


class Frequencies:
    def __init__(self, train):
        self.p = (train.sum(0) + 1) / (len(train) + 2)

    def __call__(self, x):
        return np.broadcast_to(self.p, x.shape)


class ChowLiuTree:
    """Probabilities have Laplace smoothing: each of the four pairs of labels of two columns is counted once more."""

    def __init__(self, train):
        x = train.astype(float)
        total = len(x) + 4
        labels = [1 - x, x]
        joint = np.array([[(a.T @ b + 1) / total for b in labels] for a in labels])  # [2, 2, D, D]
        alone = np.array([(a.sum(0) + 2) / total for a in labels])  # [2, D], the margin of any pair
        information = (joint * np.log(joint / (alone[:, None, :, None] * alone[None, :, None, :]))).sum((0, 1))
        self.order, self.parent = spanning_tree(information)
        self.root = alone[:, self.order[0]]
        # Of each column but the root: [label of the parent, label].
        self.given = {v: joint[:, :, p, v] / alone[:, p, None] for v, p in self.parent.items()}

    def log_likelihood(self, x):
        """Of rows without gaps."""
        value = np.log(self.root[x[:, self.order[0]]])
        for v, p in self.parent.items():
            value = value + np.log(self.given[v][x[:, p], x[:, v]])
        return value

    def __call__(self, x):
        """Sum-product belief propagation, all rows at once: the probability of 1 in every cell of x (-1: unknown)."""
        # Of each column [rows, 2]: its own label and everything below it; then, in `above`, everything else.
        below = np.stack([x != 1, x != 0], -1).astype(float).transpose(1, 0, 2)
        message = {}
        for v in reversed(self.order[1:]):
            message[v] = normalised(below[v] @ self.given[v].T)
            below[self.parent[v]] *= message[v]
            below[self.parent[v]] = normalised(below[self.parent[v]])
        above = {self.order[0]: np.broadcast_to(self.root, below[0].shape)}
        for v in self.order[1:]:
            p = self.parent[v]
            # Smoothing keeps messages above 0, so the column's own one can be divided out.
            above[v] = normalised((above[p] * below[p] / message[v]) @ self.given[v])
        return np.stack([normalised(above[v] * below[v])[:, 1] for v in range(len(below))], 1)


def normalised(weights):
    return weights / weights.sum(-1, keepdims=True)


def spanning_tree(weights):
    """Prim's algorithm: the columns from the root down, and the parent of each but the root."""
    order, parent = [0], {}
    best = np.array(weights[0])  # of the edges to columns in the tree
    nearest = np.zeros(len(weights), int)
    best[0] = -np.inf
    while len(order) < len(weights):
        v = int(best.argmax())
        order.append(v)
        parent[v] = int(nearest[v])
        closer = weights[v] > best
        closer[order] = False
        best[closer], nearest[closer] = weights[v][closer], v
        best[v] = -np.inf
    return order, parent


class ScikitImputer:
    def __init__(self, train):
        from sklearn.experimental import enable_iterative_imputer  # noqa: F401
        from sklearn.impute import IterativeImputer

        # Complete rows leave nothing to impute, so fitting would stop after one round and so would imputing: the number
        # of rounds is that of fitting. With a tolerance of 0 it is max_iter.
        self.imputer = IterativeImputer(max_iter=10, tol=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "not converged", as intended
            self.imputer.fit(train.astype(float))

    def __call__(self, x):
        # Regressions leave the unit interval.
        return np.clip(self.imputer.transform(np.where(x < 0, np.nan, x)), 0.001, 0.999)


class Segre:
    def __init__(self, args, names):
        self.args, self.names = args, names

    def __call__(self, x):
        p = np.full(x.shape, np.nan)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            write_table(folder / "gaps.csv", self.names, np.where(x < 0, "", x.astype(str)), self.args.options)
            run([self.args.segre, "complete", self.args.run, "--data", source(folder / "gaps.csv", self.args.options),
                 "--out", folder / "full.csv", "--probabilities", folder / "p.csv", "--seed", self.args.seed,
                 *self.args.completing])
            column = {name: i for i, name in enumerate(self.names)}
            with open(folder / "p.csv", newline="") as file:
                for line in csv.DictReader(file):
                    at = int(line["row"]) - 1, column[line["column"]]
                    one = float(line["probability"]) if line["label"] == "1" else 1 - float(line["probability"])
                    if line["label"] == "1" or np.isnan(p[at]):  # a model may know no 1 in a column of zeros
                        p[at] = one
        if np.isnan(p[x < 0]).any():
            sys.exit("segre complete: no probability of some deleted cells")
        return p


def labels_of(rows, path):
    cells = np.array(rows)
    if not np.isin(cells, ["0", "1"]).all():
        sys.exit(f"{path}: expected only 0 and 1")
    return (cells == "1").astype(np.int8)


def measure(p, truth, unknown):
    """Accuracy, log loss and its standard error over rows; cells of a row are not independent."""
    right = np.clip(np.where(truth == 1, p, 1 - p), FLOOR, 1 - FLOOR)
    loss = np.where(unknown, -np.log(right), 0).sum(1)
    cells = unknown.sum(1)
    mean = loss.sum() / cells.sum()
    n = len(truth)
    error = np.sqrt(n / (n - 1) * ((loss - mean * cells) ** 2).sum()) / cells.sum()
    accuracy = ((p > 0.5) == (truth == 1))[unknown].mean()
    return f"{100 * accuracy:.2f}%", f"{mean:.4f} +- {error:.4f}"


def check_tree(tree, test):
    print(f"Chow-Liu tree, complete test rows: log p {tree.log_likelihood(test).mean():.4f} nats per row")
    # By the chain rule the marginals must give the same: uncover the cells one by one.
    x = test[:100]
    chain = np.zeros(len(x))
    for i in range(x.shape[1]):
        known = np.where(np.arange(x.shape[1]) < i, x, -1)
        p = tree(known)[:, i]
        chain += np.log(np.where(x[:, i] == 1, p, 1 - p))
    print(f"largest difference to the chain rule in {len(x)} rows: {abs(chain - tree.log_likelihood(x)).max():.1e}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--segre", default="build/segre")
    parser.add_argument("--run", help="a model of the training table")
    parser.add_argument("--without-segre", action="store_true", help="only the other methods")
    parser.add_argument("--train", required=True)
    parser.add_argument("--test", required=True)
    parser.add_argument("--rows", type=int, default=1000, help="first rows of the test table to use")
    parser.add_argument("--shares", default="0.1,0.3,0.5", help="of the cells to delete")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--options", default="", help="how segre reads the tables, e.g. 'header=0&labels=0|1'")
    parser.add_argument("--sklearn-rows", type=int, default=3000, help="most training rows for IterativeImputer")
    parser.add_argument("--check-tree", action="store_true", help="print the tree's log-likelihood of the test table")
    parser.add_argument("completing", nargs="*", help="options of 'segre complete', after --")
    args = parser.parse_args()
    if not args.run and not args.without_segre:
        parser.error("give --run RUN or --without-segre")
    names, train = read_table(args.train, args.options)
    train = labels_of(train, args.train)
    test_names, test = read_table(args.test, args.options)
    if test_names != names:
        sys.exit(f"{args.test}: other columns than in {args.train}")
    tree = ChowLiuTree(train)
    if args.check_tree:
        check_tree(tree, labels_of(test, args.test))
    methods = {"column frequencies": Frequencies(train), "Chow-Liu tree": tree,
               "IterativeImputer": ScikitImputer(train[:args.sklearn_rows])}
    if not args.without_segre:
        methods["segre"] = Segre(args, names)
    rows = test[:args.rows]
    truth = labels_of(rows, args.test)
    shares = args.shares.split(",")
    found = {name: [] for name in methods}
    for share in shares:
        unknown = np.array(delete_cells(rows, float(share), args.seed)) == ""
        for name, method in methods.items():
            found[name] += measure(method(np.where(unknown, -1, truth)), truth, unknown)
    header = ["method"] + [f"{float(share):.0%} deleted: {what}" for share in shares
                           for what in ("accuracy", "log loss, nats")]
    print_markdown(header, [[name, *values] for name, values in found.items()])


if __name__ == "__main__":
    main()
