#!/usr/bin/env python3
"""Memory of a process that fits, samples and scores again and again: resident megabytes after every tenth of them.

    bench/python_memory.py [FITS]      1000 by default

Run it with a Python that has segre and pandas: .venv/bin/python after `make python`.
"""

import gc
import os
import sys

import pandas as pd

import segre


def resident() -> float:
    """Megabytes of memory that the process has now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    fits = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    frame = pd.DataFrame({"sky": ["sun", "rain", "cloud", "rain"] * 25, "wet": ["no", "yes", "no", "yes"] * 25})
    for k in range(1, fits + 1):
        model = segre.fit(frame, config={"train.steps": 10, "train.batch": 16, "net.kind": "mlp"}, progress=False)
        model.sample(10)
        model.log_prob(frame[:5], evaluations=8)
        if k == 1 or k % max(1, fits // 10) == 0:
            gc.collect()
            print(f"{k:5} fits  {resident():7.1f} MB", flush=True)


if __name__ == "__main__":
    main()
