#!/usr/bin/env python3
"""What ranks cost and gain on this machine.

  bench/ranks.py scaling [build/segre]      CPU: steps per second of ranks and threads, and the bytes they send per step
  bench/ranks.py large [build/segre] [DIR]  CPU: an NPY file of 8 GB against one in memory, by one and two ranks
  bench/ranks.py device [build/segre]       GPU: one rank with NCCL in its step against none, and two that share the GPU
"""

from __future__ import annotations

import json
import math
import os
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

REPEATS = 3
NETWORKS = {
    "MLP, batch 1,024": ("pinwheel", 600, ["net.kind=mlp", "train.batch=1024", "train.shards=8"]),
    "transformer, batch 64": ("coupled", 60, ["net.kind=transformer", "train.batch=64", "train.shards=8"]),
    "UNet of 16 channels, batch 32": ("glyphs", 12, ["net.kind=unet", "net.channels=16", "train.batch=32", "train.shards=8"]),
}  # fmt: skip
DEVICE_REPEATS = 5
DEVICE_THREADS = 4  # with one, small networks wait for their data
DEVICE_NETWORKS = {
    "MLP, batch 1,024": ("pinwheel", 6000, ["net.kind=mlp", "train.batch=1024"]),
    "transformer on 2 columns, batch 64": ("coupled", 6000, ["net.kind=transformer", "train.batch=64"]),
    "transformer on 69 columns, batch 64": ("columns", 2000, ["net.kind=transformer", "net.width=512", "train.batch=64"]),
    "UNet of MNIST, batch 256": ("images", 800, ["net.kind=unet", "net.channels=32", "net.channel_mult=[1,2,2,2]",
        "net.res_blocks=2", "net.attention_at=[16]", "net.heads=4", "train.batch=256", "train.clip=1"]),
}  # fmt: skip
LAYOUTS = ((1, 1), (1, 2), (2, 1), (4, 1), (8, 1))  # ranks, threads of each


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def bytes_on_loopback() -> int:
    line = next(line for line in Path("/proc/net/dev").read_text().splitlines() if line.strip().startswith("lo:"))
    return int(line.split(":")[1].split()[8])


def highest_memory(process: subprocess.Popen[bytes]) -> float:
    """The most resident memory so far, in MB."""
    try:
        status = Path(f"/proc/{process.pid}/status").read_text()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")), 0.0)


def train(segre: str, ranks: int, threads: int, data: str, steps: int, set_keys: list[str], device: str = "cpu",
          variables: dict[str, str] | None = None) -> dict[str, Any]:  # fmt: skip
    """Steps per second, losses, bytes sent per step and the most memory of a rank, of one training."""
    with tempfile.TemporaryDirectory() as folder:
        command = [segre, "train", "--data", data, "--out", f"{folder}/run", "--threads", str(threads), "--device", device,
                   "--set", f"train.steps={steps}", f"watch.every={steps}", "watch.evaluations=64", "watch.grid=0",
                   "watch.save_seconds=3600", *set_keys]  # fmt: skip
        place = {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), **(variables or {})}
        before = bytes_on_loopback()
        processes = [
            subprocess.Popen(command, env={**os.environ, **place, "RANK": str(k), "LOCAL_RANK": str(k)},
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for k in range(ranks)
        ]  # fmt: skip
        memory = 0.0
        while any(process.poll() is None for process in processes):
            memory = max([memory, *(highest_memory(process) for process in processes)])
            time.sleep(0.05)
        if any(process.returncode for process in processes):
            sys.exit(f"failed: {' '.join(command)}")
        sent = bytes_on_loopback() - before
        lines = [json.loads(line) for line in Path(folder, "run", "metrics.jsonl").read_text().splitlines()]
    steps_taken = [line for line in lines if "steps_per_second" in line]
    return {"rate": steps_taken[-1]["steps_per_second"], "steady": steady_rate(steps_taken), "bytes": sent / steps,
            "memory": memory, "losses": [line["loss"] for line in steps_taken]}  # fmt: skip


def steady_rate(lines: list[dict[str, float]]) -> float:
    """Steps per second of the last two thirds, without what is measured and captured at the start."""
    first, last = lines[len(lines) // 3], lines[-1]
    return (last["step"] - first["step"]) / (last["seconds"] - first["seconds"]) if last is not first else math.nan


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):9.1f} ({min(values):.1f} to {max(values):.1f})"


