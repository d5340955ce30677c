"""Estimators for scikit-learn, each with a model of the joint distribution inside, as ``model_``.

>>> import numpy as np
>>> from segre.sklearn import SegreClassifier
>>> X = np.random.default_rng(0).normal(size=(200, 2))
>>> classifier = SegreClassifier(random_state=0).fit(X, X[:, 0] > 0)
>>> classifier.predict([[2.0, 0.0], [-2.0, np.nan]])
array([ True, False])

All of them have these parameters:

max_time: the time for the training, such as ``"60s"``. By default a second per 5,000 cells of X, at most 60; at most
    20,000 cells are learned with a number of steps instead, so that the result does not depend on the machine.
config: keys of ``segre keys``, such as ``{"train.steps": 500}``, which is used instead of the time.
options: those of ``segre.fit`` for tables, such as ``{"bins": {"age": 8}}``.
random_state: a number determines training and draws. None is a fixed number, too.
device: ``"cpu"`` or ``"cuda"``.
verbose: whether to report progress on standard error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _kinds
from ._estimator import (  # before scikit-learn: it reports that this is missing
    Array,
    Estimator,
    Supervised,
    Table,
    columns_by_name,
    missing,
    n_rows_of,
    only_values,
)

from sklearn.base import (  # noqa: E402
    ClassifierMixin,
    DensityMixin,
    OneToOneFeatureMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils import check_consistent_length, check_random_state  # noqa: E402
from sklearn.utils.multiclass import check_classification_targets  # noqa: E402
from sklearn.utils.validation import assert_all_finite, check_is_fitted, column_or_1d  # noqa: E402

_NAMED = {0.5: "median", 0.05: "q05", 0.25: "q25", 0.75: "q75", 0.95: "q95"}  # what every prediction has

__all__ = ["SegreClassifier", "SegreDensity", "SegreImputer", "SegreRegressor"]


class SegreClassifier(ClassifierMixin, Supervised):
    """Classification by p(y | x) of the joint model of X and y. X may have unknown cells, in training as well.

    >>> import numpy as np
    >>> from segre.sklearn import SegreClassifier
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> y = np.where(X[:, 1] > 0, "up", "down")
    >>> SegreClassifier(random_state=0).fit(X, y).predict_proba(X).shape
    (100, 2)
    """

    def fit(self, X: Any, y: Any) -> SegreClassifier:
        """Learns from rows X and their classes y, numbers or texts."""
        table = self._take(X, reset=True)
        y = _target_of(self, table, y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        # Texts are labels, whatever numbers the classes are.
        self._learn_both(table, np.array([_class(k) for k in range(len(self.classes_))])[codes])
        return self

    def predict_proba(self, X: Any) -> Array:
        """The probabilities of ``classes_`` in each row: [rows, classes]."""
        table = self._take(X)
        if len(self.classes_) == 1:
            return np.ones((n_rows_of(table), 1))
        assert self.model_ is not None
        names = self.model_.space.label_names(self._first())
        p = self._predicted(table).probabilities[:, [names.index(_class(k)) for k in range(len(self.classes_))]]
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> Array:
        """The most likely class of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])


