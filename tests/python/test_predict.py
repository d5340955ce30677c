"""Predictions of a column: what they are named, and what holes in the other columns mean."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest
from conftest import TINY, quick

import segre

N = 120
CODES = np.random.default_rng(21).integers(0, 3, N)
GAPS = np.arange(N) % 5 == 1
WORDS = np.array(["x", "y", "z, Ł"])[CODES]
DAYS = pd.Timestamp("2025-01-01") + pd.to_timedelta(CODES, unit="D")

# Columns to predict, by what is special about their type.
COLUMNS = {
    "int64": pd.Series(CODES),
    "int8": pd.Series(CODES - 1, dtype="int8"),
    "Int64 with gaps": pd.Series(CODES, dtype="Int64").where(~GAPS),
    "whole numbers with gaps": pd.Series(CODES.astype(float)).where(~GAPS),
    "bool": pd.Series(CODES > 0),
    "boolean with gaps": pd.Series(CODES > 0, dtype="boolean").where(~GAPS),
    "truth values with gaps": pd.Series(CODES > 0, dtype=object).where(~GAPS),
    "float64": pd.Series(CODES * 0.5),
    "float32": pd.Series(CODES * 0.1, dtype="float32"),
    "str": pd.Series(WORDS),
    "object with gaps": pd.Series(WORDS, dtype=object).where(~GAPS),
    "string": pd.Series(WORDS, dtype="string"),
    "days": pd.Series(DAYS),
    "days with gaps": pd.Series(DAYS).where(~GAPS),
    "dates": pd.Series([datetime.date(2025, 1, 1 + code) for code in CODES]),
    "category": pd.Series(pd.Categorical(WORDS)),
    "category of integers": pd.Series(pd.Categorical(CODES * 10, categories=[20, 10, 0], ordered=True)),
    "category of truth values": pd.Series(pd.Categorical(CODES > 0)),
    "category of intervals": pd.Series(pd.cut(CODES, 3)),
}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A model of all columns, and one that does not know their types, as of the command line."""
    table = pd.DataFrame(COLUMNS)
    model = quick(table)
    path = tmp_path_factory.mktemp("models") / "run"
    model.save(path)
    (path / "columns.json").unlink()
    return table, {"Python": model, "the command line": segre.load(path)}


@pytest.mark.parametrize("of", ["Python", "the command line"])
@pytest.mark.parametrize("name", COLUMNS)
def test_labels_have_the_type_of_the_column(models, name, of):
    """So that the accuracy is what it looks like."""
    table, model = models[0], models[1][of]
    column = table[name]
    p = model.predict(table, name)
    assert set(p.columns) == set(column.dropna())
    assert np.allclose(p.sum(axis=1), 1, atol=1e-5)
    right = p.idxmax(axis=1) == column
    names = model.space.label_names(list(table).index(name))
    best = np.array(names)[p.to_numpy().argmax(axis=1)]
    texts = column.astype(str).fillna("")  # of float32 with its own digits
    by_hand = [
        label in (text, text.removesuffix(" 00:00:00"), text.removesuffix(".0")) for label, text in zip(best, texts)
    ]
    assert right.fillna(False).tolist() == by_hand
    assert right.mean() > 0.25  # of two or three labels, the most likely one


def test_labels_of_a_column_that_the_data_lack(models):
    """They are those of the data that the model learned from."""
    table, model = models[0], models[1]["Python"]
    for name, column in COLUMNS.items():
        for other in (table.drop(columns=name)[:3], table.assign(**{name: None})[:3]):
            found = model.predict(other, name)
            assert set(found.columns) == set(column.dropna()), name
            assert np.array_equal(found, model.predict(table[:3], name)), name


def test_a_value_that_training_never_saw_may_be_predicted(models):
    """What the column holds is not looked at."""
    table, model = models[0], models[1]["Python"]
    strange = table.assign(str="new")
    assert np.array_equal(model.predict(strange, "str"), model.predict(table, "str"))


