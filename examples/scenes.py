#!/usr/bin/env python3
"""Writes made-up label maps of street scenes as palette PNGs, to try out `segre train --data png:DIR`.

  examples/scenes.py DIR [COUNT [SEED]]

Five labels on 48x64 pixels: sky, meadow, road, house, tree. The horizon, the road's bend, houses and trees differ from
picture to picture; houses and trees stand on the ground, and farther ones are smaller.
"""

import random
import struct
import sys
import zlib
from pathlib import Path

HEIGHT, WIDTH = 48, 64
SKY, MEADOW, ROAD, HOUSE, TREE = range(5)
COLOURS = [(150, 200, 240), (120, 180, 80), (110, 110, 115), (190, 80, 60), (30, 100, 50)]


def scene(chance):
    horizon = chance.randint(16, 26)
    picture = [[SKY] * WIDTH if y < horizon else [MEADOW] * WIDTH for y in range(HEIGHT)]
    vanishing, foot = chance.uniform(16, 48), chance.uniform(20, 44)
    for y in range(horizon, HEIGHT):
        near = (y - horizon) / (HEIGHT - horizon)
        middle, half = vanishing + (foot - vanishing) * near * near, 0.5 + 11 * near
        for x in range(max(0, round(middle - half)), min(WIDTH, round(middle + half) + 1)):
            picture[y][x] = ROAD
    things = [(chance.randint(horizon + 1, HEIGHT - 10), chance.choice([HOUSE, TREE])) for _ in range(chance.randint(2, 4))]
    for base, thing in sorted(things):  # nearer ones in front
        near = (base - horizon) / (HEIGHT - horizon)
        size = 5 + 16 * near
        middle, half_road = vanishing + (foot - vanishing) * near * near, 0.5 + 11 * near
        side = chance.choice([-1, 1])
        x = middle + side * (half_road + size * 0.6 + chance.uniform(0, 14))
        (draw_house if thing == HOUSE else draw_tree)(picture, x, base, size)
    return picture


def fill(picture, y, left, right, label):
    if 0 <= y < HEIGHT:
        for x in range(max(0, round(left)), min(WIDTH, round(right) + 1)):
            picture[y][x] = label


def draw_house(picture, x, base, size):
    walls, roof = round(size * 0.6), round(size * 0.45)
    for k in range(walls):
        fill(picture, base - k, x - size / 2, x + size / 2, HOUSE)
    for k in range(roof):
        reach = (size / 2 + 1.5) * (1 - k / roof)
        fill(picture, base - walls - k, x - reach, x + reach, HOUSE)


def draw_tree(picture, x, base, size):
    for k in range(round(size * 0.4)):
        fill(picture, base - k, x - size / 14, x + size / 14, TREE)
    radius, centre = size * 0.42, base - size * 0.75
    for y in range(HEIGHT):
        if abs(y - centre) <= radius:
            reach = (radius**2 - (y - centre) ** 2) ** 0.5
            fill(picture, y, x - reach, x + reach, TREE)


def png(picture):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes(row) for row in picture)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 3, 0, 0, 0))
            + chunk(b"PLTE", b"".join(bytes(colour) for colour in COLOURS)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def main():
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    chance = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (folder / f"scene-{number:04}.png").write_bytes(png(scene(chance)))
    print(f"{count} label maps of {HEIGHT}x{WIDTH} in {folder}")


if __name__ == "__main__":
    main()
