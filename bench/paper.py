#!/usr/bin/env python3
"""Draws the pictures of docs/paper.md from what its commands write, in the folder in which they were typed.

    bench/paper.py simplex | histograms | convergence | digits      writes paper_simplex.png, ...
"""

import argparse
import csv
import math

import matplotlib.pyplot as plt
import numpy as np

RECIPES = {"paper-": "the paper's recipe", "": "ours"}  # prefixes of runs


def joint(w):
    """T(W) [..., 4] of labels 00, 01, 10, 11, of the probability of label 1 of both variables [..., 2]."""
    a, b = w[..., 0], w[..., 1]
    return np.stack([(1 - a) * (1 - b), (1 - a) * b, a * (1 - b), a * b], -1)


def draw_curves(axes, trajectories, target, title):
    """Curves [steps, K, 4] of v in the tetrahedron of joint distributions, with the surface of independent variables."""
    corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], float)
    surface = joint(np.stack(np.meshgrid(*[np.linspace(0, 1, 25)] * 2), -1)) @ corners
    p = joint(1 / (1 + np.exp(trajectories[..., 0::2] - trajectories[..., 1::2])))
    end = p[-1].mean(0)
    print(f"{title}: mean of the ends {end.round(4)} +- {(p[-1].std(0) / len(p[-1]) ** 0.5).round(4)}")
    axes.plot_surface(*np.moveaxis(surface, -1, 0), color="0.75", alpha=0.35, linewidth=0)
    for i in range(4):
        for j in range(i):
            axes.plot(*corners[[i, j]].T, color="0.4", lw=0.8)
    for curve in np.moveaxis(p @ corners, 1, 0):
        axes.plot(*curve.T, color="#1f5fbf", lw=0.25, alpha=0.25)
    axes.plot(*(p[-1] @ corners).T, ".", color="#1f5fbf", ms=2)
    axes.plot(*(np.full(4, 0.25) @ corners)[:, None], "o", color="#c0392b", ms=6, zorder=9, label="barycentre")
    axes.plot(*(target @ corners)[:, None], "o", color="#0b2c66", ms=7, zorder=9, label="target")
    axes.plot(*(end @ corners)[:, None], "x", color="k", ms=8, mew=2, zorder=10, label="mean of the ends")
    for corner, name in zip(corners, ["00", "01", "10", "11"]):
        axes.text(*(1.1 * corner), name, ha="center", va="center", color="0.3", fontsize=9)
    axes.set_title(title, y=1.0, fontsize=11)
    axes.set_axis_off()
    axes.view_init(12, -25)
    axes.set_box_aspect((1, 1, 1), zoom=1.12)


def simplex():
    import segre

    figure, axes = plt.subplots(1, 2, figsize=(8.4, 4.6), subplot_kw={"projection": "3d"})
    for ax, (prefix, title) in zip(axes, RECIPES.items()):
        sampler = segre.train.Sampler(segre.load(f"runs/{prefix}coupled"), steps=100, sampler="midpoint", stop="end")
        draw_curves(ax, sampler.trajectories(1000), np.array([0.45, 0.05, 0.05, 0.45]), title)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncol=3, fontsize=9, frameon=False)
    figure.tight_layout()
    return figure


def histograms():
    import segre

    figure, axes = plt.subplots(3, 3, figsize=(6.6, 6.7))
    for column, toy in enumerate(["mixture", "pinwheel", "coupled"]):
        oracle = segre.Oracle(toy)
        labelings = tuple(np.asarray(oracle.labelings).T)
        p = np.zeros([max(labels) + 1 for labels in labelings])
        p[labelings] = oracle.p
        found = {"target": p}
        for prefix, name in RECIPES.items():
            labels = np.load(f"{prefix}{toy}.npy").astype(int)
            found[name] = np.zeros_like(p)
            np.add.at(found[name], tuple(labels.T), 1 / len(labels))
        for ax, (name, shares) in zip(axes[:, column], found.items()):
            ax.imshow(shares.T, origin="lower", cmap="Blues", vmin=0, vmax=1.1 * p.max(), interpolation="nearest")
            ax.set_xticks([])
            ax.set_yticks([])
            if p.size == 4:
                for (i, j), share in np.ndenumerate(shares):
                    ax.text(i, j, f"{share:.3f}", ha="center", va="center", color="w" if share > 0.28 else "k")
            if column == 0:
                ax.set_ylabel(name)
        axes[0, column].set_title(f"{toy}, {p.shape[0]} x {p.shape[1]}", fontsize=10)
    figure.tight_layout()
    return figure


def convergence():
    figure, axes = plt.subplots(figsize=(6.4, 3.2))
    for folder, name, colour in (("ball", "our recipe, the paper's ball", "#e08e0b"),
                                 ("paper-ball", "the paper's recipe, the paper's ball", "#c0392b"),
                                 ("path", "our recipe, path bound", "#1f5fbf")):
        with open(f"{folder}/convergence.csv", newline="") as file:
            rows = np.array([[float(x) for x in row.values()] for row in csv.DictReader(file)])
        axes.loglog(rows[:, 0], 100 * rows[:, 1], ".-", color=colour, label=name)
    axes.set(xlabel="draws per item", ylabel="relative error, %", ylim=(1e-3, 200), xlim=(0.9, 1700))
    axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(0, 0.48))
    axes.grid(color="#e6eaef")
    figure.tight_layout()
    return figure


def digits():
    sheet = plt.imread("ood/items.png")
    with open("ood/scores.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    figure, axes = plt.subplots(2, 10, figsize=(9.2, 2.3))
    height, width = sheet.shape[0] // 2, sheet.shape[1] // 10
    for r, kind in enumerate(("inside", "outside")):
        for k, row in enumerate([row for row in rows if row["set"] == kind][:10]):
            tile = sheet[r * height + 2:(r + 1) * height - 1, k * width + 2:(k + 1) * width - 1]
            axes[r, k].imshow(tile, cmap="gray", vmin=0, vmax=1)
            axes[r, k].axis("off")
            axes[r, k].set_title(f"{float(row['nats']) / math.log(2) / 1024:.3f}", fontsize=9, pad=3)
    figure.subplots_adjust(0.005, 0.01, 0.995, 0.92, 0.06, 0.18)
    return figure


def main():
    pictures = {draw.__name__: draw for draw in (simplex, histograms, convergence, digits)}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", choices=pictures)
    picture = parser.parse_args().picture
    pictures[picture]().savefig(f"paper_{picture}.png", dpi=90)


if __name__ == "__main__":
    main()