def test_rows_that_are_left_out_keep_their_index(models):
    """unseen="skip" leaves rows out; the others are still found by their index."""
    table, model = models[0][:10].set_axis(range(100, 110)), models[1]["Python"]
    strange = table.assign(str=["new", *table["str"][1:5], "new", *table["str"][6:]])
    kept = [row for row in table.index if row not in (100, 105)]
    for found, expected in (
        (model.predict(strange, "int64", unseen="skip"), model.predict(table.loc[kept], "int64")),
        (model.log_prob(strange, cells=True, evaluations=4, unseen="skip").cells,
         model.log_prob(table.loc[kept], cells=True, evaluations=4).cells),
        (model.outliers(strange, evaluations=4, unseen="skip").cells,
         model.outliers(table.loc[kept], evaluations=4).cells),
    ):  # fmt: skip
        assert found.index.tolist() == kept
        pd.testing.assert_frame_equal(found, expected)


# ---- holes that tell something ----------------------------------------------------------------------------------------

# y is 0 or 1 with probability 1/2; x1 = y with probability 0.8; x2 is missing with probability 0.9 if y = 1 and 0.1 if
# y = 0, and otherwise equal to y with probability 0.7. p[y, x1, x2], where x2 = 2 stands for a hole.
HOLE = np.array([0.1, 0.9])
JOINT = np.empty((2, 2, 3))
for y in (0, 1):
    agrees = np.arange(2) == y
    JOINT[y] = 0.5 * np.outer(np.where(agrees, 0.8, 0.2), [*np.where(agrees, 0.7, 0.3) * (1 - HOLE[y]), HOLE[y]])
# How far a network that was trained for seconds may be from the exact conditional, in probability. The data have the
# joint's own proportions, so there is no error of sampling. A hole read as "unknown" would be off by 0.66.
TRAINING = 0.04


def rows_of(labelings) -> pd.DataFrame:
    y, x1, x2 = np.asarray(labelings).T
    return pd.DataFrame({"y": y, "x1": np.array(["a", "b"])[x1], "x2": np.array(["u", "v", None], dtype=object)[x2]})


@pytest.fixture(scope="module", params=["latent_class", "residual"])
def holed(request):
    labelings = np.argwhere(JOINT > 0)
    counts = np.round(4000 * JOINT[tuple(labelings.T)]).astype(int)
    net = {"net.kind": "latent_class", "net.classes": 8} if request.param == "latent_class" else {
        "net.kind": "residual", "net.block_width": 64, "net.blocks": 2}  # fmt: skip
    return quick(rows_of(np.repeat(labelings, counts, axis=0)), {"train.steps": 600, "train.batch": 256, **net})


def test_holes_tell_what_training_learned_from_them(holed):
    """p(y | x1, x2), also where x2 is missing."""
    cells = [(0, x1, x2) for x1 in (0, 1) for x2 in (0, 1, 2)]
    found = holed.predict(rows_of(cells), "y")
    for k, (_, x1, x2) in enumerate(cells):
        exact = JOINT[:, x1, x2] / JOINT[:, x1, x2].sum()
        assert np.allclose(found.loc[k, [0, 1]], exact, atol=TRAINING), (x1, x2)


def test_holes_may_be_just_unknown(holed, tmp_path):
    """If the user says so, a hole is a cell whose value is not known: p(y | x1, x2 is one of its values)."""
    rows = rows_of([(0, 0, 2), (0, 1, 2)])
    rows.to_csv(tmp_path / "t.csv", index=False)
    for found in (holed.predict(rows, "y", missing="unknown"),
                  holed.predict(f"csv:{tmp_path}/t.csv?missing=unknown", "y")):  # fmt: skip
        for k, x1 in enumerate((0, 1)):
            exact = JOINT[:, x1, :2].sum(axis=1) / JOINT[:, x1, :2].sum()
            assert np.allclose(found.to_numpy()[k], exact, atol=TRAINING), x1


def test_holes_are_filled_with_values(holed):
    """Which are those of the rows that have one."""
    count = 2000
    filled = holed.complete(rows_of([(0, 0, 2)] * count))
    assert set(filled["x2"]) == {"u", "v"}
    exact = JOINT[0, 0, 0] / JOINT[0, 0, :2].sum()
    assert abs((filled["x2"] == "u").mean() - exact) < TRAINING + 5 * np.sqrt(exact * (1 - exact) / count)
    assert holed.complete(rows_of([(0, 0, 2)]), best=True)["x2"].tolist() == ["u"]
    assert set(holed.predict(rows_of([(0, 0, 2)]), "x2")) == {"u", "v"}
