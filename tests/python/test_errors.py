"""Mistakes are ValueErrors, or TypeErrors, in one line that names the place, what was found and what was expected."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from conftest import TINY, assert_one_line, quick

import segre

GOOD = pd.DataFrame({"a": ["x", "y"] * 20, "b": [1, 2, 2, 1] * 10})
MANY = pd.DataFrame({"a": ["x", "y"] * 60, "id": [f"k{i}" for i in range(120)], "m": np.arange(120) / 7})
ITEMS = np.tile([[0, 1], [1, 0]], (10, 1))


MISTAKE = (ValueError, TypeError)


class Anything:
    """An object that is no data."""


# What is wrong with data to learn from: arguments of fit, and words of the message.
TRAINING = {
    "nothing": ((None,), {}, ["NoneType", "DataFrame"]),
    "any object": ((Anything(),), {}, ["Anything", "DataFrame"]),
    "a number": ((3,), {}, ["axes"]),
    "an unknown source": (("nope",), {}, ["nope", "csv:FILE"]),
    "a file that is not there": (("csv:/not/there.csv",), {}, ["/not/there.csv"]),
    "no columns": ((pd.DataFrame(),), {}, ["DataFrame", "no columns"]),
    "no columns of a mapping": (({},), {}, ["no columns"]),
    "no rows": ((GOOD[:0],), {}, ["DataFrame", "no rows"]),
    "columns of different lengths": (({"a": [1, 2, 3], "b": [1, 2]},), {}, ["a 3", "b 2"]),
    "a column that is a number": (({"a": [1, 2], "b": 7},), {}, ["column b", "7"]),
    "a column that is a text": (({"a": "hello"},), {}, ["column a", "hello"]),
    "a column with two axes": (({"a": np.zeros((3, 2), int)},), {}, ["column a"]),
    "a column of lists": ((pd.DataFrame({"a": [[1], [2]]}),), {}, ["column a", "list"]),
    "a text that is no text": (({"a": ["\ud800", "x"]},), {}, ["column a", "UTF-8"]),
    "a text with a NUL": (({"a": ["a\0b", "x"]},), {}, ["column a", "NUL"]),
    "a column named twice": ((pd.concat([GOOD, GOOD], axis=1),), {}, ["'a'", "twice"]),
    "nothing but an identifier": ((MANY[["id"]],), {}, ["column id", "120", "max_labels=120"]),
    "nothing but holes": ((pd.DataFrame({"a": [None, None]}),), {}, ["column a", "only missing values"]),
    "a column to leave out that is not there": ((GOOD,), {"without": ["c"]}, ["'c'", "nearest"]),
    "a column to cut that is not there": ((GOOD,), {"bins": {"c": 3}}, ["'c'", "bins="]),
    "a column to cut that holds no numbers": ((GOOD,), {"bins": {"a": 3}}, ["column a", "number"]),
    "no bins": ((GOOD,), {"bins": {"b": 0}}, ["bins"]),
    "an unknown option": ((GOOD,), {"wihtout": ["a"]}, ["wihtout", "without"]),
    "an option for files": ((GOOD,), {"delimiter": "tab"}, ["delimiter", "DataFrame"]),
    "missing values that are refused": ((GOOD.assign(a=None),), {"missing": "refuse"}, ["column a", "missing"]),
    "floating-point numbers": ((ITEMS.astype(float),), {}, ["array", "integers"]),
    "complex numbers": ((ITEMS.astype(complex),), {}, ["complex", "integers"]),
    "texts": ((ITEMS.astype(str),), {}, ["integers"]),
    "objects": ((ITEMS.astype(object),), {}, ["object", "integers"]),
    "one axis": ((ITEMS[0],), {}, ["1 axes", "[items, length]"]),
    "four axes": ((ITEMS.reshape(20, 2, 1, 1),), {}, ["4 axes", "[items, height, width]"]),
    "no items": ((ITEMS[:0],), {}, ["[0, 2]"]),
    "no cells": ((ITEMS[:, :0],), {}, ["[20, 0]"]),
    "negative labels": ((ITEMS - 3,), {}, ["-3", "-1 if unknown"]),
    "huge labels": ((ITEMS * 10**6,), {}, ["1000000", "65535"]),
    "nothing but unknown cells": ((ITEMS * 0 - 1,), {}, ["-1"]),
    "a masked array": ((np.ma.masked_array(ITEMS, ITEMS == 1),), {}, ["mask"]),
    "an unknown key": ((GOOD,), {"config": {"train.stepz": 3}}, ["train.stepz", "train.steps"]),
    "a value out of range": ((GOOD,), {"config": {"train.steps": -3}}, ["train.steps", "-3"]),
    "a value of another type": ((GOOD,), {"config": {"train.steps": "many"}}, ["train.steps", "many"]),
    "a file of keys that is not there": ((GOOD,), {"config": "/not/there.toml"}, ["/not/there.toml"]),
    "keys as a list": ((GOOD,), {"config": ["train.steps=3"]}, ["train.steps=3"]),
    "a negative seed": ((GOOD,), {"seed": -1}, ["seed", "-1"]),
    "a fractional seed": ((GOOD,), {"seed": 1.5}, ["seed", "1.5"]),
    "an unknown device": ((GOOD,), {"device": "tpu"}, ["tpu", "cuda"]),
    "no time": ((GOOD,), {"max_time": "soon"}, ["max_time", "soon", "60s"]),
    "negative time": ((GOOD,), {"max_time": -3}, ["max_time", "-3"]),
    "resuming nothing": ((GOOD,), {"resume": True}, ["resume", "out="]),
    "a network that is not of torch": (
        (GOOD,), {"field": segre.Field(segre.Space.table({"a": 2}))}, ["field", "from_torch", "net.kind"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", TRAINING)
def test_mistakes_in_training(mistake):
    data, options, words = TRAINING[mistake]
    with pytest.raises(MISTAKE) as error:
        segre.fit(*data, **{"config": TINY, "progress": False, **options})
    assert_one_line(error.value, *words)


@pytest.fixture(scope="module")
def model():
    return quick(GOOD)


@pytest.fixture(scope="module")
def drawn(model):
    return model.sample(10)


def evidence(*shape: int, value: float = 0.0) -> np.ndarray:
    return np.full(shape, value)


# What is wrong with a question to a model of GOOD, and words of the message.
QUESTIONS = {
    "a negative count": (lambda m: m.sample(-1), ["count", "-1"]),
    "a fractional count": (lambda m: m.sample(2.5), ["count", "2.5"]),
    "a negative seed": (lambda m: m.sample(1, seed=-1), ["seed", "-1"]),
    "an unknown key": (lambda m: m.sample(1, stepz=3), ["sample.stepz", "sample.steps"]),
    "an unknown sampler": (lambda m: m.sample(1, sampler="magic"), ["magic", "rk4"]),
    "an unknown column given": (lambda m: m.sample(1, given={"c": 1}), ["'c'", "nearest"]),
    "an unknown label given": (lambda m: m.sample(1, given={"a": "z"}), ["a=z", "x, y"]),
    "too few numbers given": (lambda m: m.sample(1, given=[0]), ["[items, 2]"]),
    "a number given that is no label": (lambda m: m.sample(1, given=[7, -1]), ["7", "0 to 1"]),
    "fractions given": (lambda m: m.sample(1, given=[0.5, -1]), ["given", "integers"]),
    "a text given": (lambda m: m.sample(1, given="a=x"), ["given", "a=x"]),
    "an unknown bound": (lambda m: m.log_prob(GOOD, bound="best"), ["bound", "best", "free"]),
    "an order of another bound": (lambda m: m.log_prob(GOOD, order="random"), ["order"]),
    "an unknown order": (lambda m: m.log_prob(GOOD, bound="order", order="up"), ["order", "up", "left-to-right"]),
    "evaluations of an exact score": (
        lambda m: m.log_prob(GOOD, bound="order", order="random", evaluations=8), ["evaluations"],
    ),
    "an error of an exact score": (lambda m: m.log_prob(GOOD, bound="order", order="random", error=0.1), ["error"]),
    "an average of another bound": (lambda m: m.log_prob(GOOD, log_mean=True), ["log_mean"]),
    "cells of another bound": (lambda m: m.log_prob(GOOD, bound="path", cells=True), ["free", "order"]),
    "conditions of another bound": (lambda m: m.log_prob(GOOD, bound="ball", given="a"), ["free, path and order"]),
    "no error": (lambda m: m.log_prob(GOOD, error=0.0, evaluations=8), ["error", "0"]),
    "a negative error": (lambda m: m.log_prob(GOOD, error=-0.1), ["error", "-0.1"]),
    "a negative share": (lambda m: m.log_prob(GOOD, error="-1%"), ["error", "-1%"]),
    "an error without a unit": (lambda m: m.log_prob(GOOD, error="1"), ["error", "1%"]),
    "a number of evaluations": (lambda m: m.log_prob(GOOD, evaluations=5), ["5", "multiple of 4"]),
    "negative evaluations": (lambda m: m.log_prob(GOOD, evaluations=-4), ["-4"]),
    "an unknown condition": (lambda m: m.log_prob(GOOD, given="c"), ["'c'", "nearest"]),
    "a column that is missing": (lambda m: m.log_prob(GOOD[["a"]]), ["DataFrame", "column b"]),
    "a label that is new": (lambda m: m.log_prob(GOOD.assign(b=3)), ["row 0", "column b", "'3'", "1, 2", "unseen="]),
    "no rows": (lambda m: m.log_prob(GOOD[:0]), ["no rows"]),
    "items of another shape": (lambda m: m.log_prob(np.zeros((2, 3), int)), ["[items, 2]", "[2, 3]"]),
    "numbers that are no labels": (lambda m: m.log_prob(np.full((2, 2), 5)), ["5", "0 to 1"]),
    "floating-point numbers": (lambda m: m.log_prob(np.zeros((2, 2))), ["integers"]),
    "objects as items": (lambda m: m.log_prob(np.zeros((2, 2), object)), ["integers"]),
    "an unknown source": (lambda m: m.log_prob("nope"), ["nope"]),
    "no draws": (lambda m: m.complete(GOOD, draws=0), ["draws", "0"]),
    "too much noise": (lambda m: m.complete(GOOD, noise=1.0), ["noise", "1"]),
    "best of several": (lambda m: m.complete(GOOD, best=True, draws=3), ["best", "draws"]),
    "evidence of another shape": (lambda m: m.complete(GOOD, evidence=evidence(40, 3)), ["[40, 3]", "[40, 4]"]),
    "evidence that is no number": (lambda m: m.complete(GOOD, evidence=evidence(40, 4, value=np.nan)), ["evidence"]),
    "a column to predict": (lambda m: m.predict(GOOD, "c"), ["'c'", "nearest"]),
    "missing cells among outliers": (lambda m: m.outliers(GOOD.assign(a=None)), ["row 0", "column a"]),
    "a negative error of outliers": (lambda m: m.outliers(GOOD, error=-1.0), ["error", "-1"]),
    "negative evaluations of outliers": (lambda m: m.outliers(GOOD, evaluations=-4), ["evaluations", "-4"]),
    "no calibration": (lambda m: m.outliers(GOOD, calibration=0), ["calibration", "0"]),
    "other training data": (lambda m: m.outliers(GOOD, train=GOOD[["a"]]), ["column b"]),
}


@pytest.mark.parametrize("mistake", QUESTIONS)
def test_mistakes_in_questions(model, drawn, mistake):
    ask, words = QUESTIONS[mistake]
    with pytest.raises(MISTAKE) as error:
        ask(model)
    assert_one_line(error.value, *words)
    # After an error, the model works as before.
    pd.testing.assert_frame_equal(model.sample(10), drawn)


def test_mistakes_with_sequences(sequence_model, sequences):
    for items, words in (
        (sequences + 1, ["item", "position", "'3'"]),
        (sequences[:, :4], ["4 variables", "6 variables"]),
        (np.stack([sequences, sequences], axis=1), ["image", "sequence"]),
    ):
        with pytest.raises(ValueError) as error:
            sequence_model.log_prob(items)
        assert_one_line(error.value, *words)


def test_mistakes_with_runs(tmp_path):
    for folder in (tmp_path, tmp_path / "not there"):
        with pytest.raises(ValueError) as error:
            segre.load(folder)
        assert_one_line(error.value, str(folder), "not a trained run")
    run = quick(GOOD, out=tmp_path / "run").path
    with pytest.raises(ValueError) as error:
        segre.load(run, checkpoint="first")
    assert_one_line(error.value, "first", "last", "best")
    with pytest.raises(ValueError) as error:
        quick(GOOD, out=run)
    assert_one_line(error.value, str(run), "already contains a run", "resume")
    with pytest.raises(ValueError) as error:
        quick(GOOD[:20], out=run, resume=True)
    assert_one_line(error.value, "20 items", "40")
    assert quick(GOOD, out=run, resume=True).finished


def test_a_damaged_run(tmp_path):
    run = quick(GOOD, out=tmp_path / "run").path
    for file in run.glob("checkpoints/step-*/model.safetensors"):
        file.write_bytes(file.read_bytes()[:-8])
    with pytest.raises(ValueError) as error:
        segre.load(run)
    assert_one_line(error.value, "model.safetensors")


def test_directories_that_cannot_be_made(model, tmp_path):
    """Failures of the machine rather than of the input."""
    (tmp_path / "file").write_text("kept")
    for work in (lambda: quick(GOOD, out=tmp_path / "file" / "run"), lambda: model.save(tmp_path / "file")):
        with pytest.raises((ValueError, RuntimeError, OSError)) as error:
            work()
        assert_one_line(error.value, str(tmp_path / "file"))
    assert (tmp_path / "file").read_text() == "kept"


def test_too_much_memory(model):
    with pytest.raises((MemoryError, RuntimeError)) as error:
        model.sample(10**15)
    assert_one_line(error.value)


# What is wrong with a question to an oracle of 2 x 3 labels, or with its parts.
ORACLES = {
    "a number": (lambda o: segre.Oracle(3.0), ["axis per variable"]),
    "negative weights": (lambda o: segre.Oracle([0.5, -0.5]), ["-0.5"]),
    "weights that are no numbers": (lambda o: segre.Oracle([np.nan, 1.0]), ["nan"]),
    "nothing possible": (lambda o: segre.Oracle([0.0, 0.0]), ["positive probability"]),
    "no column of weights": (lambda o: segre.Oracle({"a": [1]}), ["column p", "a"]),
    "an unknown distribution": (lambda o: segre.Oracle("glyphs"), ["not known"]),
    "an unknown variable": (lambda o: o.conditional({"z": 1}), ["'z'", "x1, x2"]),
    "an unknown label": (lambda o: o.conditional({"x2": 7}), ["x2", "7"]),
    "an impossible condition": (lambda o: o.conditional({"x1": 1, "x2": 2}), ["probability 0"]),
    "labels out of range": (lambda o: o.log_prob([[0, 3]]), ["x2", "3", "0 to 2"]),
    "unknown labels": (lambda o: o.log_prob([[0, -1]]), ["x2", "not known"]),
    "one item instead of several": (lambda o: o.log_prob([0, 0]), ["[items, 2]"]),
    "labels that are no integers": (lambda o: o.log_prob([[0.0, 0.0]]), ["integers"]),
    "a negative count": (lambda o: o.sample(-1), ["-1"]),
    "states of another size": (lambda o: o.velocity(np.zeros((1, 4)), 0.5), ["4", "5"]),
    "a time after the end": (lambda o: o.velocity(np.zeros((1, 5)), 1.5), ["1.5"]),
    "an unknown path": (lambda o: segre.nn.Path("bent"), ["bent", "e-geodesic"]),
    "an unknown option of a path": (lambda o: segre.nn.Path(epz=0.1), ["path.epz", "path.eps"]),
    "an unknown network": (lambda o: segre.Field(o.space, "brain"), ["brain", "mlp"]),
    "an unknown form": (lambda o: segre.nn.Model(o.space, segre.Field(o.space), form="odd"), ["odd", "evidence"]),
    "an unknown option of samplers": (lambda o: segre.train.Sampler(o, stepz=3), ["sample.stepz"]),
    "negative samples": (lambda o: segre.train.Sampler(o).draw(0, -3), ["-3"]),
    "a negative sample": (lambda o: segre.train.Sampler(o).draw(-1, 3), ["-1"]),
    "no trajectories": (lambda o: segre.train.Sampler(o).trajectories(-1), ["-1"]),
    "odd evaluations": (lambda o: segre.train.FreeBound(o, times=5)(o.labelings), ["5", "multiple of 4"]),
    "no draws": (lambda o: segre.train.FlowBound(o, draws=0)(o.labelings), ["draws", "0"]),
    "something without a flow": (lambda o: segre.train.Sampler(3), ["int"]),
    "an unknown option of training": (lambda o: trainer(o, stepz=3), ["train.stepz"]),
    "no batch": (lambda o: trainer(o, batch=0), ["train.batch", "0"]),
    "negative steps": (lambda o: trainer(o, steps=5).step(-1), ["-1"]),
    "a state of something else": (lambda o: trainer(o).load({"a": np.zeros(3)}), ["a"]),
}


def trainer(oracle, **options):
    model = segre.nn.Model(oracle.space, segre.Field(oracle.space, hidden=[4]))
    return segre.train.Trainer(model, oracle.labelings, **options)


@pytest.mark.parametrize("mistake", ORACLES)
def test_mistakes_with_parts(mistake):
    oracle = segre.Oracle([[0.3, 0.2, 0.1], [0.2, 0.2, 0.0]])
    ask, words = ORACLES[mistake]
    with pytest.raises(MISTAKE) as error:
        ask(oracle)
    assert_one_line(error.value, *words)


def test_lists_serve_as_arrays():
    """Wherever labels, states or log-likelihoods are expected."""
    oracle = segre.Oracle([[0.3, 0.2], [0.2, 0.3]])
    state = [[0.1, -0.1, 0.2, -0.2]]
    assert np.array_equal(oracle.velocity(state, 0.3), oracle.velocity(np.array(state), 0.3))
    sampler = segre.train.Sampler(oracle)
    assert np.array_equal(sampler.complete([[0, -1]]), sampler.complete(np.array([[0, -1]])))
    bound = segre.train.FreeBound(oracle, times=8)
    assert np.array_equal(bound([[0, 1]]), bound(np.array([[0, 1]])))
