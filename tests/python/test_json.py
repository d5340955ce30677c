"""The package gives the values that the command line prints with --json."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from conftest import TINY

import segre


@pytest.fixture(scope="module")
def folder(tmp_path_factory, cli):
    """A directory with a run, and a table whose cells are in part missing."""
    folder = tmp_path_factory.mktemp("json")
    random = np.random.default_rng(0)
    sky = random.integers(0, 3, 200)
    table = pd.DataFrame(
        {
            "sky": np.array(["sun", "cloud", "rain"])[sky],
            "wet": np.where(sky == 2, "yes", "no"),
            "heat": np.round(20 - 5 * sky + random.normal(0, 3, 200), 1),
        }
    )
    table.to_csv(folder / "t.csv", index=False)
    some = table.head(20).astype(object)
    some.loc[::3, "wet"] = None
    some.loc[1::4, "heat"] = None
    some.assign(visit=range(20)).to_csv(folder / "new.csv", index=False)
    words = [f"{key}={value}" for key, value in TINY.items()]
    cli(folder, "train", "--data", f"csv:{folder}/t.csv?bins=heat:4", "--out", "run", "--set", *words)
    return folder


@pytest.fixture(scope="module")
def model(folder):
    return segre.load(folder / "run")


@pytest.fixture
def asked(cli, folder):
    """What a command prints with --json."""
    return lambda command, *arguments: json.loads(cli(folder, command, "run", "--json", *arguments))


def values(table: pd.DataFrame) -> dict[str, list]:
    """A table's values, whatever the types of its columns."""
    return table.astype(object).to_dict("list")


def test_samples(asked, model):
    found = asked("sample", "--count", 20, "--numbers")
    assert values(pd.DataFrame(found["samples"])) == values(model.sample(20))


def test_completions(asked, folder, model):
    found = asked("complete", "--data", "csv:new.csv", "--draws", 2)
    completed = model.complete(pd.read_csv(folder / "new.csv"), draws=2)
    rows = [row for item in found["rows"] for row in item["completions"]]
    assert values(pd.DataFrame(rows)) == values(completed[["sky", "wet", "heat"]])
    assert any("ignoring column visit" in note for note in found["notes"])


def test_predictions(asked, folder, model):
    found = asked("predict", "--data", "csv:new.csv", "--column", "wet")
    probabilities = pd.DataFrame([row["probabilities"] for row in found["rows"]])
    predicted = model.predict(pd.read_csv(folder / "new.csv"), "wet")
    assert np.array_equal(probabilities, predicted[probabilities.columns])


def test_scores(asked, folder, model):
    found = asked("likelihood", "--data", "csv:t.csv", "--items", 10, "--times", 16)
    scores = model.log_prob(pd.read_csv(folder / "t.csv").head(10), evaluations=16)
    assert [item["log_p"] for item in found["items"]] == np.asarray(scores).tolist()
    assert [item["std_error"] for item in found["items"]] == scores.std_error.tolist()


def test_odd_rows(asked, folder, model):
    found = asked("outliers", "--data", "csv:t.csv", "--items", 10, "--times", 64)
    odd = model.outliers(pd.read_csv(folder / "t.csv").head(10), evaluations=64, cells=False)
    for row in found["rows"]:
        assert row["score"] == odd[row["item"]]
        assert row["percentile"] == odd.details["percentile"][row["item"]]


def test_a_note_is_printed_once(folder, capfd):
    model = segre.load(folder / "run")
    table = pd.read_csv(folder / "new.csv")
    capfd.readouterr()
    for _ in range(3):
        model.predict(table, "sky")
    assert capfd.readouterr().err.count("ignoring column visit") == 1
    assert sum("ignoring column visit" in note for note in model.notes) == 1
