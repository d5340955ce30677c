"""Answers in the types of the data: predictions and completions of numbers, dates and lacking columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import segre

ROWS = 6000
TREE = {"net.kind": "tree", "train.steps": 1}  # counted, so that nothing has to be trained


def people(seed: int, rows: int = ROWS) -> pd.DataFrame:
    """Amounts that are normal given the group, with zeros; days that follow the group; an index of its own."""
    random = np.random.default_rng(seed)
    group = random.choice(2, rows)
    amount = np.round(1000 + 1000 * group + 100 * random.standard_normal(rows)).astype(np.int64)
    amount[random.random(rows) < 0.1] = 0
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.round(1000 * group + 300 * random.random(rows)), unit="D")
    index = pd.Index(np.arange(rows) * 3 + 7, name="number")
    return pd.DataFrame({"group": np.array(["low", "high"])[group], "amount": amount, "day": day}, index=index)


@pytest.fixture(scope="module")
def model():
    return segre.fit(people(1), config=TREE, progress=False)


def test_numbers_are_predicted_by_their_distribution(model):
    fresh = people(2, 400)
    found = model.predict(fresh[["group"]].assign(amount=0, day=pd.NaT), "amount")
    assert list(found) == ["median", "mean", "q05", "q25", "q75", "q95"]
    assert found.index.equals(fresh.index)
    low = found[fresh["group"] == "low"].mean()
    # Those of the rows that it counted, whose levels are a few units wide, more at the ends.
    rows = people(1)
    counted = rows["amount"][rows["group"] == "low"]
    assert low["median"] == pytest.approx(counted.median(), abs=8)
    assert low["mean"] == pytest.approx(counted.mean(), abs=8)
    assert low["q05"] == 0
    assert low["q95"] == pytest.approx(counted.quantile(0.95), abs=12)
    days = model.predict(fresh[["group"]], "day")
    assert days["median"].dtype.kind == "M"
    middle = days["median"][fresh["group"] == "low"].mean()
    assert abs(middle - pd.Timestamp("2024-05-30")) < pd.Timedelta(days=8)


def test_the_best_number_is_the_median_and_keeps_its_type(model):
    fresh = people(3, 60)
    holes = fresh.assign(amount=fresh["amount"].where(fresh.index < 0).astype("Int64"))
    for best in (True, "cells", "row"):
        found = model.complete(holes, best=best)
        assert found["amount"].dtype == "Int64"
        assert found.index.equals(fresh.index)
        # The day says no more than the group, which is given.
        off = found["amount"].astype(float) - np.where(fresh["group"] == "low", 986, 1986)
        assert off.abs().max() < 30
    assert found[["group", "day"]].equals(fresh[["group", "day"]])


def test_columns_that_are_lacking_are_filled_in(model):
    fresh = people(4, 30)
    found = model.complete(fresh[["amount"]], best="row")
    assert list(found) == ["amount", "group", "day"]
    assert found["day"].dtype.kind == "M"
    sure = fresh["amount"] > 0
    assert (found["group"] == fresh["group"])[sure].all()
    assert any("has no columns group, day, which are unknown in all rows" in note for note in model.notes)
    plain = model.complete({"amount": fresh["amount"].tolist()}, best="row")
    assert list(plain["group"]) == list(found["group"])


def test_rows_with_unseen_labels(model):
    fresh = people(5, 4)
    fresh.loc[fresh.index[1], "group"] = "other"
    fresh.loc[fresh.index[2], "day"] = pd.NaT
    with pytest.raises(ValueError, match="unseen=skip"):
        model.complete(fresh)
    found = model.complete(fresh, unseen="skip")
    assert found.index.equals(fresh.index[[0, 2, 3]])
    assert found["day"].notna().all()
    for call in (model.log_prob, lambda data, **more: model.predict(data, "day", **more)):
        assert len(call(fresh.assign(day=people(5, 4)["day"]), unseen="skip")) == 3


def test_best_is_one_of_its_words(model):
    with pytest.raises(ValueError, match="best = 'rows': cells, row, True or False was expected"):
        model.complete(people(1, 2), best="rows")


def test_a_model_that_is_no_good_is_called_so():
    """Two columns that have nothing to do with each other, and a network that is hardly trained."""
    random = np.random.default_rng(1)
    table = pd.DataFrame({name: random.choice(list("abcdefgh"), 2000, p=[0.93] + [0.01] * 7) for name in "xyz"})
    config = {"net.kind": "mlp", "net.hidden": [8], "train.steps": 2, "train.batch": 8, "train.ema": 0.0}
    model = segre.fit(table, config=config, progress=False)
    assert any("independent columns" in note for note in model.notes)