class SegreRegressor(RegressorMixin, Supervised):
    """Regression by p(y | x) of the joint model of X and y: its mean, median or other quantiles.

    statistic: what ``predict`` returns: ``"mean"``, which has the least squared error, or ``"median"``.

    >>> import numpy as np
    >>> from segre.sklearn import SegreRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> regressor = SegreRegressor(random_state=0).fit(X, X[:, 0])
    >>> regressor.predict(X[:5], quantiles=[0.05, 0.95]).shape
    (5, 2)
    """

    def __init__(
        self,
        *,
        statistic: str = "mean",
        max_time: str | float | None = None,
        config: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
    ) -> None:
        super().__init__(
            max_time=max_time, config=config, options=options, random_state=random_state, device=device, verbose=verbose
        )
        self.statistic = statistic

    def fit(self, X: Any, y: Any) -> SegreRegressor:
        """Learns from rows X and their numbers y."""
        if self.statistic not in ("mean", "median"):
            raise ValueError(f"statistic = {self.statistic!r}: mean or median was expected")
        table = self._take(X, reset=True)
        y = _target_of(self, table, y).astype(np.float64)
        self._constant = float(y[0]) if (y == y[0]).all() else None
        self._learn_both(table, y)
        return self

    def predict(self, X: Any, quantiles: Sequence[float] | None = None) -> Array:
        """The mean or median of each row's y: [rows]. With quantiles, numbers from 0 to 1, these: [rows, quantiles]."""
        table = self._take(X)
        at = [0.5] if quantiles is None else [float(q) for q in quantiles]
        if not all(0 <= q <= 1 for q in at):
            raise ValueError(f"quantiles = {list(at)}: numbers from 0 to 1 were expected")
        if self._constant is not None:
            found = np.full((n_rows_of(table), len(at)), self._constant)
        elif quantiles is None and self.statistic == "mean":
            found = self._means(table)[:, None]
        else:
            found = self._quantiles(table, at)
        return found[:, 0] if quantiles is None else found

    def _means(self, table: Table) -> Array:
        assert self.model_ is not None
        done = self._predicted(table)
        if done.numbers is not None:
            return np.asarray(done.numbers[:, done.number_summary.index("mean")])
        values, p = self._few(done.probabilities)
        return np.asarray(p @ values)

    def _quantiles(self, table: Table, at: list[float]) -> Array:
        assert self.model_ is not None
        done = self._predicted(table)
        if done.numbers is not None:
            names = [_NAMED.get(q, "") for q in at]
            if "" not in names:
                return np.asarray(done.numbers[:, [done.number_summary.index(name) for name in names]])
            return np.asarray(self.model_.space._quantiles(self._first(), done.probabilities, at))
        values, p = self._few(done.probabilities)
        reached = p.cumsum(axis=1)[:, :, None] >= np.array(at) - 1e-12  # sums of probabilities are rounded
        reached[:, -1] = True
        return np.asarray(values[reached.argmax(axis=1)])

    def _few(self, p: Array) -> tuple[Array, Array]:
        """The values of a target that has so few that they are labels, ascending, and their probabilities."""
        assert self.model_ is not None
        values = np.array([float(name) for name in self.model_.space.label_names(self._first())])
        order = values.argsort()
        return values[order], p[:, order] / p.sum(axis=1, keepdims=True)


class SegreImputer(OneToOneFeatureMixin, TransformerMixin, Estimator):
    """Fills NaN and None given the rest of the row, by the joint model of the columns. All other cells stay.

    An array comes back as an array, a DataFrame as a DataFrame with the types of its columns. A column without any
    value stays as it is.

    sample_posterior: False fills in the median of a number and the most likely label, each cell by itself; True draws
        the unknown cells of a row together, which keeps the distribution. ``random_state`` chooses the draw.

    >>> import numpy as np
    >>> from segre.sklearn import SegreImputer
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> X[0, 1] = np.nan
    >>> bool(np.isnan(SegreImputer(random_state=0).fit_transform(X)).any())
    False
    """

    def __init__(
        self,
        *,
        sample_posterior: bool = False,
        max_time: str | float | None = None,
        config: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
    ) -> None:
        super().__init__(
            max_time=max_time, config=config, options=options, random_state=random_state, device=device, verbose=verbose
        )
        self.sample_posterior = sample_posterior

    def fit(self, X: Any, y: Any = None) -> SegreImputer:
        """Learns from rows X, which may have unknown cells; y is not used."""
        table = self._take(X, reset=True)
        self._only = only_values(table)
        empty = [key for key in table if missing(table[key]).all()]
        self._learn(table.drop(columns=empty) if _kinds.is_frame(table) else _but(table, empty))
        return self

    def transform(self, X: Any) -> Any:
        """X without unknown cells."""
        table = self._take(X)
        holes = {name: missing(column) for name, column in columns_by_name(table).items()}
        filled = {name: values for name, values in self._fillings(table, holes).items() if holes[name].any()}
        if _kinds.is_frame(table):
            out = table.copy()
            for key in table:
                if str(key) in filled:
                    out[key] = _merged(table[key], filled[str(key)], holes[str(key)])
            return out
        columns = [
            np.where(holes[name], _cells(filled[name], column.dtype), column) if name in filled else column
            for name, column in table.items()
        ]
        plain = all(column.dtype.kind in "biuf" for column in columns)
        return np.column_stack(columns if plain else [column.astype(object) for column in columns])

    def _fillings(self, table: Table, holes: Mapping[str, Array]) -> dict[str, Any]:
        """Columns with values for the holes, where there are any."""
        wanted = {name for name, there in holes.items() if there.any()}
        out = {name: np.full(n_rows_of(table), value, object) for name, value in self._only.items() if name in wanted}
        known = set() if self.model_ is None else {name for name, _, _ in self.model_.space.columns}
        if self.model_ is None or not (wanted - set(out)) & known:
            return out
        draw = int(check_random_state(0 if self.random_state is None else self.random_state).randint(1, 2**31))
        done = self.model_.complete(self._familiar(table), best=not self.sample_posterior, seed=draw)
        return {**{name: column for name, column in columns_by_name(done).items() if name in wanted}, **out}


