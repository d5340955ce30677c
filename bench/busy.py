#!/usr/bin/env python3
"""Steps that 'segre train' makes in a given time, on a quiet machine and next to endless loops, one per core.

    bench/busy.py --segre build/segre [--before OTHER/segre] [--seconds 10] [--repeats 2]

The data are a made-up table of 12 columns and 2,000 rows, in batches of 256. Each program runs with its default threads
and with one (OMP_NUM_THREADS, which every version understands), in turn, so that noise affects all equally.
"""

import argparse
import multiprocessing
import os
import pathlib
import random
import subprocess
import tempfile


def write_table(path):
    chance = random.Random(5)
    lines = [",".join(f"c{i}" for i in range(12))]
    for _ in range(2000):
        z = chance.randrange(4)  # what the columns have in common
        words = ["abcd"[(z + (chance.random() < 0.2) * chance.randrange(4)) % 4] if i % 2 else
                 str((z * i + (chance.random() < 0.3) * chance.randrange(5)) % 5) for i in range(12)]
        lines.append(",".join(words))
    path.write_text("\n".join(lines) + "\n")


def steps(program, table, folder, seconds, threads):
    run = folder / "run"
    subprocess.run(["rm", "-rf", run], check=True)
    environment = dict(os.environ, **({"OMP_NUM_THREADS": "1"} if threads == "one thread" else {}))
    subprocess.run([program, "train", "--data", f"csv:{table}", "--out", run, "--max-time", f"{seconds}s",
                    "--set", "train.batch=256"], check=True, env=environment, stderr=subprocess.DEVNULL)
    return max(int(path.name.removeprefix("step-")) for path in (run / "checkpoints").glob("step-*"))


def spin():
    while True:
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--segre", default="build/segre")
    parser.add_argument("--before", help="older program to compare with")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=2)
    a = parser.parse_args()
    programs = {"now": a.segre} | ({"before": a.before} if a.before else {})
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_table(folder / "table.csv")
        for machine in ("quiet", "busy"):
            loops = [multiprocessing.Process(target=spin, daemon=True)
                     for _ in range(os.cpu_count() if machine == "busy" else 0)]
            for loop in loops:
                loop.start()
            found = {}
            for _ in range(a.repeats):
                for which, program in programs.items():
                    for threads in ("default", "one thread"):
                        made = steps(program, folder / "table.csv", folder, a.seconds, threads)
                        found.setdefault((which, threads), []).append(made)
            for loop in loops:
                loop.terminate()
            for (which, threads), made in found.items():
                print(f"{machine}, {which}, {threads}: {', '.join(map(str, made))}", flush=True)


if __name__ == "__main__":
    main()
