"""The estimators for scikit-learn: its own checks, exact conditionals, and what tables with labels and holes give."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from conftest import assert_one_line, python

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from segre.sklearn import SegreClassifier, SegreDensity, SegreImputer, SegreRegressor

ALL = [SegreClassifier, SegreDensity, SegreImputer, SegreRegressor]
FAST = {"train.steps": 40, "train.batch": 64}
# Checks that an estimator cannot pass, and why.
EXPECTED = {
    SegreRegressor: {
        "check_regressors_train": "wants an R2 of 0.5 of 200 rows; their columns have 12 levels each, more than so few "
        "rows can relate: 0.14"
    }
}
CHECKS = [
    check
    for kind in ALL
    for check in estimator_checks_generator(kind(), mark="xfail", expected_failed_checks=EXPECTED.get(kind))
]


def called(value) -> str:
    """The name of an estimator or a check."""
    while hasattr(value, "func"):
        value = value.func
    return getattr(value, "__name__", type(value).__name__)


@pytest.mark.parametrize(("estimator", "check"), CHECKS, ids=called)
def test_the_checks_of_sklearn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


# p(y, x1, x2): labels a, b; u, v, w. Rows in exact proportions have no error of sampling.
JOINT = np.array([[[0.20, 0.05, 0.05], [0.05, 0.10, 0.05]], [[0.02, 0.08, 0.10], [0.10, 0.05, 0.15]]])
# How far a network that was trained for seconds may be from an exact conditional, in probability.
TRAINING = 0.05


def joint_rows(count: int = 2000) -> pd.DataFrame:
    cells = np.argwhere(JOINT > 0)
    y, x1, x2 = np.repeat(cells, np.round(count * JOINT[tuple(cells.T)]).astype(int), axis=0).T
    return pd.DataFrame({"y": np.array(["no", "yes"])[y], "x1": np.array(["a", "b"])[x1], "x2": np.array([*"uvw"])[x2]})


@pytest.fixture(scope="module")
def rows():
    return joint_rows()


LEARNED = {"train.steps": 600, "train.batch": 256}


def test_a_classifier_has_the_exact_conditionals(rows):
    """p(y | x1, x2), and p(y | x1) where x2 is unknown, or a label that training never had."""
    classifier = SegreClassifier(config=LEARNED).fit(rows[["x1", "x2"]], rows["y"])
    assert classifier.classes_.tolist() == ["no", "yes"]
    for x1 in range(2):
        for x2 in range(3):
            p = classifier.predict_proba(pd.DataFrame({"x1": ["ab"[x1]], "x2": ["uvw"[x2]]}))[0]
            assert np.allclose(p, JOINT[:, x1, x2] / JOINT[:, x1, x2].sum(), atol=TRAINING), (x1, x2)
        for unknown in (None, "z"):
            p = classifier.predict_proba(pd.DataFrame({"x1": ["ab"[x1]], "x2": [unknown]}, dtype=object))[0]
            exact = JOINT[:, x1].sum(axis=1) / JOINT[:, x1].sum()
            assert np.allclose(p, exact, atol=TRAINING), (x1, unknown)
    best = JOINT.argmax(axis=0)[rows["x1"].map("ab".index), rows["x2"].map("uvw".index)]
    assert (classifier.predict(rows[["x1", "x2"]]) == np.array(["no", "yes"])[best]).all()


def test_flags_that_are_numbers():
    """Two numbers are labels; another is taken for the nearer one, a hole is unknown."""
    flags = np.repeat([0, 1], 100)
    y = np.array(["no", "yes"])[flags]
    for X in (flags[:, None], pd.DataFrame({"flag": pd.array(flags, dtype="Int64")})):
        classifier = SegreClassifier(config=LEARNED).fit(X, y)
        new = np.array([[0.0], [0.4], [0.9], [7.0], [np.nan]])
        if isinstance(X, pd.DataFrame):
            new = pd.DataFrame({"flag": pd.array([0, 0, 1, 7, None], dtype="Int64")})
        assert classifier.predict(new)[:4].tolist() == ["no", "no", "yes", "yes"]
        assert classifier.predict_proba(new)[4, 0] == pytest.approx(0.5, abs=TRAINING)


def test_arrays_of_texts_are_labels(rows):
    X = rows[["x1", "x2"]].to_numpy(dtype=object)
    numbered = SegreClassifier(config=LEARNED).fit(X, rows["y"] == "yes")
    assert numbered.classes_.tolist() == [False, True]
    p = numbered.predict_proba(np.array([["a", "u"]], dtype=object))[0]
    assert np.allclose(p, JOINT[:, 0, 0] / JOINT[:, 0, 0].sum(), atol=TRAINING)


def test_a_regressor_has_mean_median_and_quantiles():
    """Against the normal laws of y given x, of standard deviation 1. What the training leaves in neighbouring levels,
    of 7% of the rows each, makes the tails wider: by 0.3 or so, and the interval of 90% has up to 95%."""
    random = np.random.default_rng(3)
    k = np.arange(3000) % 3
    y = 4.0 * k + random.normal(0, 1, 3000)
    X = pd.DataFrame({"x": np.array([*"abc"])[k]})
    regressor = SegreRegressor(config=LEARNED).fit(X, y)
    each = X.head(3)
    for statistic in ("mean", "median"):
        found = regressor.set_params(statistic=statistic).predict(each)
        assert np.allclose(found, [0, 4, 8], atol=0.2), statistic
    exact = 4 * np.arange(3)[:, None] + [-1.2816, -0.8416, 0, 0.8416, 1.2816]
    found = regressor.predict(each, quantiles=[0.1, 0.2, 0.5, 0.8, 0.9])
    assert np.allclose(found, exact, atol=0.35)
    low, high = regressor.predict(X, quantiles=[0.05, 0.95]).T
    assert ((low < y) & (y < high)).mean() == pytest.approx(0.9, abs=0.05)
    assert regressor.score(X, y) == pytest.approx(32 / 35, abs=0.02)  # 1 - 1/(32/3 + 1)
    blind = regressor.predict(pd.DataFrame({"x": [None]}, dtype=object), quantiles=[0.05, 0.95])[0]
    assert np.allclose(blind, np.quantile(y, [0.05, 0.95]), atol=0.35)


@pytest.fixture(scope="module")
def line():
    """y = 2 x + noise of standard deviation 0.5."""
    random = np.random.default_rng(3)
    x = random.uniform(-2, 2, 2000)
    return np.column_stack([x, 2 * x + random.normal(0, 0.5, len(x))])


def test_a_target_of_few_values():
    X = np.repeat([[0.0, 1.0], [1.0, 0.0]], 50, axis=0)
    y = np.repeat([1.0, 1.0, 4.0, 7.0], 25)
    regressor = SegreRegressor(config=LEARNED).fit(X, y)
    assert np.allclose(regressor.predict([[0.0, 1.0], [1.0, 0.0]]), [1.0, 5.5], atol=0.3)
    assert regressor.predict([[1.0, 0.0]], quantiles=[0.05, 0.95]).tolist() == [[4.0, 7.0]]
    assert (SegreRegressor(config=FAST).fit(X, np.full(100, 3.5)).predict(X) == 3.5).all()


def test_an_imputer_fills_in_what_fits():
    """b is a's letter; c follows a but for a tenth."""
    random = np.random.default_rng(5)
    a = random.integers(0, 3, 1500)
    c = np.where(random.random(1500) < 0.1, random.integers(0, 3, 1500), a)
    whole = pd.DataFrame({"a": a, "b": pd.Categorical.from_codes(a, ["x", "y", "z"]), "c": c, "one": 7})
    holed = whole.copy()
    holed.loc[::5, "b"] = None
    holed["c"] = holed["c"].astype("Int64").mask(np.arange(1500) % 7 == 0)
    holed.loc[3, "one"] = np.nan
    imputer = SegreImputer(config=LEARNED)
    filled = imputer.fit_transform(holed)
    assert filled.notna().all().all() and list(filled) == list(holed)
    assert filled.dtypes["b"] == whole.dtypes["b"] and filled.dtypes["c"] == "Int64"
    assert (filled["b"] == whole["b"]).all() and filled["one"].tolist() == [7] * 1500
    known = holed["c"].notna()
    assert (filled["c"][known] == holed["c"][known]).all()
    assert (filled["c"] == whole["a"])[~known].mean() > 0.99  # the most likely one
    drawn = clone(imputer).set_params(sample_posterior=True, random_state=1).fit_transform(holed)
    agree = (drawn["c"] == whole["a"])[~known].mean()
    assert abs(agree - (0.9 + 0.1 / 3)) < TRAINING + 3 * np.sqrt(0.93 * 0.07 / (~known).sum())


