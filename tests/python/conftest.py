"""What the tests share: data whose properties are known, small models, the command line, processes of their own."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import segre

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = Path(segre.__file__).resolve().parents[1]  # where the package was imported from

# A network that trains in a fraction of a second. What is tested with it does not depend on how good it is.
TINY = {"train.steps": 40, "train.batch": 64, "net.kind": "latent_class", "net.classes": 8}
# Enough for the source "coupled", two dependent labels, to be learned up to a few percent.
COUPLED = {"train.steps": 300, "train.batch": 256, "net.kind": "latent_class", "net.classes": 8}
# The smallest network for images.
TINY_IMAGE = {
    "train.steps": 12, "train.batch": 8, "net.kind": "unet", "net.channels": 4, "net.channel_mult": [1, 2],
    "net.res_blocks": 1, "watch.grid": 0,
}  # fmt: skip

WEATHER_BINS = {"temp": 4, "day": 3}
WEATHER_SOURCE = "bins=temp:4,day:3&dictionary=labels.csv"  # the same for a file, with the labels of the categories


def make_weather(n: int = 100, seed: int = 0) -> pd.DataFrame:
    """A table with ordered categories of which one never occurs, truth values, counts, numbers and dates to be cut into
    intervals, texts that need quotes in a CSV file, and missing values."""
    random = np.random.default_rng(seed)
    sky = random.integers(0, 3, n)
    days = pd.Timestamp("2025-01-01") + pd.to_timedelta(random.integers(0, 300, n), unit="D")
    table = pd.DataFrame(
        {
            "sky": pd.Categorical.from_codes(sky, ["sun", "cloud", "rain", "hail"], ordered=True),
            "wet": sky == 2,
            "storeys": random.integers(1, 4, n),
            "temp": np.round(20 - 5 * sky + random.normal(0, 3, n), 1),
            "day": days,
            "town": random.choice(["Bern", "Zürich", 'a, "b"'], n),
        }
    )
    for name in ("temp", "day", "town"):
        table.loc[random.random(n) < 0.1, name] = None
    return table


def quick(data, config=TINY, **options):
    """A model, without a word about its training."""
    return segre.fit(data, config=config, progress=False, **options)


def tensors(run: Path | segre.Model) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """The tensors of the last checkpoint of a run, or of a model's, by name: type, shape, bytes."""
    path = run.path if isinstance(run, segre.Model) else Path(run)
    contents = (max(path.glob("checkpoints/step-*")) / "model.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", contents[:8])
    values = contents[8 + length :]
    return {
        name: (entry["dtype"], tuple(entry["shape"]), values[slice(*entry["data_offsets"])])
        for name, entry in json.loads(contents[8 : 8 + length]).items()
        if name != "__metadata__"
    }


def csv_text(table: pd.DataFrame, **options) -> str:
    """A table as the command line writes it."""
    return table.to_csv(index=False, **options)


def digits(values, count: int) -> list[str]:
    """Numbers with as many digits as the command line writes."""
    return [f"{value:.{count}g}" for value in np.asarray(values)]


def total_variation(labels, p) -> float:
    """Half the sum of differences between frequencies of labels [N, n] and probabilities p[i, j, ...]."""
    p = np.asarray(p)
    places = np.ravel_multi_index(np.asarray(labels, np.int64).T, p.shape)
    return float(0.5 * np.abs(np.bincount(places, minlength=p.size) / len(places) - p.ravel()).sum())


def total_variation_floor(p, count: int) -> float:
    """Its mean for `count` exact samples: each frequency is about normal, so it is off by sqrt(2 p (1 - p)/(pi N))."""
    p = np.asarray(p)
    return float(0.5 * np.sqrt(2 * p * (1 - p) / (np.pi * count)).sum())


def assert_one_line(error: BaseException | str, *words: str) -> None:
    """A message is one line that has these words."""
    text = str(error)
    assert text and "\n" not in text, text
    for word in words:
        assert word in text, f"{word!r} is not in: {text}"


def environment(**changes: str) -> dict[str, str]:
    """The environment of a process that imports the package from where this one has it."""
    path = os.pathsep.join(filter(None, [str(PACKAGE), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, **changes}


def python(code: str, *arguments, timeout: float = 100, **changes: str) -> subprocess.CompletedProcess:
    """Runs a program in a process of its own, which must not fail; `changes` are of its environment."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, timeout=timeout,
        env=environment(**changes), cwd=Path(__file__).parent,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def import_torch():
    """Python's torch. The small CPU set has LibTorch but cannot be imported, with one error or another."""
    try:
        import torch

        torch.zeros(1)
    except Exception as error:
        pytest.skip(f"torch cannot be imported: {error}")
    return torch


@pytest.fixture(scope="session")
def program() -> Path:
    """The program segre."""
    found = Path(os.environ.get("SEGRE_PROGRAM", REPOSITORY / "build" / "segre"))
    if not found.exists():
        pytest.skip(f"there is no program {found}; SEGRE_PROGRAM says where it is")
    return found


@pytest.fixture(scope="session")
def cli(program):
    """Runs a command in a directory, as in cli(tmp_path, "sample", "run", "--count", 5)."""

    def run(folder: Path, *arguments) -> str:
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, cwd=folder, timeout=100)
        assert done.returncode == 0, f"{' '.join(map(str, arguments))}: {done.stderr}"
        return done.stdout

    return run


@pytest.fixture(scope="session")
def weather() -> pd.DataFrame:
    return make_weather()


@pytest.fixture(scope="session")
def weather_model(weather, tmp_path_factory):
    """A model of the table with every kind of column."""
    return quick(weather, bins=WEATHER_BINS, out=tmp_path_factory.mktemp("weather") / "run")


@pytest.fixture(scope="session")
def coupled():
    """The exact distribution of the source "coupled"."""
    return segre.Oracle("coupled")


@pytest.fixture(scope="session")
def coupled_model():
    """A model that is good enough to be compared with it."""
    return quick("coupled", COUPLED)


@pytest.fixture(scope="session")
def sequences() -> np.ndarray:
    """Sequences [items, length] of three labels, the second equal to the first."""
    items = np.random.default_rng(1).integers(0, 3, (80, 6))
    items[:, 1] = items[:, 0]
    return items


@pytest.fixture(scope="session")
def sequence_model(sequences):
    return quick(sequences)


@pytest.fixture(scope="session")
def images() -> np.ndarray:
    """Images [items, height, width] of two labels: a filled rectangle each."""
    random = np.random.default_rng(2)
    items = np.zeros((24, 8, 8), np.uint8)
    for item in items:
        top, left = random.integers(0, 4, 2)
        item[top : top + random.integers(2, 5), left : left + random.integers(2, 5)] = 1
    return items


@pytest.fixture(scope="session")
def image_model(images):
    return quick(images, TINY_IMAGE)