def scaling(segre: str) -> None:
    for name, (data, steps, keys) in NETWORKS.items():
        print(f"{name}: steps/s, median of {REPEATS} (least to most); bytes sent per step by all ranks")
        for ranks, threads in LAYOUTS:
            found = [train(segre, ranks, threads, data, steps, keys) for _ in range(REPEATS)]
            sent = statistics.median(run["bytes"] for run in found)
            print(f"  {ranks} ranks of {threads} threads {spread([run['rate'] for run in found])}  {sent:12,.0f}", flush=True)


def write_bits(path: Path, shape: tuple[int, ...]) -> None:
    """Random zeros and ones in bytes, as an NPY file."""
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    low_bit = bytes(k & 1 for k in range(256))
    with path.open("wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
        left = math.prod(shape)
        while left > 0:
            part = os.urandom(min(left, 1 << 24)).translate(low_bit)
            file.write(part)
            left -= len(part)


def large(segre: str, folder: str) -> None:
    keys = ["net.kind=mlp", "net.hidden=[32]", "train.batch=4096", "train.shards=8", "data.holdout=0.0001"]
    for name, items in (("8.0 GB, mapped", 8_000_000_000 // 784), ("47 MB, in memory", 60_000)):
        path = Path(folder, "images.npy")
        write_bits(path, (items, 28, 28))
        for ranks, threads in ((1, 2), (2, 1)):
            found = [train(segre, ranks, threads, f"npy:{path}", 150, keys) for _ in range(REPEATS)]
            rates = [4096 * run["rate"] for run in found]
            memory = max(run["memory"] for run in found)
            print(f"{name}, {ranks} ranks of {threads} threads: items/s {spread(rates)}, at most {memory:.0f} MB resident", flush=True)
        path.unlink()


def device(segre: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_bits(Path(folder, "columns.npy"), (20_000, 69))
        write_bits(Path(folder, "images.npy"), (20_000, 32, 32))
        for name, (data, steps, keys) in DEVICE_NETWORKS.items():
            source = f"npy:{folder}/{data}.npy" if data in ("columns", "images") else data
            print(f"{name}: steps/s after the first third, median of {DEVICE_REPEATS} (least to most)")
            on_device(segre, source, steps, keys)


def on_device(segre: str, source: str, steps: int, keys: list[str]) -> None:
    alone, joined = [], []
    for _ in range(DEVICE_REPEATS):  # in turn: the machine's mood changes
        alone.append(train(segre, 1, DEVICE_THREADS, source, steps, keys, "cuda"))
        joined.append(train(segre, 1, DEVICE_THREADS, source, steps, keys, "cuda", {"SEGRE_JOIN_ALONE": "1"}))
    cost = statistics.median(run["steady"] for run in alone) / statistics.median(run["steady"] for run in joined) - 1
    same = all(run["losses"] == alone[0]["losses"] for run in alone + joined)
    print(f"  without {spread([run['steady'] for run in alone])}, with NCCL {spread([run['steady'] for run in joined])}: "
          f"{100 * cost:.1f}% longer; losses {'equal' if same else 'differ'}", flush=True)  # fmt: skip
    few = min(steps, 200)
    expected = train(segre, 1, DEVICE_THREADS, source, few, keys, "cuda")
    shared = train(segre, 2, DEVICE_THREADS, source, few, keys, "cuda")
    off = max(abs(a / b - 1) for a, b in zip(shared["losses"], expected["losses"]))
    print(f"  two ranks on one GPU, by Gloo: {shared['steady']:.1f} steps/s, losses of {few} steps differ by {off:.1e} at most",
          flush=True)  # fmt: skip


def main() -> None:
    words = sys.argv[1:]
    if not words or words[0] not in ("scaling", "large", "device"):
        sys.exit(__doc__)
    segre = words[1] if len(words) > 1 else "build/segre"
    if words[0] == "scaling":
        scaling(segre)
    elif words[0] == "device":
        device(segre)
    else:
        large(segre, words[2] if len(words) > 2 else tempfile.gettempdir())


if __name__ == "__main__":
    main()
