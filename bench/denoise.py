#!/usr/bin/env python3
"""Restores label maps with random labels in some pixels: 'segre complete --noise' compared with filters.

    .venv/bin/python bench/denoise.py --run RUN --clean CLEAN.npy [--noise 0.3] [--items 20] [--picture OUT.png]
        [-- OPTIONS OF segre complete]

CLEAN.npy has label maps [N, h, w] that RUN was not trained on. Each pixel of the first --items maps gets a label drawn
uniformly with probability --noise. Prints the share of correct pixels and the mean intersection over union of labels,
  noisy                  the maps as they are
  majority filter        the most frequent label of a window, 3 x 3 or 5 x 5
  Potts model            its iterated conditional modes (ICM), with the true noise and 8 neighbours
  segre, best and draw   the most likely label of each pixel, and one sample of the whole map
The window and the strength of the Potts model are those with most correct pixels in the first two maps. --picture draws
the first five maps: clean, noisy, majority, ICM, segre's best.
"""

import argparse
import pathlib
import struct
import sys
import tempfile
import zlib

import numpy as np

from tables import print_markdown, run

STRENGTHS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
SWEEPS = 10
OKABE_ITO = [(0, 0, 0), (230, 159, 0), (86, 180, 233), (0, 158, 115),
             (240, 228, 66), (0, 114, 178), (213, 94, 0), (204, 121, 167)]


def add_noise(maps, share, n_labels, seed):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(maps.shape) < share, rng.integers(n_labels, size=maps.shape), maps)


def one_hot(maps, n_labels):
    return (maps[..., None] == np.arange(n_labels)).astype(np.float32)


def majority(maps, n_labels, radius):
    _, h, w = maps.shape
    own = one_hot(maps, n_labels)
    padded = np.pad(own, ((0, 0), (radius, radius), (radius, radius), (0, 0)))
    window = range(2 * radius + 1)
    votes = sum(padded[:, y:y + h, x:x + w] for y in window for x in window)
    return (votes + 0.5 * own).argmax(-1)  # the pixel's own label decides ties


def potts_icm(maps, n_labels, noise, strength):
    """Maximises log p(noisy | map) + strength * (number of equal neighbours), pixel by pixel."""
    _, h, w = maps.shape
    data = np.log(noise / n_labels + (1 - noise) * one_hot(maps, n_labels))
    state = np.pad(one_hot(maps, n_labels), ((0, 0), (1, 1), (1, 1), (0, 0)))
    neighbours = [(y, x) for y in range(3) for x in range(3) if (y, x) != (1, 1)]
    for _ in range(SWEEPS):
        # Pixels of a lattice with step 2 are not neighbours, so updating them together is the same as one by one.
        for a, b in ((0, 0), (0, 1), (1, 0), (1, 1)):
            equal = sum(state[:, a + y:h + y:2, b + x:w + x:2] for y, x in neighbours)
            best = (data[:, a::2, b::2] + strength * equal).argmax(-1)
            state[:, a + 1:h + 1:2, b + 1:w + 1:2] = one_hot(best, n_labels)
    return state[:, 1:-1, 1:-1].argmax(-1)


def accuracy(maps, clean):
    return (maps == clean).mean()


def mean_iou(maps, clean):
    """Over the labels of the clean maps, each counted over all maps."""
    shares = [((maps == k) & (clean == k)).sum() / ((maps == k) | (clean == k)).sum() for k in np.unique(clean)]
    return np.mean(shares)


def best_for(clean, noisy, restore, settings):
    """The setting with most correct pixels in the first two maps."""
    return max(settings, key=lambda setting: accuracy(restore(noisy[:2], setting), clean[:2]))


def complete(args, noisy, *how):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        np.save(folder / "noisy.npy", noisy.astype(np.int32))
        run([args.segre, "complete", args.run, "--data", f"npy:{folder / 'noisy.npy'}", "--out", folder / "out.npy",
             "--noise", args.noise, "--seed", args.seed, *how, *args.completing])
        out = np.load(folder / "out.npy").astype(int)
    if out.size != noisy.size:
        sys.exit(f"segre complete: expected maps {noisy.shape}, got {out.shape}")
    return out.reshape(noisy.shape)


def colours(maps):
    """RGB; after eight labels the colours repeat, darker."""
    palette = np.array(OKABE_ITO)
    return (palette[maps % 8] * 0.6 ** (maps // 8)[..., None]).astype(np.uint8)


def draw_grid(rows, gap=4):
    """Rows of maps [N, h, w] as one picture on white; small maps are enlarged."""
    scale = max(1, 96 // rows[0].shape[1])
    lines = []
    for maps in rows:
        tiles = colours(maps).repeat(scale, 1).repeat(scale, 2)
        tiles = np.pad(tiles, ((0, 0), (gap, 0), (gap, 0), (0, 0)), constant_values=255)
        lines.append(np.concatenate(list(tiles), 1))
    return np.pad(np.concatenate(lines), ((0, gap), (0, gap), (0, 0)), constant_values=255)


def write_png(path, rgb):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    h, w, _ = rgb.shape
    lines = b"".join(b"\0" + line.tobytes() for line in rgb)  # 0: no filter
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 2, 0, 0, 0))
                     + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--segre", default="build/segre")
    parser.add_argument("--run", help="a model of such maps")
    parser.add_argument("--without-segre", action="store_true", help="only the filters")
    parser.add_argument("--clean", required=True)
    parser.add_argument("--noise", type=float, default=0.3)
    parser.add_argument("--items", type=int, default=20)
    parser.add_argument("--labels", type=int, help="number of labels of the model (largest in the file plus one)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--picture", type=pathlib.Path)
    parser.add_argument("completing", nargs="*", help="options of 'segre complete', after --")
    args = parser.parse_args()
    if not args.run and not args.without_segre:
        parser.error("give --run RUN or --without-segre")
    if not 0 < args.noise <= 1:
        parser.error("--noise: expected a share above 0, at most 1")
    clean = np.load(args.clean).astype(int)
    if clean.ndim != 3 or clean.min() < 0:
        sys.exit(f"{args.clean}: expected labels [N, h, w] from 0, got {clean.shape}, least {clean.min()}")
    n_labels = args.labels or clean.max() + 1
    clean = clean[:args.items]
    noisy = add_noise(clean, args.noise, n_labels, args.seed)
    radius = best_for(clean, noisy, lambda maps, r: majority(maps, n_labels, r), (1, 2))
    strength = best_for(clean, noisy, lambda maps, s: potts_icm(maps, n_labels, args.noise, s), STRENGTHS)
    side = 2 * radius + 1
    restored = {"noisy": noisy,
                f"majority filter, {side} x {side}": majority(noisy, n_labels, radius),
                f"Potts model, ICM, strength {strength}": potts_icm(noisy, n_labels, args.noise, strength)}
    if not args.without_segre:
        restored["segre, best"] = complete(args, noisy, "--best")
        restored["segre, one draw"] = complete(args, noisy, "--draws", 1)
    print_markdown([f"{len(clean)} maps, {args.noise:.0%} noise", "correct pixels", "mean IoU"],
                   [[name, f"{accuracy(maps, clean):.2%}", f"{mean_iou(maps, clean):.4f}"]
                    for name, maps in restored.items()])
    if args.picture:
        shown = [clean] + [maps for name, maps in restored.items() if name != "segre, one draw"]
        write_png(args.picture, draw_grid([maps[:5] for maps in shown]))


if __name__ == "__main__":
    main()