def test_an_imputer_of_arrays(line):
    """A hole in a number is near its conditional median; that of the column would be off by 2."""
    holed = line.copy()
    holed[::4, 1] = np.nan
    filled = SegreImputer(config={"train.steps": 800, "train.batch": 256}).fit(holed).transform(holed)
    assert filled.dtype == np.float64 and not np.isnan(filled).any()
    assert np.array_equal(filled[~np.isnan(holed)], line[~np.isnan(holed)])
    assert np.abs(filled[::4, 1] - 2 * line[::4, 0]).mean() < 0.8
    nothing = np.column_stack([line[:, 0], np.full(2000, np.nan)])
    assert np.isnan(SegreImputer(config=FAST).fit_transform(nothing)[:, 1]).all()


def test_a_density_integrates_to_one_and_is_that_of_the_data():
    """A mixture of normals and a label: nats against the exact ones, and the sum over a grid."""
    random = np.random.default_rng(7)
    n = 4000
    side = random.random(n) < 0.3
    x = np.where(side, random.normal(3, 0.5, n), random.normal(0, 1, n))
    table = pd.DataFrame({"side": np.where(side, "right", "left"), "x": x})
    density = SegreDensity(config=LEARNED).fit(table)
    normal = lambda mean, sd: np.exp(-((x - mean) ** 2) / (2 * sd**2)) / (sd * np.sqrt(2 * np.pi))  # noqa: E731
    exact = np.log(np.where(side, 0.3 * normal(3, 0.5), 0.7 * normal(0, 1)))
    # Interval densities fitted to 16 rows each overfit by half a nat per 16 rows on these rows: 0.03.
    assert density.score(table) == pytest.approx(exact.mean(), abs=0.08)
    grid = np.linspace(x.min(), x.max(), 4001)
    p = sum(np.exp(density.score_samples(pd.DataFrame({"side": s, "x": grid}))) for s in ("left", "right"))
    assert p.sum() * (grid[1] - grid[0]) == pytest.approx(1, abs=0.02)
    drawn = density.sample(2000, random_state=1)
    assert list(drawn) == ["side", "x"] and abs((drawn["side"] == "right").mean() - 0.3) < 0.05
    assert drawn["x"].mean() == pytest.approx(x.mean(), abs=0.15)
    assert density.sample(20, random_state=1).equals(drawn.head(20))


