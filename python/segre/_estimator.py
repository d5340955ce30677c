"""What the estimators for scikit-learn share: their parameters, the table that X is to a model, and the training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _arrow, _core, _kinds, _tables
from ._fit import fit
from ._model import Model

try:
    from sklearn.base import BaseEstimator
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import assert_all_finite, check_is_fitted, validate_data
except ImportError as error:
    raise ImportError("segre.sklearn: scikit-learn 1.6 or later is required: pip install scikit-learn") from error

Table = Any  # a DataFrame, or a mapping of columns to arrays
Array = np.typing.NDArray[Any]

# Data of at most so many cells are learned with a number of steps that follows from the rows, so that the result does
# not depend on the machine; larger ones within a time.
_FEW_CELLS = 20_000
_ROWS_PER_STEP = 2
_FEWEST_STEPS = 50
_MOST_STEPS = 1000
_CELLS_PER_SECOND = 5_000
_MOST_SECONDS = 60.0


class Estimator(BaseEstimator):
    """The base of the estimators, which learn the joint distribution of their columns.

    X: a DataFrame, whose columns keep their types, or a frame of Arrow or Polars; or an array, whose columns are
        numbers, or labels where they hold texts. NaN and None are cells that are unknown. A label that training did
        not have is unknown, too.
    """

    model_: Model | None

    def __init__(
        self,
        *,
        max_time: str | float | None = None,
        config: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
    ) -> None:
        self.max_time = max_time
        self.config = config
        self.options = options
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    # ---- X ----------------------------------------------------------------------------------------------------------

    def _take(self, X: Any, *, reset: bool = False) -> Table:
        """X as a table, after the usual checks; `reset`: in fit, which sets what later ones are compared with."""
        if not reset:
            check_is_fitted(self)
        table, _ = _arrow.adopted(X)
        if _kinds.is_frame(table):
            _check_frame(table, 2 if reset else 1)
            validate_data(self, table, reset=reset, skip_check_array=True)
            return table
        array = validate_data(
            self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan", ensure_min_samples=2 if reset else 1
        )
        return {f"x{i}": _column(array[:, i]) for i in range(array.shape[1])}

    # ---- the model --------------------------------------------------------------------------------------------------

    def _learn(self, table: Table, **options: Any) -> None:
        """Trains the model of a table. Columns of one value have nothing to learn, and are left out."""
        only = only_values(table)
        self._constants = {name: only[name] for name, column in columns_by_name(table).items()
                           if name in only and not missing(column).any()}  # fmt: skip
        varied = _without(table, self._constants)
        self.model_ = None
        self._seen: dict[str, Any] = {}
        if len(list(varied)) == 0:
            return
        seed = None if self.random_state is None else int(check_random_state(self.random_state).randint(1, 2**31))
        self.model_ = fit(
            varied,
            **self._effort(n_rows_of(varied), len(columns_by_name(varied))),
            seed=seed,
            device=self.device,
            progress=bool(self.verbose),
            **{**(self.options or {}), **options},
        )
        space = self.model_.space
        labelled = {name for name, i, _ in space.columns if space._unit(i) == "label"}
        self._seen = {name: _values(column) for name, column in columns_by_name(varied).items() if name in labelled}

    def _effort(self, n_rows: int, n_columns: int) -> dict[str, Any]:
        """How long to train: as the parameters have it, or else by the number of rows or cells."""
        config = dict(self.config or {})
        if self.max_time is not None or {"train.steps", "train.epochs"} & set(config):
            return {"max_time": self.max_time, "config": config}
        if n_rows * n_columns > _FEW_CELLS:
            return {"max_time": min(_MOST_SECONDS, n_rows * n_columns / _CELLS_PER_SECOND), "config": config}
        steps = min(_MOST_STEPS, max(_FEWEST_STEPS, n_rows // _ROWS_PER_STEP))
        return {"config": {"train.steps": steps, **config}}

    def _familiar(self, table: Table) -> Table:
        """The columns that the model has. Labels that it does not know are unknown; where it knows two numbers, which
        are labels for being so few, others are taken for the nearer."""
        assert self.model_ is not None
        known = {name for name, _, _ in self.model_.space.columns}
        table = _without(table, set(columns_by_name(table)) - known)
        if _kinds.is_frame(table):
            table = table.copy(deep=False)
        for key in list(table):
            seen = self._seen.get(str(key))
            if seen is not None:
                table[key] = _recognised(table[key], seen)
        return table


class Supervised(Estimator):
    """An estimator of one column, the target, given the others."""

    def _learn_both(self, table: Table, target: Any, **options: Any) -> None:
        """Trains the joint model of X and the target, a column of its own name."""
        names = set(columns_by_name(table))
        self._target = "y"
        while self._target in names:
            self._target += "_"
        self._learn(_with(table, self._target, target), **options)
        learned = set(self._constants) | {name for name, _, _ in self.model_.space.columns} if self.model_ else set()
        if self.model_ is not None and self._target not in learned:
            found = f"{len(np.unique(target))} different values in {len(target)} rows"
            raise ValueError(f"y: has {found}, as an identifier has; classes or measurements were expected")

    def _first(self) -> int:
        """The first variable of the target."""
        assert self.model_ is not None
        return next(i for name, i, _ in self.model_.space.columns if name == self._target)

    def _predicted(self, table: Table) -> _core.Predicted:
        """The distribution of the target in each row, given its other cells."""
        assert self.model_ is not None
        unknown = [None] * n_rows_of(table)
        source = self.model_._open(_with(self._familiar(table), self._target, unknown), True, {})
        return self.model_._session.predict(source, self._target, True)


# ---- tables ----------------------------------------------------------------------------------------------------------


def columns_by_name(table: Table) -> dict[str, Any]:
    """The columns by the names that a model has for them."""
    return {str(key): table[key] for key in table}


def n_rows_of(table: Table) -> int:
    return len(table) if _kinds.is_frame(table) else len(next(iter(table.values())))


def _with(table: Table, name: str, values: Any) -> Table:
    """The table with one more column."""
    if not _kinds.is_frame(table):
        return {**table, name: values}
    out = table.copy(deep=False)
    out[name] = values
    return out


def _without(table: Table, names: Any) -> Table:
    """The table without the columns of these names."""
    kept = [key for key in table if str(key) not in names]
    return table[kept] if _kinds.is_frame(table) else {key: table[key] for key in kept}


def _check_frame(table: Any, least: int) -> None:
    """The checks that arrays have from scikit-learn."""
    for axis, name in enumerate(("sample(s)", "feature(s)")):
        minimum = least if axis == 0 else 1
        if table.shape[axis] < minimum:
            found = f"Found array with {table.shape[axis]} {name} (shape={table.shape})"
            raise ValueError(f"{found} while a minimum of {minimum} is required.")
    for key in table:
        if getattr(table[key].dtype, "kind", "") == "f" and isinstance(table[key].dtype, np.dtype):
            assert_all_finite(table[key].to_numpy(), allow_nan=True, input_name=str(key))


def _column(values: Array) -> Array:
    """A column of an array as numbers, or else as labels with None where they are unknown."""
    if values.dtype.kind in "iu":
        return values
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        return np.array([None if _tables._is_missing(value) else value for value in values.tolist()], dtype=object)


def missing(column: Any) -> np.typing.NDArray[np.bool_]:
    """Which cells are unknown: [N]."""
    if hasattr(column, "isna"):
        return np.asarray(column.isna(), bool)
    if column.dtype.kind == "f":
        return np.asarray(np.isnan(column))
    if column.dtype.kind == "O":
        return np.array([_tables._is_missing(value) for value in column], bool)
    return np.zeros(len(column), bool)


def _is_number(column: Any) -> bool:
    return getattr(column.dtype, "kind", "O") in "iuf"


def _values(column: Any) -> Any:
    """The labels that a column has or declares: sorted numbers, or a set."""
    if hasattr(column, "cat"):
        return set(column.cat.categories)
    known = column[~missing(column)]
    return np.unique(np.asarray(known, np.float64)) if _is_number(column) else set(known)


def only_values(table: Table) -> dict[str, Any]:
    """The value of each column whose known cells are all equal."""
    found = {}
    for name, column in columns_by_name(table).items():
        known = column[~missing(column)]
        if len(known) > 0:
            first = known.iloc[0] if hasattr(known, "iloc") else known[0]
            if (known == first).all():
                found[name] = first
    return found


def _recognised(column: Any, seen: Any) -> Any:
    """A column with nothing but what was seen in training: see Estimator._familiar."""
    if isinstance(seen, set):
        return replaced(column, ~np.array([value in seen for value in column], bool))
    if not _is_number(column):
        return column
    pandas = hasattr(column, "to_numpy")
    values = column.to_numpy(np.float64, na_value=np.nan) if pandas else column.astype(np.float64)
    if len(seen) > 2:
        return replaced(column, ~np.isin(values, seen))
    nearest = np.where(values > seen.mean(), seen[-1], seen[0])
    nearest[np.isnan(values)] = np.nan
    return column.__class__(nearest, index=column.index) if pandas else nearest


def replaced(column: Any, strange: np.typing.NDArray[np.bool_]) -> Any:
    """A column of labels with unknown cells where they are strange."""
    strange &= ~missing(column)
    if not strange.any():
        return column
    if hasattr(column, "mask"):
        return column.mask(strange)
    return np.where(strange, None, column)
