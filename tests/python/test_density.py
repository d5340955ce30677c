"""log p of rows with numbers: a density in the units of their columns."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import segre

ROWS = 40_000
TREE = {"net.kind": "tree", "train.steps": 1}  # counted, so that nothing has to be trained
EXACT = {"bound": "order", "order": "left-to-right"}
SHARES = np.array([0.5, 0.3, 0.2])
MEANS = np.array([-3.0, 0.0, 4.0])
WIDTHS = np.array([1.0, 0.5, 2.0])


def mixture(seed: int, rows: int = ROWS, unit: float = 1.0) -> pd.DataFrame:
    """A label, and a number that is normal given the label; 0 in a tenth of the rows of the first one."""
    random = np.random.default_rng(seed)
    kind = random.choice(3, rows, p=SHARES)
    x = MEANS[kind] + WIDTHS[kind] * random.standard_normal(rows)
    x[(kind == 0) & (random.random(rows) < 0.1)] = 0.0
    return pd.DataFrame({"kind": np.array(["a", "b", "c"])[kind], "x": x * unit})


def true_log_p(table: pd.DataFrame) -> np.ndarray:
    """The log density of rows: of 0 under "a" the probability."""
    kind = table["kind"].map({"a": 0, "b": 1, "c": 2}).to_numpy()
    x = table["x"].to_numpy()
    normal = -0.5 * ((x - MEANS[kind]) / WIDTHS[kind]) ** 2 - np.log(WIDTHS[kind] * math.sqrt(2 * math.pi))
    of_x = np.where(kind != 0, normal, np.where(x == 0, math.log(0.1), math.log(0.9) + normal))
    return np.log(SHARES[kind]) + of_x


@pytest.fixture(scope="module")
def model():
    return segre.fit(mixture(1), config=TREE, progress=False)


def test_log_p_is_that_of_the_mixture(model):
    """The nats beyond the entropy: a level of m rows costs 1/(2 m), as its share of fresh rows is only about 1/1024.
    The rest is the tree's, in which the place within a level does not depend on the kind."""
    fresh = mixture(2, 10_000)
    found = model.log_prob(fresh, **EXACT)
    extra = true_log_p(fresh) - np.asarray(found)
    error = extra.std() / math.sqrt(len(extra))
    assert -3 * error < extra.mean() < 0.05


def test_the_integral_over_the_column_is_one(model):
    """The sum over the labels of the others of exp(log p), integrated: what cannot be has a little mass."""
    grid = np.linspace(-8.0, 12.0, 20_001)
    step = grid[1] - grid[0]
    table = mixture(1)
    inside = grid[(grid >= table["x"].min()) & (grid <= table["x"].max())]
    total = 0.0
    for kind in "abc":
        rows = pd.DataFrame({"kind": kind, "x": inside[np.abs(inside) > 1e-9]})
        total += np.exp(np.asarray(model.log_prob(rows, **EXACT))).sum() * step
        total += math.exp(model.log_prob(pd.DataFrame({"kind": [kind], "x": [0.0]}), **EXACT)[0])
    assert total == pytest.approx(1.0, abs=0.01)  # of the rectangles, with the edges of 1,024 levels within them


def test_units_cost_what_they_must(model):
    """In thousandths of the unit the same levels have a thousandth of the density, except for 0, a probability."""
    other = segre.fit(mixture(1, unit=1000.0), config=TREE, progress=False)
    one = model.log_prob(mixture(2, 500), **EXACT)
    thousand = other.log_prob(mixture(2, 500, unit=1000.0), **EXACT)
    is_zero = (mixture(2, 500)["x"] == 0).to_numpy()
    shift = np.where(is_zero, 0.0, -math.log(1000.0))
    assert np.allclose(np.asarray(thousand), np.asarray(one) + shift, atol=1e-4)  # logits are float32


def test_cells_add_up_and_given_columns_have_none(model):
    fresh = mixture(3, 50)
    found = model.log_prob(fresh, cells=True, **EXACT)
    assert list(found.cells.columns) == ["kind", "x"]
    assert np.allclose(-found.cells.sum(axis=1), np.asarray(found), atol=1e-6)
    assert "density in their units" in found.method
    of_kind = model.log_prob(fresh, given="x", cells=True, **EXACT)
    assert "density" not in of_kind.method
    assert (np.asarray(of_kind) <= 1e-6).all()  # a probability
    assert (of_kind.cells["x"] == 0).all()
    of_x = model.log_prob(fresh, given="kind", **EXACT)
    marginal = model.log_prob(fresh[["kind"]], **EXACT)
    assert np.allclose(np.asarray(of_x) + np.asarray(marginal), np.asarray(found), atol=1e-4)


def test_values_between_and_beyond_are_scored(model):
    rows = pd.DataFrame({"kind": "b", "x": [0.1234567, 99.0]})
    found = model.log_prob(rows, **EXACT)
    assert np.isfinite(np.asarray(found)).all()
    assert any("outside the range of training" in note for note in model.notes)


def test_columns_that_are_lacking_are_left_out(model):
    rows = mixture(4, 20)
    found = model.log_prob(rows[["kind"]], **EXACT)
    shares = mixture(1)["kind"].value_counts(normalize=True)
    assert np.allclose(np.asarray(found), np.log(rows["kind"].map(shares)), atol=0.01)
    assert any("has no column x, which is unknown in all rows" in note for note in model.notes)
    with pytest.raises(ValueError, match="has no column kind, x"):
        model.log_prob(pd.DataFrame({"other": [1]}))