def test_units_of_a_density(line):
    """Metres to centimetres: log p is less by log 100."""
    X = line[:500]
    metres, centimetres = (SegreDensity(config=FAST).fit(X * scale).score(X * scale) for scale in (1, 100))
    assert metres - centimetres == pytest.approx(2 * np.log(100), abs=0.05)


def test_they_live_among_others(rows):
    """Pipelines, searches, clones, pickles."""
    X, y = rows[["x1", "x2"]].assign(size=np.arange(len(rows)) % 7 + 0.5), rows["y"]
    prepare = ColumnTransformer([("labels", OneHotEncoder(), ["x1", "x2"])], remainder=StandardScaler())
    pipeline = make_pipeline(prepare, SegreClassifier(config=FAST))
    assert pipeline.fit(X, y).predict(X.head(3)).shape == (3,)
    assert np.isfinite(cross_val_score(SegreClassifier(config=FAST), X, y, cv=3)).all()
    search = GridSearchCV(SegreRegressor(config=FAST), {"statistic": ["mean", "median"]}, cv=2)
    assert search.fit(X[["x1", "x2"]], X["size"]).best_params_["statistic"] in ("mean", "median")
    classifier = SegreClassifier(config=FAST, random_state=3).fit(X, y)
    again = pickle.loads(pickle.dumps(classifier))
    assert np.array_equal(again.predict_proba(X.head(50)), classifier.predict_proba(X.head(50)))
    assert np.array_equal(clone(classifier).fit(X, y).predict_proba(X.head(50)), classifier.predict_proba(X.head(50)))
    other = clone(classifier).set_params(random_state=4).fit(X, y)
    assert not np.array_equal(other.predict_proba(X.head(50)), classifier.predict_proba(X.head(50)))
    holed = X.assign(x2=X["x2"].where(np.arange(len(X)) % 3 > 0))
    filled = make_pipeline(SegreImputer(config=FAST), OneHotEncoder()).fit_transform(holed)
    assert filled.shape[0] == len(X)


def test_mistakes(rows):
    with pytest.raises(NotFittedError):
        SegreDensity().sample()
    with pytest.raises(ValueError) as error:
        SegreRegressor(statistic="mode").fit([[1.0], [2.0]], [1.0, 2.0])
    assert_one_line(error.value, "mode", "mean or median")
    regressor = SegreRegressor(config=FAST).fit(np.arange(60.0)[:, None] % 7, np.arange(60) % 3)
    with pytest.raises(ValueError) as error:
        regressor.predict([[1.0]], quantiles=[5])
    assert_one_line(error.value, "quantiles", "from 0 to 1")
    with pytest.raises(ValueError, match="infinity"):
        SegreDensity(config=FAST).fit(pd.DataFrame({"a": [1.0, np.inf, 2.0]}))
    with pytest.raises(ValueError, match="feature names"):
        SegreClassifier(config=FAST).fit(rows[["x1"]], rows["y"]).predict(rows[["x2"]])


def test_without_sklearn():
    code = """
import sys
sys.modules["sklearn"] = None
import segre
try:
    import segre.sklearn
except ImportError as error:
    print(error)
"""
    assert_one_line(python(code).stdout.strip(), "segre.sklearn", "pip install scikit-learn")