class SegreDensity(DensityMixin, Estimator):
    """Density estimation: log p of rows, and new rows. Columns of one value, and those that identify rows, do not
    count.

    log p is in nats, a density in the units of the columns that are numbers. It is exact for the model that fills in
    the columns from left to right, so that it is the same for a row whatever the other rows are.

    >>> import numpy as np
    >>> from segre.sklearn import SegreDensity
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> density = SegreDensity(random_state=0).fit(X)
    >>> density.score_samples(X).shape, density.sample(3).shape
    ((100,), (3, 2))
    """

    def fit(self, X: Any, y: Any = None) -> SegreDensity:
        """Learns from rows X; y is not used."""
        table = self._take(X, reset=True)
        self._names = list(table)
        self._are_arrays = not _kinds.is_frame(table)
        self._learn(table)
        return self

    def score_samples(self, X: Any) -> Array:
        """log p of each row's known cells: [rows]."""
        table = self._take(X)
        if self.model_ is None:
            return np.zeros(n_rows_of(table))
        table = self._familiar(table)
        holes = any(missing(column).any() for column in columns_by_name(table).values())
        options: dict[str, Any] = {"missing": "unknown"} if holes else {}
        return np.array(self.model_.log_prob(table, bound="order", order="left-to-right", **options), np.float64)

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of log p over the rows."""
        return float(self.score_samples(X).mean())

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Any:
        """New rows, in the form of X. The same random_state, or None, gives the same rows."""
        check_is_fitted(self)
        seed = None if random_state is None else int(check_random_state(random_state).randint(1, 2**31))
        drawn = {} if self.model_ is None else columns_by_name(self.model_.sample(n_samples, seed=seed))
        columns = {
            key: drawn[str(key)] if str(key) in drawn else np.full(n_samples, self._constants.get(str(key), np.nan))
            for key in self._names
        }
        if not self._are_arrays:
            import pandas

            return pandas.DataFrame(columns)
        arrays = [_cells(column, np.dtype(float)) for column in columns.values()]
        plain = all(array.dtype.kind == "f" for array in arrays)
        return np.column_stack(arrays if plain else [array.astype(object) for array in arrays])


def _class(k: int) -> str:
    """The label of a class."""
    return f"class {k}"


def _target_of(estimator: Supervised, table: Table, y: Any) -> Array:
    """y after the usual checks."""
    if y is None:
        name = type(estimator).__name__
        raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None.")
    y = column_or_1d(y, warn=True)
    assert_all_finite(y, input_name="y")
    check_consistent_length(y, next(iter(columns_by_name(table).values())))
    return np.asarray(y)


def _but(table: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: column for key, column in table.items() if key not in keys}


def _cells(column: Any, dtype: Any) -> Array:
    """A column of a result in a type, or else as objects."""
    try:
        return np.asarray(column, dtype=np.float64) if dtype.kind == "f" else np.asarray(column, dtype=object)
    except (TypeError, ValueError):
        return np.asarray(column, dtype=object)


def _merged(column: Any, values: Any, holes: Array) -> Any:
    """A column of a DataFrame with values in its holes, in its own type if it holds them."""
    cells = np.asarray(values, dtype=object)
    merged = column.astype(object).where(~holes, column.__class__(cells, index=column.index, dtype=object))
    try:
        return merged.astype(column.dtype)
    except (TypeError, ValueError):
        return merged.infer_objects()
