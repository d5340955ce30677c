"""Results do not depend on threads, and other threads of Python go on while the library works."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from conftest import TINY, python, quick, tensors

DIGEST = """
import hashlib, sys
import numpy as np
from conftest import WEATHER_BINS, make_weather, quick, tensors

table = make_weather(60)
model = quick(table, bins=WEATHER_BINS)
known = table[table.notna().all(axis=1)]
found = [
    repr(sorted(tensors(model).items())).encode(),
    model.sample(200).to_csv().encode(),
    model.complete(table, draws=2).to_csv().encode(),
    model.log_prob(known, evaluations=16).tobytes(),
    model.log_prob(known[:2], bound="path", evaluations=2).tobytes(),
    model.outliers(known[:5], evaluations=64).tobytes(),
    model.predict(table).tobytes(),
]
print(*[hashlib.sha256(bytes).hexdigest() for bytes in found])
"""


def test_results_do_not_depend_on_the_number_of_threads():
    """OpenMP's threads, in processes of their own, since the number is read once."""
    one, two = (python(DIGEST, OMP_NUM_THREADS=count).stdout for count in ("1", "2"))
    assert len(one.split()) == 7
    assert one == two


THREADS = """
import os
from conftest import quick

before = len(os.listdir("/proc/self/task"))
quick("coupled").sample(20_000)  # several blocks of rows
print(len(os.listdir("/proc/self/task")) - before)
"""


def test_threads_share_the_work():
    """The calling thread, and as many more as OpenMP would take, whatever the package's own calls are limited to."""
    assert int(python(THREADS, OMP_NUM_THREADS="2").stdout) == min(2, os.cpu_count() or 1) - 1


def questions(model, table):
    return [
        lambda: model.sample(200).to_csv(),
        lambda: model.log_prob(table, evaluations=8).tobytes(),
        lambda: model.complete(table).to_csv(),
        lambda: model.predict(table).tobytes(),
    ]


def test_a_model_answers_several_threads_at_once(weather_model, weather):
    asked = questions(weather_model, weather) * 4
    alone = [ask() for ask in asked]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda ask: ask(), asked)) == alone


def test_two_models_sample_at_once(weather_model, sequence_model):
    alone = weather_model.sample(500), sequence_model.sample(500)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(weather_model.sample, 500)
        second = pool.submit(sequence_model.sample, 500)
    pd.testing.assert_frame_equal(first.result(), alone[0])
    assert np.array_equal(second.result(), alone[1])


def test_two_models_train_at_once(sequences, sequence_model):
    """Each as if it were alone."""
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(quick, sequences), pool.submit(quick, sequences, seed=2)
    assert tensors(first.result()) == tensors(sequence_model)
    assert tensors(second.result()) == tensors(quick(sequences, seed=2))


class Counter(threading.Thread):
    """Counts milliseconds for as long as it is allowed to run."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.ticks = 0
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.wait(0.001):
            self.ticks += 1


@pytest.mark.parametrize("work", ["sample", "log_prob", "fit", "steps"])
def test_other_threads_go_on(work, coupled_model, sequences):
    """With the interpreter's lock held, the counter would stand still; on a busy machine it is slow, so a tenth of the
    milliseconds suffices."""
    import segre

    space = segre.Space.table({"y1": 2, "y2": 2})
    trainer = segre.train.Trainer(segre.nn.Model(space, segre.Field(space)), "coupled", steps=10**6, batch=512)
    labels = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    run = {
        "sample": lambda: coupled_model.sample(30000),
        "log_prob": lambda: coupled_model.log_prob(labels, evaluations=40000),
        "fit": lambda: quick(sequences, {**TINY, "train.steps": 300, "train.batch": 256}),
        "steps": lambda: trainer.step(100),
    }[work]
    counter = Counter()
    counter.start()
    start, before = time.monotonic(), counter.ticks
    run()
    ticks, milliseconds = counter.ticks - before, 1000 * (time.monotonic() - start)
    counter.done.set()
    counter.join()
    assert milliseconds > 50, "too short to tell"
    assert ticks > milliseconds / 10
