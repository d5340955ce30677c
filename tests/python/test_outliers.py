"""Rows that do not fit are found, with what is wrong about them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from conftest import TINY, assert_one_line, quick

import segre


def make_pairs(n: int, seed: int) -> pd.DataFrame:
    """Wards that follow from the complaint, and a column that has nothing to do with them."""
    random = np.random.default_rng(seed)
    complaint = random.integers(0, 4, n)
    return pd.DataFrame(
        {
            "complaint": np.array(["cough", "fracture", "earache", "burn"])[complaint],
            "ward": np.array(["lungs", "bones", "ears", "skin"])[complaint],
            "day": random.choice(["Mon", "Tue", "Wed"], n),
        }
    )


ODD = [7, 30]  # the rows in which ward and complaint are at odds


@pytest.fixture(scope="module")
def pairs():
    return make_pairs(400, 1)


@pytest.fixture(scope="module")
def model(pairs):
    return quick(pairs, {**TINY, "train.steps": 300})


@pytest.fixture(scope="module")
def new():
    table = make_pairs(60, 2)
    for row in ODD:
        table.loc[row, "complaint"] = "cough"
        table.loc[row, "ward"] = "bones"
    return table


@pytest.fixture(scope="module")
def found(model, new):
    return model.outliers(new)


def test_odd_rows_are_first(found):
    assert set(np.argsort(found)[-2:]) == set(ODD)
    assert np.all(found.details["percentile"][ODD] > 98)  # no row that they are compared with is as odd
    assert np.all((found.details["percentile"] >= 0) & (found.details["percentile"] <= 100))


def test_scores_have_errors(found):
    assert found.shape == found.std_error.shape == (60,)
    # The default goal is 0.1 nats for each row of a table, as long as 4096 evaluations allow it.
    assert np.sqrt((found.std_error**2).mean()) < 0.1


def test_what_is_odd(found):
    for row in ODD:
        assert found.details["column"][row] in ("complaint", "ward")
        assert "complaint = cough" in found.details["pair"][row] and "ward = bones" in found.details["pair"][row]
    fine = np.delete(np.arange(60), ODD)
    assert np.all(found.details["pair"][fine] == "")


def test_cells_show_where(found, new):
    assert list(found.cells) == list(new) and found.cells.index.equals(new.index)
    worst = found.cells.loc[ODD, ["complaint", "ward"]].max(axis=1)
    assert np.all(worst > found.cells["day"].max())


def test_nats_are_those_of_the_likelihood(model, new, found):
    """Both bound -log p: they agree within their errors."""
    scores = model.log_prob(new, error=0.1, each=True)
    errors = np.hypot(scores.std_error, found.details["nats_error"])
    assert np.all(np.abs(found.details["nats"] + scores) < 5 * errors + 0.05)


def test_cells_may_be_left_out(model, new):
    assert model.outliers(new, cells=False).cells is None


def test_training_data_are_found_or_given(model, pairs, new, tmp_path):
    """A model that was loaded does not have the table that it was trained on."""
    model.save(tmp_path / "run")
    loaded = segre.load(tmp_path / "run")
    with pytest.raises(ValueError) as error:
        loaded.outliers(new)
    assert_one_line(error.value, "training data", "train=")
    again = loaded.outliers(new, train=pairs)
    assert set(np.argsort(again)[-2:]) == set(ODD)


def test_training_data_of_a_source_are_opened_again(pairs, new, tmp_path):
    pairs.to_csv(tmp_path / "pairs.csv", index=False)
    model = quick(f"csv:{tmp_path}/pairs.csv")
    model.save(tmp_path / "run")
    first, again = model.outliers(new), segre.load(tmp_path / "run").outliers(new)
    assert np.array_equal(first, again)
    assert np.array_equal(first.details["percentile"], again.details["percentile"])


def test_the_items_of_arrays(sequence_model, sequences):
    """For sequences and images there are no columns to name."""
    found = sequence_model.outliers(sequences[:10])
    assert found.shape == (10,) and found.cells.shape == (10, 6)
    assert "column" not in found.details and "percentile" in found.details
    odd = sequences[:10].copy()
    odd[:, 1] = (odd[:, 0] + 1) % 3  # the second label is otherwise the first
    better = quick(sequences, {**TINY, "train.steps": 300})
    assert better.outliers(odd).mean() > better.outliers(sequences[:10]).mean()
