"""Ctrl-C: training ends early with a model, anything else with KeyboardInterrupt, and the process goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import TINY, environment, python, tensors

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sends signals")

# Sends the process itself a signal, after a pause that is long enough for the work to have begun.
START = """
import json, os, signal, sys, threading, time
import numpy as np
import segre

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits that it is ignored

def later(seconds, number=signal.SIGINT):
    threading.Timer(seconds, os.kill, (os.getpid(), number)).start()

def interrupted(work, pause=0.3):
    start = time.monotonic()  # before the timer starts: this thread may have to wait for the processor
    later(pause)
    try:
        work()
    except KeyboardInterrupt:
        assert pause <= time.monotonic() - start < 10
        return True
    return False
"""


def test_training_ends_with_a_model(tmp_path):
    """As from the keyboard: a signal to a process that would train for a minute."""
    code = START + """
items = np.random.default_rng(1).integers(0, 3, (200, 6))
out, config = sys.argv[1], {"net.kind": "latent_class", "net.classes": 8}
print("ready", flush=True)
start = time.monotonic()
model = segre.fit(items, max_time="60s", out=out, config=config, progress=False)
report = {"finished": model.finished, "seconds": time.monotonic() - start, "shape": model.sample(5).shape}
report["step"] = segre.load(out, checkpoint="last").step
again = segre.fit(items, max_time="2s", out=out, resume=True, progress=False)
report["again"] = [again.finished, segre.load(out, checkpoint="last").step]
print(json.dumps(report))
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "run")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment(),
    )  # fmt: skip
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    said, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    report = json.loads(said)
    assert report["finished"] is False and 2 < report["seconds"] < 20
    assert report["shape"] == [5, 6] and report["step"] > 0
    assert report["again"][0] is True and report["again"][1] > report["step"]


def test_an_interrupted_run_resumes_to_the_same_bits(tmp_path):
    code = START + """
items = np.random.default_rng(1).integers(0, 3, (200, 6))
config = {**eval(sys.argv[2]), "train.steps": 1000}
folder = sys.argv[1]
segre.fit(items, config=config, out=folder + "/whole", progress=False)
later(0.2)
part = segre.fit(items, config=config, out=folder + "/part", progress=False)
time.sleep(0.5)
print(part.finished)
print(segre.fit(items, config=config, out=folder + "/part", resume=True, progress=False).finished)
"""
    assert python(code, tmp_path, TINY).stdout.split() == ["False", "True"]
    assert tensors(tmp_path / "part") == tensors(tmp_path / "whole")


def test_other_work_raises():
    """All of these would take many seconds, most of them hours. The model works afterwards."""
    code = START + f"""
items = np.random.default_rng(1).integers(0, 3, (500, 6))
model = segre.fit(items, config={TINY!r}, progress=False)
space = segre.Space.table({{"y1": 2, "y2": 2}})
trainer = segre.train.Trainer(segre.nn.Model(space, segre.Field(space)), "coupled", steps=10**9, batch=64)
before = model.sample(10)
for work in (
    lambda: model.sample(10**7),
    lambda: model.log_prob(items, error=1e-5),
    lambda: model.log_prob(items, bound="path", evaluations=200),
    lambda: model.complete(np.where(items == 2, -1, items), draws=10**4),
    lambda: trainer.step(10**9),
    lambda: segre.train.Sampler(model).draw(0, 10**7),
):
    assert interrupted(work)
assert np.array_equal(model.sample(10), before)
assert len(trainer.step(2)) == 2
print("done")
"""
    assert python(code, timeout=60).stdout == "done\n"


def test_bounds_raise():
    """Of a few hundred different items, within seconds."""
    code = START + f"""
items = np.indices([3] * 6).reshape(6, -1).T
model = segre.fit(items, config={TINY!r}, progress=False)
assert interrupted(lambda: segre.train.FreeBound(model, times=8192)(items))
assert interrupted(lambda: segre.train.FlowBound(model, draws=8)(items))
"""
    python(code, timeout=60)


def test_a_handler_of_ones_own(tmp_path):
    """Its exception comes through, whatever it is; a handler that returns disturbs nothing."""
    code = START + """
model = segre.fit("coupled", config=eval(sys.argv[1]), progress=False)
def stop(number, frame):
    raise TimeoutError("time is up")
signal.signal(signal.SIGALRM, stop)
for work in (lambda: model.sample(10**8),
             lambda: segre.fit("coupled", config={**eval(sys.argv[1]), "train.steps": 10**9}, progress=False)):
    later(0.3, signal.SIGALRM)
    try:
        work()
    except TimeoutError as error:
        print(error)
calls = []
signal.signal(signal.SIGALRM, lambda number, frame: calls.append(number))
later(0.1, signal.SIGALRM)
assert model.sample(100000).shape == (100000, 2)
time.sleep(0.2)
assert calls == [signal.SIGALRM]
"""
    assert python(code, TINY).stdout == "time is up\ntime is up\n"


def test_work_in_another_thread_goes_on():
    """Signals belong to the main thread: what another one does is not ended by them."""
    code = START + """
from concurrent.futures import ThreadPoolExecutor
model = segre.fit("coupled", config=eval(sys.argv[1]), progress=False)
with ThreadPoolExecutor(1) as pool:
    work = pool.submit(model.sample, 200000)
    assert interrupted(lambda: time.sleep(5), pause=0.1)
    print(work.result().shape)
"""
    assert python(code, TINY).stdout == "(200000, 2)\n"
