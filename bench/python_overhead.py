#!/usr/bin/env python3
"""What Python adds to the library: log_prob of 1,000 rows, one by one and at once, beside the same calls in C++.

    bench/python_overhead.py [BUILD] [REPEATS]

The table has 10 columns; a score takes 32 evaluations of the network. Both sides take turns, and medians are printed.
Run it with a Python that has segre and pandas, .venv/bin/python after `make python`, and build its C++ first:
`cmake --build build --target segre_bench`.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import segre

ROWS, EVALUATIONS, COLUMNS = 1000, 32, 10


def make_table() -> pd.DataFrame:
    """Columns that follow one hidden class."""
    random = np.random.default_rng(0)
    hidden = random.integers(0, 4, ROWS)
    noise = random.random((ROWS, COLUMNS)) < 0.2
    labels = np.where(noise, random.integers(0, 4, (ROWS, COLUMNS)), hidden[:, None])
    return pd.DataFrame({f"c{i}": np.array(list("abcd"))[labels[:, i]] for i in range(COLUMNS)})


def python_seconds(model: segre.Model, items: object, at_once: int) -> float:
    start = time.perf_counter()
    for k in range(0, ROWS, at_once):
        model.log_prob(items[k : k + at_once], evaluations=EVALUATIONS)
    return time.perf_counter() - start


def main() -> None:
    build = Path(sys.argv[1] if len(sys.argv) > 1 else "build")
    repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    folder = Path(tempfile.mkdtemp())
    frame = make_table()
    frame.to_csv(folder / "rows.csv", index=False)
    model = segre.fit(frame, out=folder / "run", config={"train.steps": 200}, progress=False)
    labels = np.stack([frame[c].astype("category").cat.codes for c in frame], 1)
    times: dict[str, list[float]] = {}
    for _ in range(repeats):
        program = [build / "bench_score_rows", folder / "run", f"csv:{folder}/rows.csv", str(ROWS), str(EVALUATIONS)]
        native = json.loads(subprocess.run(program, capture_output=True, check=True, text=True).stdout)
        for what, at_once in [("one_by_one", 1), ("at_once", ROWS)]:
            times.setdefault(f"C++ {what}", []).append(native[what])
            times.setdefault(f"NumPy {what}", []).append(python_seconds(model, labels, at_once))
            times.setdefault(f"pandas {what}", []).append(python_seconds(model, frame, at_once))
    for what in ["one_by_one", "at_once"]:
        base = statistics.median(times[f"C++ {what}"])
        for side in ["C++", "NumPy", "pandas"]:
            taken = times[f"{side} {what}"]
            middle = statistics.median(taken)
            print(
                f"{what:10}  {side:6}  {1e3 * middle:8.1f} ms ({1e3 * min(taken):.1f} to {1e3 * max(taken):.1f})"
                f"  {middle / base:.2f} of C++"
            )


if __name__ == "__main__":
    main()
