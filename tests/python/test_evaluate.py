"""model.evaluate and segre.evaluate."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from conftest import TINY, quick

import segre


def visits(n: int, seed: int) -> pd.DataFrame:
    """A number that is 0 in three of four rows, and a label that depends on it."""
    random = np.random.default_rng(seed)
    zero = random.random(n) < 0.75
    value = np.where(zero, 0.0, np.round(random.uniform(1, 40, n), 2))
    bought = random.random(n) < np.where(zero, 0.05, 0.6)
    return pd.DataFrame({"value": value, "month": random.choice(["May", "Nov"], n), "bought": bought})


@pytest.fixture(scope="module")
def tables():
    return {"train": visits(900, 1), "new": visits(400, 2)}


@pytest.fixture(scope="module")
def model(tables):
    return quick(tables["train"])


def test_every_measure_of_a_model(model, tables, tmp_path):
    found = model.evaluate(tables["new"], count=300, out=tmp_path / "out")
    assert set(found.metrics["group"]) == {
        "numbers", "marginals", "all pairs", "mutual information", "two-sample test", "memorisation",
        "membership attack", "trained on samples, tested on held-out rows: bought",
    }  # fmt: skip
    assert list(found.columns["name"]) == ["value", "month", "bought"]
    assert len(found.pairs) == 3
    assert found.left_out == []
    assert found.verdicts and found.verdicts[0] in repr(found) and "<table" in found._repr_html_()
    assert "Verdict" in (tmp_path / "out" / "report.html").read_text()


def test_training_rows_are_the_values_that_fit_saw(model, tables):
    """Rows of training, given as samples, are exact copies: the model's levels would not give them back."""
    found = model.evaluate(tables["new"], samples=tables["train"].head(200), target="none").metrics.set_index("name")
    assert found.loc["rows that are exact copies of training rows", "value"] > 0.9  # some rows were held out
    assert "AUC of the model's log p, training rows against held-out rows" not in found.index


def test_the_same_as_the_command_line(tables, tmp_path, cli):
    for name, table in tables.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    words = [f"{key}={value}" for key, value in TINY.items()]
    cli(tmp_path, "train", "--data", f"csv:{tmp_path}/train.csv", "--out", "run", "--set", *words)
    model = segre.load(tmp_path / "run")
    request = ["evaluate", "run", "--data", f"csv:{tmp_path}/new.csv", "--count", 200, "--json"]
    printed = json.loads(cli(tmp_path, *request))
    found = model.evaluate(tables["new"], count=200)
    assert found.values["metrics"] == printed["metrics"]
    assert found.values["columns"] == printed["columns"]
    assert model.evaluate(f"csv:{tmp_path}/new.csv", count=200).values["pairs"] == printed["pairs"]


def test_anybodys_rows(tables):
    good = segre.evaluate(visits(400, 3), tables["new"], train=tables["train"])
    assert good.verdicts[0] == "No column is significantly off."
    assert good.left_out == ["membership attack: there is no model"]
    spread = tables["train"].assign(value=np.random.default_rng(1).uniform(0, 40, 900))
    bad = segre.evaluate(spread, tables["new"], train=tables["train"])
    assert "value (0: 0.00% of samples, 7" in bad.verdicts[0]
    assert bool(bad.columns.set_index("name").loc["value", "differs"])


def test_a_target_of_numbers_and_wrong_ones(tables):
    found = segre.evaluate(visits(400, 3), tables["new"], train=tables["train"], target="value").metrics
    error = found[found["name"] == "mean absolute error"].iloc[0]
    assert error["group"].endswith(": value") and 0 < error["value"] < 20
    with pytest.raises(ValueError, match="target valu: the table has no such column; the nearest is value"):
        segre.evaluate(visits(400, 3), tables["new"], target="valu")
    with pytest.raises(ValueError, match="samples: a DataFrame, a mapping of columns or 'csv:FILE' was expected"):
        segre.evaluate(np.zeros((3, 2)), tables["new"])


def test_arrays_and_toys():
    model = quick(np.random.default_rng(0).integers(0, 2, (200, 5)))
    assert len(model.evaluate(np.random.default_rng(1).integers(0, 2, (100, 5)), count=50).metrics) > 3
