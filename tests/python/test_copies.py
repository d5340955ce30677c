"""Models as values: pickled and copied, they are the same model in files of its own."""

from __future__ import annotations

import copy
import gc
import pickle
import shutil

import numpy as np
import pandas as pd
import pytest
from conftest import WEATHER_BINS, import_torch, make_weather, python, quick

import segre


def check_same(model, other, table):
    """The same bits in every answer."""
    pd.testing.assert_frame_equal(other.sample(30), model.sample(30))
    mine, theirs = model.log_prob(table, evaluations=16), other.log_prob(table, evaluations=16)
    assert np.array_equal(mine, theirs) and np.array_equal(mine.std_error, theirs.std_error)
    pd.testing.assert_frame_equal(other.complete(table), model.complete(table))
    assert other.config == model.config and other.step == model.step and repr(other) == repr(model)


@pytest.mark.parametrize("again", [lambda model: pickle.loads(pickle.dumps(model)), copy.deepcopy, copy.copy])
def test_a_copy_is_the_same_model_in_files_of_its_own(weather_model, weather, again):
    other = again(weather_model)
    assert other.path != weather_model.path and other.path.exists()
    check_same(weather_model, other, weather)
    path = other.path
    del other
    gc.collect()
    assert not path.parent.exists()
    assert weather_model.path.exists()


def test_a_copy_outlives_the_model(tmp_path):
    weather = make_weather()
    model = quick(weather, bins=WEATHER_BINS)
    rows, path, text, other = model.sample(20), model.path, pickle.dumps(model), copy.deepcopy(model)
    odd = model.outliers(weather.head(5), cells=False)
    model.save(tmp_path / "run")
    del model
    gc.collect()
    assert not path.exists()
    for again in (other, pickle.loads(text), pickle.loads(pickle.dumps(other))):
        pd.testing.assert_frame_equal(again.sample(20), rows)
    # A copy knows the data that the model learned from; in a pickle they are not, as in its files.
    assert np.array_equal(other.outliers(weather.head(5), cells=False), odd)
    found, expected = (
        again.outliers(weather.head(5), train=weather, cells=False)
        for again in (pickle.loads(text), segre.load(tmp_path / "run"))
    )
    assert np.array_equal(found, expected)


def test_a_pickle_is_read_in_another_process(weather_model, tmp_path):
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(weather_model))
    code = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb')).sample(5).to_csv(index=False))"
    done = python(code, tmp_path / "model.pickle", TMPDIR=str(tmp_path))
    assert done.stdout.strip() == weather_model.sample(5).to_csv(index=False).strip()
    assert [path.name for path in tmp_path.iterdir()] == ["model.pickle"]  # its files went with the process


def test_models_of_arrays(sequence_model, sequences):
    other = pickle.loads(pickle.dumps(sequence_model))
    assert np.array_equal(other.sample(9), sequence_model.sample(9))
    assert np.array_equal(other.predict(sequences), sequence_model.predict(sequences))


def test_notes_are_kept(weather_model):
    model = copy.deepcopy(weather_model)
    model._take_notes(["the data are odd"])
    assert pickle.loads(pickle.dumps(model)).notes == model.notes
    assert "the data are odd" not in weather_model.notes


def test_files_that_are_gone(sequences, tmp_path):
    model = quick(sequences, out=tmp_path / "run")
    shutil.rmtree(tmp_path / "run")
    with pytest.raises(ValueError, match="the files of the model are gone"):
        pickle.dumps(model)


def test_a_module_of_torch_is_not_pickled():
    torch = import_torch()

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 4)

        def forward(self, W, t):
            return self.layer(W)

    model = segre.fit("coupled", field=segre.Field.from_torch(Net()), config={"train.steps": 3}, progress=False)
    with pytest.raises(TypeError, match="module of torch.*segre.load"):
        pickle.dumps(model)
    assert copy.deepcopy(model).sample(9).equals(model.sample(9))
