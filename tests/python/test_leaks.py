"""Memory and temporary files do not pile up."""

from __future__ import annotations

import sys

import pytest
from conftest import TINY, python

START = f"""
import gc, os, tempfile
import numpy as np
import segre

TINY = {TINY!r}
# Large results of little work: few different items, each of which is scored once.
items = np.tile(np.random.default_rng(1).integers(0, 3, (5, 6)), (400, 1))
FAST = {{"sampler": "euler", "steps": 1}}

def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20

def growth(work, warm_up, rounds):
    for _ in range(warm_up):
        work()
    before = resident()
    for _ in range(rounds):
        work()
    return resident() - before
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def measure(code: str, **changes: str) -> float:
    """The number that a program prints at the end."""
    return float(python(START + code, **changes).stdout.split()[-1])


def test_questions_do_not_leak():
    """Each result is 10 kB or more, so even one of them leaked per round would be 2 MB after 200 rounds. Without leaks,
    what remains is that the allocator's pools settle: well below 1 MB."""
    code = """
model = segre.fit(items, config=TINY, progress=False)
holes = np.where(items == 2, -1, items)[:500]

def work():
    model.sample(2000, **FAST)
    model.log_prob(items, evaluations=4)
    model.complete(holes, draws=2, **FAST)

print(growth(work, 30, 200))
"""
    assert measure(code) < 1


def test_tables_do_not_leak():
    """Columns go through pandas and texts; 2000 rows of codes are 8 kB per column and call."""
    code = """
import pandas as pd
table = pd.DataFrame(items, columns=list("abcdef")).astype(str)
model = segre.fit(table, config=TINY, progress=False)

def work():
    model.sample(1000, **FAST)
    model.log_prob(table, evaluations=4)

print(growth(work, 15, 60))
"""
    assert measure(code) < 2


def test_errors_do_not_leak():
    code = """
model = segre.fit(items, config=TINY, progress=False)

def work():
    for ask in (lambda: model.log_prob(items + 9), lambda: segre.fit(items * 1.0), lambda: model.sample(1, stepz=2)):
        try:
            ask()
        except ValueError:
            continue
        raise AssertionError("an error was expected")

print(growth(work, 20, 100))
"""
    assert measure(code) < 2


def test_training_does_not_leak(tmp_path):
    """A model of this size, its optimiser and its data take 0.3 MB or so: thirty of them would be 9 MB. Their
    directories go with them."""
    code = """
def work():
    model = segre.fit(items, config={**TINY, "train.steps": 5}, progress=False)
    assert len(os.listdir(tempfile.gettempdir())) == 1
    model.sample(10)

print(growth(work, 5, 30))
assert os.listdir(tempfile.gettempdir()) == []
"""
    assert measure(code, TMPDIR=str(tmp_path)) < 3


def test_parts_do_not_leak():
    code = """
def work():
    oracle = segre.Oracle("pinwheel")
    model = segre.nn.Model(oracle.space, segre.Field(oracle.space, hidden=[64]))
    trainer = segre.train.Trainer(model, oracle.sample(2000), steps=10, batch=64)
    trainer.step(2)
    trainer.load(trainer.state())
    segre.train.Sampler(model, steps=1).draw(0, 100)
    weights = model.field.parameters

print(growth(work, 15, 60))
"""
    assert measure(code) < 3
