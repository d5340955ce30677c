"""Training: what determines a model, where its files go, going on with a run."""

from __future__ import annotations

import gc
import json
import shutil
import tempfile
import time

import numpy as np
import pandas as pd
import pytest
from conftest import TINY, WEATHER_BINS, assert_one_line, make_weather, python, quick, tensors

import segre


def test_the_same_data_seed_and_config_give_the_same_bits(sequences, sequence_model):
    assert tensors(quick(sequences)) == tensors(sequence_model)
    assert tensors(quick(sequences, seed=1)) == tensors(sequence_model)  # the default


def test_the_seed_matters(sequences, sequence_model):
    other = quick(sequences, seed=2)
    assert tensors(other) != tensors(sequence_model)
    assert not np.array_equal(other.sample(20), sequence_model.sample(20))
    assert tensors(quick(sequences, {**TINY, "seed": 2})) == tensors(other)


def test_keys_of_the_config(sequences):
    keys = {"train.steps": 7, "watch.use_best": False, "train.ema": 0.5, "net.hidden": [8, 9]}
    model = quick(sequences, {**TINY, **keys})
    assert model.step == 7 and model.finished
    for line in ("steps = 7", "use_best = false", "ema = 0.5", "hidden = [8, 9]"):
        assert line in model.config
    assert "step 7" in repr(model) and "sequence of 6 variables" in repr(model)


def test_the_plan_is_what_fit_does(sequences):
    plan = segre.plan(sequences, config=TINY, progress=False)
    model = quick(sequences)
    assert plan["config"] == model.config
    assert plan["training"]["expected_steps"] == model.step
    assert plan["data"]["items"] == len(sequences)
    assert plan["data"]["training_items"] + plan["data"]["held_out_items"] == len(sequences)
    assert plan["network"]["reasons"] == plan["network"]["race"] == []  # the network was asked for
    assert plan["out"] is None


def test_a_file_of_keys(sequences, tmp_path):
    file = tmp_path / "own.toml"
    file.write_text('[net]\nkind = "mlp"\nhidden = [16]\n[train]\nsteps = 5\nbatch = 8\n')
    for config in (file, str(file)):
        model = segre.fit(sequences, config=config, progress=False)
        assert model.step == 5 and "MLP" in repr(model)


def test_networks_of_all_kinds(sequences):
    """Each trains, samples and scores; a network's own options reach it."""
    for kind, options in {
        "mlp": {"net.hidden": [16], "model.form": "velocity", "train.objective": "metric"},
        "transformer": {"net.width": 8, "net.layers": 1, "net.token_heads": 1},
    }.items():
        model = quick(sequences, {"net.kind": kind, "train.steps": 3, "train.batch": 8, **options})
        assert model.sample(3).shape == (3, 6)
        assert np.isfinite(model.log_prob(sequences[:3], evaluations=8)).all()


@pytest.mark.parametrize(("limit", "seconds"), [("2s", 2), (1.5, 1.5)])
def test_max_time_is_kept(sequences, limit, seconds):
    """Training takes about the time it is given: at least half of it, and, on a busy machine, at most twice."""
    start = time.monotonic()
    model = segre.fit(sequences, max_time=limit, config={"net.kind": "latent_class", "net.classes": 8}, progress=False)
    assert seconds / 2 < time.monotonic() - start < 2 * seconds
    assert model.finished and model.step > 0


def test_resuming_gives_the_bits_of_an_uninterrupted_run(weather, tmp_path):
    """A run whose later files were lost, as after a power cut, goes on from those that are there."""
    config = {**TINY, "train.steps": 30, "watch.save_seconds": 0, "watch.keep": 100, "watch.every": 10}
    whole = quick(weather, config, bins=WEATHER_BINS, out=tmp_path / "whole")
    shutil.copytree(whole.path, tmp_path / "part")
    for path in (tmp_path / "part" / "checkpoints").glob("step-*"):
        if int(path.name[5:]) > 10:
            shutil.rmtree(path)
    resumed = quick(weather, config, bins=WEATHER_BINS, out=tmp_path / "part", resume=True)
    assert resumed.step == 30 and resumed.finished
    assert tensors(resumed) == tensors(whole)
    pd.testing.assert_frame_equal(resumed.sample(20), whole.sample(20))


def test_resuming_with_more_steps(sequences, tmp_path):
    quick(sequences, out=tmp_path / "run")
    model = quick(sequences, {"train.steps": 60}, out=tmp_path / "run", resume=True)
    assert segre.load(model.path, checkpoint="last").step == 60
    assert "classes = 8" in model.config  # of the run that goes on


def test_directories_of_runs(sequences, tmp_path):
    nested = tmp_path / "a" / "b"
    assert quick(sequences, out=str(nested)).path == nested
    assert (nested / "config.toml").exists()
    (tmp_path / "empty").mkdir()
    quick(sequences, out=tmp_path / "empty")
    with pytest.raises(ValueError) as error:
        quick(sequences, out=nested)
    assert_one_line(error.value, str(nested), "already contains a run")


def test_save_and_load(weather_model, weather, tmp_path):
    weather_model.save(tmp_path / "deep" / "copy")
    again = segre.load(tmp_path / "deep" / "copy")
    pd.testing.assert_frame_equal(again.sample(30), weather_model.sample(30))
    assert np.array_equal(again.log_prob(weather), weather_model.log_prob(weather))
    pd.testing.assert_frame_equal(again.complete(weather), weather_model.complete(weather))
    assert again.config == weather_model.config and again.step == weather_model.step
    columns = json.loads((again.path / "columns.json").read_text())
    assert list(columns) == list(weather)


def test_a_model_is_saved_from_a_loaded_one(weather_model, tmp_path):
    weather_model.save(tmp_path / "one")
    segre.load(tmp_path / "one").save(tmp_path / "two")
    pd.testing.assert_frame_equal(segre.load(tmp_path / "two").sample(9), weather_model.sample(9))


def test_save_never_overwrites(sequence_model, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("years of work")
    with pytest.raises(ValueError) as error:
        sequence_model.save(tmp_path / "full")
    assert_one_line(error.value, str(tmp_path / "full"), "choose another")
    assert (tmp_path / "full" / "thesis.txt").read_text() == "years of work"
    (tmp_path / "empty").mkdir()
    sequence_model.save(tmp_path / "empty")
    assert np.array_equal(segre.load(tmp_path / "empty").sample(5), sequence_model.sample(5))


def test_save_leaves_its_neighbours_alone(sequence_model, tmp_path):
    """Whatever they are called; and nothing of its own stays beside the model."""
    for name in (".run.new", ".run.tmp", "run.new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "thesis.txt").write_text("years of work")
    sequence_model.save(tmp_path / "run")
    assert {path.name for path in tmp_path.iterdir()} == {".run.new", ".run.tmp", "run.new", "run"}
    assert all((path / "thesis.txt").exists() for path in tmp_path.iterdir() if path.name != "run")
    assert (tmp_path / "run").stat().st_mode == sequence_model.path.stat().st_mode


def test_fit_leaves_files_in_its_directory_alone(weather, tmp_path):
    """Those in the directory of a run that are not the run's are the user's."""
    quick(weather, bins=WEATHER_BINS, out=tmp_path / "run")
    (tmp_path / "run" / "columns.json.new").write_text("years of work")
    quick(weather, {**TINY, "train.steps": 60}, bins=WEATHER_BINS, out=tmp_path / "run", resume=True)
    assert (tmp_path / "run" / "columns.json.new").read_text() == "years of work"


def test_checkpoints(sequences, tmp_path):
    config = {**TINY, "watch.every": 10, "watch.keep": 10}
    run = quick(sequences, config, out=tmp_path / "run").path
    assert segre.load(run, checkpoint="last").step == 40
    best = json.loads((run / "checkpoints" / "best.json").read_text())
    assert segre.load(run, checkpoint="best").step == best["step"]


def test_models_that_come_with_the_package():
    assert segre.load("models/mnist").space.shape == [32, 32]


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A folder of its own for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_temporary_run_goes_with_its_model(sequences, temporary):
    model = quick(sequences)
    assert model.path.exists() and temporary in model.path.parents
    del model
    gc.collect()
    assert list(temporary.iterdir()) == []


def test_a_failure_leaves_nothing_behind(sequences, temporary):
    for mistake in ({"data": sequences.astype(float)}, {"data": sequences, "config": {"train.stepz": 3}}):
        with pytest.raises(ValueError):
            segre.fit(**mistake, progress=False)
    gc.collect()
    assert list(temporary.iterdir()) == []


def test_temporary_runs_go_with_the_process(tmp_path):
    python(
        "import segre; m = segre.fit('coupled', config={'train.steps': 2, 'train.batch': 8}, progress=False); "
        "assert m.path.exists()",
        TMPDIR=str(tmp_path),
    )
    assert list(tmp_path.iterdir()) == []


def test_progress_goes_to_standard_error(sequences, capsys):
    """To that of Python, which a notebook or a test replaces; without it, nothing is said."""
    segre.fit(sequences, config=TINY, progress=True)
    said = capsys.readouterr()
    assert said.out == ""
    for word in ("data ", "network ", "trained 40 steps"):
        assert word in said.err
    assert "segre sample" not in said.err  # advice for the command line
    quick(sequences)
    assert capsys.readouterr() == ("", "")


def test_data_with_one_row_or_one_label():
    for table in ({"a": ["x"]}, {"a": ["x"] * 5, "b": [1] * 5}):
        drawn = quick(table, {**TINY, "train.steps": 3}).sample(4)
        assert drawn["a"].tolist() == ["x"] * 4


def test_new_rows_of_the_same_kind_are_likelier_than_shuffled_ones():
    """Training learns how columns depend on each other: sky and wet are never at odds in the data."""
    model = quick(make_weather(400), {**TINY, "train.steps": 200}, columns=["sky", "wet"])
    new = make_weather(100, seed=9)[["sky", "wet"]]
    odd = new.assign(wet=~new["wet"])
    assert model.log_prob(new).mean() > model.log_prob(odd).mean() + 1


def test_how_a_model_looks_in_a_notebook(weather_model, sequence_model, image_model):
    assert "<table" in weather_model._repr_html_() and "storeys" in weather_model._repr_html_()
    assert "<pre>" in sequence_model._repr_html_()
    assert "data:image/png;base64," in image_model._repr_html_()
