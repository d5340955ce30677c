"""Trained models."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core, _html, _kinds, _show, _sources, _tables
from ._config import assignments

if TYPE_CHECKING:
    from .nn import Field

COLUMNS = "columns.json"  # in a run's directory: the types of the DataFrame that it was trained on
_SHARE = Path(__file__).parent / "share"  # the models that come with the package


class Scores(np.ndarray[Any, np.dtype[np.float64]]):
    """A number per item, with what else is known about it; otherwise an array of NumPy.

    std_error: the standard error of each number.
    cells: nats per cell, in the shape of the data; they add up to -log p. Only if requested.
    details: further columns by name (``outliers``).

    >>> import segre
    >>> model = segre.fit("coupled", config={"train.steps": 50, "train.batch": 128}, progress=False)
    >>> scores = model.log_prob(model.sample(3))
    >>> bool((scores.std_error < 0.2).all())
    True
    """

    std_error: np.typing.NDArray[np.float64]
    cells: Any
    details: dict[str, Any]
    method: str

    @classmethod
    def _of(
        cls, values: Any, std_error: Any, cells: Any = None, details: dict[str, Any] | None = None, method: str = ""
    ) -> Scores:
        scores = np.asarray(values, np.float64).view(cls)
        scores.std_error = std_error
        scores.cells = cells
        scores.details = details or {}
        scores.method = method
        return scores

    def __array_finalize__(self, source: Any) -> None:
        """Nothing is taken over: NumPy calls this for reordered and reshaped arrays as for equal ones."""

    def _has_errors(self) -> bool:
        return "std_error" in self.__dict__

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        if not isinstance(found, Scores) or found.ndim != 1 or not self._has_errors():
            return found
        details = {name: values[key] for name, values in self.details.items()}
        cells = self.cells
        if cells is not None:
            cells = cells.iloc[key] if hasattr(cells, "iloc") else cells[key]
        return Scores._of(found, self.std_error[key], cells, details, self.method)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """What is computed from scores is a number or a plain array: their errors are not its errors."""
        return array[()] if return_scalar else np.asarray(array)

    def copy(self, order: Any = "C") -> Scores:
        """A copy, with the errors."""
        found = super().copy(order)
        found.__dict__.update(self.__dict__)
        return found

    def sort(self, *args: Any, **kwargs: Any) -> None:
        """Sorts in place, and loses the errors; ``scores[np.argsort(scores)]`` keeps them."""
        self.__dict__.clear()
        super().sort(*args, **kwargs)

    def __copy__(self) -> Scores:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Scores:
        return self.copy()

    def __reduce__(self) -> Any:
        if not self._has_errors():
            return np.array, (np.asarray(self),)
        return Scores._of, (np.asarray(self), self.std_error, self.cells, self.details, self.method)


class Model:
    """A trained model. ``fit`` and ``load`` make one; ``save`` keeps it in the files of the command line.

    >>> import segre
    >>> model = segre.fit("coupled", config={"train.steps": 50, "train.batch": 128}, progress=False)
    >>> model.sample(5).shape
    (5, 2)
    """

    def __init__(self, path: Path, device: str, checkpoint: str, field: Field | None) -> None:
        self._path = path
        self._device = device
        self._checkpoint = checkpoint
        self._module = None if field is None else field._module()
        self._session = _core.load_session(str(path), device, checkpoint, False, self._module)
        self._precise: _core.Session | None = None  # the same in float32, for bounds that need derivatives
        self._notes: list[str] = []
        self._kinds: dict[str, Any] | None = None
        if (path / COLUMNS).exists():
            self._kinds = json.loads((path / COLUMNS).read_text())
        self._source: _core.Source | None = None  # what it learned from, if this process has it
        self._tensors = False  # whether that was a tensor of torch
        self._finished = True

    def _finish(self, result: _core.TrainResult, source: _core.Source, tensors: bool) -> None:
        self._finished = result.finished
        self._source = source
        self._tensors = tensors

    @property
    def space(self) -> _core.Space:
        """The variables and their labels."""
        return self._session.space

    @property
    def path(self) -> Path:
        """The directory of its files."""
        return self._path

    @property
    def step(self) -> int:
        """The training step that its weights are of."""
        return self._session.step

    @property
    def finished(self) -> bool:
        """Whether the training came to its end; False after Ctrl-C."""
        return self._finished

    @property
    def notes(self) -> list[str]:
        """What there was to know about the model and the data that it was given. Each note is printed when it first
        comes up, and not again."""
        return list(self._notes)

    @property
    def config(self) -> str:
        """All keys of the run as TOML."""
        return self._session.config

    def sample(
        self, count: int, *, given: Any = None, seed: int | None = None, numbers: bool = True, **config: Any
    ) -> Any:
        """Draws items: a DataFrame with the columns and types of the data, or an array. Sample k depends only on the
        model, the seed and k.

        given: labels that all of them have: ``{"smoker": "yes"}``, or an array like one item, -1 where not given.
        seed: default: that of the training.
        numbers: with ``bins=``, numbers and dates drawn within the intervals; False gives the intervals' names.
        config: keys of ``sample.*`` without that prefix, such as ``sampler="dopri5"`` or ``steps=20``.

        >>> import segre
        >>> model = segre.fit("coupled", config={"train.steps": 50, "train.batch": 128}, progress=False)
        >>> model.sample(2, given={"y1": "0"}, seed=7)["y1"].tolist()
        ['0', '0']
        """
        _show.ready()
        seed = self._session.seed if seed is None else _kinds.whole(seed, "seed")
        drawn = self._session.sample(
            _kinds.whole(count, "count"), seed, assignments(config, "sample."), self._given(given), numbers
        )
        self._take_notes(drawn.notes)
        labels = drawn.labels
        if self._tensors and self.space.layout != "table":
            return _tensor(_sources.shaped(self.space, labels))
        return _sources.as_items(self.space, labels, seed, self._kinds, numbers)

    def log_prob(
        self,
        data: Any,
        *,
        bound: str = "free",
        given: Sequence[str] | str | None = None,
        error: float | str | None = None,
        each: bool = False,
        evaluations: int = 0,
        order: str = "",
        log_mean: bool = False,
        cells: bool = False,
        seed: int = 1,
        **options: Any,
    ) -> Any:
        """log p of each item in nats, with its standard error as ``.std_error``. Missing values are a label,
        as in training; ``missing="unknown"`` leaves such cells out.

        bound: ``"free"``, the simulation-free lower bound; ``"path"``, the flow's own likelihood, a lower bound;
            ``"order"``, labels filled in one after another; ``"ball"``, the paper's; ``"direct"``, an estimate for
            small spaces.
        given: columns or positions, or "upper", "left" ...: scores the others given these.
        error: evaluations are added until the mean over the items has this standard error, in nats (0.05) or as a
            share (``"1%"``); with ``each``, every single item has it.
        evaluations: exactly so many per item instead, or at most so many if ``error`` is given as well.
        order: ``"left-to-right"`` or ``"random"`` with ``bound="order"``: exact for filling in that order.
        log_mean: averages draws by log-mean-exp, which is tighter (``"path"``, ``"ball"``).
        cells: also the nats of each cell, as ``.cells`` (``"free"``, ``"order"``).
        options: those of the source, such as ``unseen="skip"``.

        >>> import segre
        >>> model = segre.fit("coupled", config={"train.steps": 50, "train.batch": 128}, progress=False)
        >>> model.log_prob(model.sample(3), bound="order").shape
        (3,)
        """
        _show.ready()
        session = self._session_for(bound)
        _check_bound(bound, order, log_mean, error is not None or evaluations != 0)
        share = isinstance(error, str)
        source = self._open(data, False, options)
        result = session.score(
            source, bound, _wanted(error), share, evaluations, each, log_mean,
            order, _kinds.whole(seed, "seed"),
            None if given is None else session.variables(_words(given), "given"), cells,
        )  # fmt: skip
        self._take_notes(result.notes)
        found = None if result.cells is None else self._cells(-result.cells, data, source)
        scores = Scores._of(result.log_p, result.std_error, found, method=result.method)
        return _like(scores, data)

    def complete(
        self,
        data: Any,
        *,
        draws: int = 1,
        best: bool = False,
        given: Sequence[str] | str | None = None,
        noise: float = 0.0,
        evidence: Any = None,
        seed: int = 1,
        **config: Any,
    ) -> Any:
        """Fills in what is unknown: NaN, None and NaT in a table, -1 in an array. Everything else stays, also a text such
        as NA, which is a missing value to the model. A completion depends only on the model, the item, its number, the
        seed and the draw.

        draws: completions of each item. With more than one, a DataFrame has a second level ``draw`` in its index, an
            array a second axis; without pandas, it is a list of tables.
        best: the most likely label of each cell instead.
        given: columns or positions, or "upper", "left" ...: only these are taken from the data, the others are drawn.
        noise: probability that a label of the data was replaced by one drawn uniformly; all cells are then redrawn.
        evidence: log-likelihoods of all labels of all rows, [rows, labels of all variables].
        config: keys of ``sample.*``, as for ``sample``.

        >>> import segre
        >>> model = segre.fit("coupled", config={"train.steps": 50, "train.batch": 128}, progress=False)
        >>> model.complete({"y1": ["0", None], "y2": [None, "1"]}, best=True).shape
        (2, 2)
        """
        _show.ready()
        if best and draws != 1:
            raise ValueError(f"best and draws = {draws}: choose one of them")
        done = self._session.complete(
            self._open(data, True, {}), 0 if best else _kinds.whole(draws, "draws", 1), False,
            _kinds.whole(seed, "seed"), noise, self._variables(given),
            None if evidence is None else _kinds.numbers(evidence), assignments(config, "sample."),
        )  # fmt: skip
        self._take_notes(done.notes)
        if self.space.layout == "table" and not _is_array(data):
            taken = np.ones(len(self.space.names), bool) if given is None else _there(self._variables(given))
            return self._completed_table(data, done, taken, noise, best, seed)
        labels = _sources.shaped(self.space, _there(done.labels))
        return _like(labels[:, 0] if best or draws == 1 else labels, data)

    def predict(self, data: Any, column: str | None = None, **options: Any) -> Any:
        """Label probabilities of unknown cells given the known ones: p(x_i = label | what is known).

        With a column, it is predicted from the others: a DataFrame with a column per label, named by the values that
        the column has in the data, or else in those that the model learned from, so ``(p.idxmax(axis=1) ==
        data[column]).mean()`` is the accuracy. Holes in the other columns are what they are in training: a label where
        training had holes, which may tell something; with ``missing="unknown"`` they are just unknown. Without a
        column, holes are unknown: an array [items, labels of all variables].

        options: those of the source, such as ``missing="unknown"`` or ``unseen="skip"``.

        >>> import segre
        >>> model = segre.fit("coupled", config={"train.steps": 50, "train.batch": 128}, progress=False)
        >>> model.predict({"y1": ["0"], "y2": [None]}, "y2").shape[0]
        1
        """
        _show.ready()
        if column is None:
            done = self._session.complete(self._open(data, True, options), -1, True, 1, 0.0, None, None, [])
            self._take_notes(done.notes)
            return _like(done.probabilities, data)
        where = {name: first for name, first, _ in self.space.columns}
        if column not in where:
            self._session.variables([column], "column")  # raises ValueError, which names those there are
        source = self._open(_tables.with_unknown(data, column), True, options)
        predicted = self._session.predict(source, column, not _leaves_holes(data, options))
        self._take_notes(predicted.notes)
        i = where[column]
        if self.space._is_measured(i):
            found = {
                name: _tables.moments(self.space._unit(i), predicted.numbers[:, k])
                for k, name in enumerate(predicted.number_summary)
            }
            return _tables.table_of(found, _index(data, source))
        values: list[Any] = self._labels(i)
        if self._has_labels(i):
            values = self._own_values(data, column, i) or _tables.label_values(values, self._kinds_of(column))
        p = predicted.probabilities[:, : len(values)]
        return _tables.table_of({value: p[:, k] for k, value in enumerate(values)}, _index(data, source))

    def outliers(
        self,
        data: Any,
        *,
        train: Any = None,
        cells: bool = True,
        error: float = 0.0,
        evaluations: int = 0,
        calibration: int = 1000,
        seed: int = 1,
        **options: Any,
    ) -> Scores:
        """How odd each item is: higher is odder. ``.cells`` has the nats of each cell, ``.details`` what else is known:
        the percentile among held-out items, the column that is odd, its rarest pair of labels, a number outside the
        range of training, and -log p.

        train: the data that the model learned from. A model that ``fit`` returned has them; one that ``load`` returned
            opens the source named in its config, if it can.
        error: standard error of each score to reach, in nats; 0: 0.1 for those rows of a table that may be among the
            first, 1 for images and sequences.

        >>> import segre
        >>> model = segre.fit("coupled", config={"train.steps": 50, "train.batch": 128}, progress=False)
        >>> model.outliers(model.sample(4)).details["percentile"].shape
        (4,)
        """
        _show.ready()
        if error < 0:
            raise ValueError(f"error = {error}: nats above 0 were expected, or 0 for the usual error")
        _kinds.whole(calibration, "calibration", 8)
        _kinds.whole(evaluations, "evaluations")
        source = self._open(data, False, options)
        trained = None if train is None else self._open(train, False, {})
        found = self._session.outliers(source, self._source, trained, error, evaluations, calibration, seed)
        self._take_notes(found.notes)
        details = {
            "percentile": found.percentile,
            "nats": found.nats,
            "nats_error": found.nats_error,
        }
        if found.variable is not None:
            names = [name for name, _, n in self.space.columns for _ in range(n)]
            details["column"] = np.array(names, dtype=object)[found.variable]
        if found.outside:
            details["outside"] = np.array(found.outside, dtype=object)
        if found.pairs:
            details["pair"] = np.array(found.pairs, dtype=object)
        nats = None
        if cells:
            scored = self._session.score(source, "free", None, False, 0, False, False, "", seed, None, True)
            nats = self._cells(-_there(scored.cells), data, source)
        return Scores._of(found.score, found.std_error, nats, details)

    def save(self, path: str | Path) -> None:
        """Writes the model's files into a new directory, in which ``load`` and the command line find them.

        >>> import segre, tempfile
        >>> model = segre.fit("coupled", config={"train.steps": 50, "train.batch": 128}, progress=False)
        >>> model.save(tempfile.mkdtemp() + "/run")
        """
        path = Path(path)
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise ValueError(f"{path}: exists and is not empty; choose another directory")
        path.parent.mkdir(parents=True, exist_ok=True)
        copy = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        try:
            shutil.copytree(self._path, copy / "run", ignore=shutil.ignore_patterns(".lock"))
            (copy / "run").replace(path)
        finally:
            shutil.rmtree(copy, ignore_errors=True)

    def __repr__(self) -> str:
        return f"Model({self.space}; {self._session.network}, step {self.step})"

    def _repr_html_(self) -> str:
        """For notebooks: a few samples, as a picture or a table."""
        return _html.view(self)

    # ---- helpers ----------------------------------------------------------------------------------------------------

    def _flow(self) -> _core.Flow:
        return _core.flow_of(self._session.model)

    def _session_for(self, bound: str) -> _core.Session:
        """The model in the precision that a bound needs: derivatives of a rounded network are not the network's."""
        if bound in ("free", "order") or self._device == "cpu":
            return self._session
        if self._precise is None:
            self._precise = _core.load_session(str(self._path), self._device, self._checkpoint, True, self._module)
        return self._precise

    def _open(self, data: Any, unknowns: bool, options: Mapping[str, Any]) -> _core.Source:
        source, notes = _sources.open_for(self.space, data, unknowns, options)
        self._take_notes(notes)
        return source

    def _take_notes(self, notes: Sequence[str]) -> None:
        """Prints the notes that have not come up before."""
        for text in notes:
            if text not in self._notes:
                self._notes.append(text)
                _show.note(text)

    def _variables(self, given: Sequence[str] | str | None) -> Any:
        return None if given is None else self._session.variables(_words(given), "given")

    def _given(self, given: Any) -> Any:
        """Labels [1, n] that are given."""
        if given is None:
            return None
        if isinstance(given, Mapping):
            known = {name: self.space.label_names(first) for name, first, _ in self.space.columns}
            texts = {
                str(name): _tables.matched([_tables.text_of(value)], set(known.get(str(name), [])))[0]
                for name, value in given.items()
            }
            return self._session.labels_named(list(texts.items()))
        if isinstance(given, str):
            raise ValueError(f"given = {given!r}: labels by name, such as {{'colour': 'red'}}, or an array were expected")
        labels = np.asarray(_kinds.labels(given, "given"))
        return labels.reshape(1, -1)

    def _cells(self, nats: Any, data: Any, source: _core.Source) -> Any:
        """Numbers per cell in the form of the data."""
        if self.space.layout != "table":
            return _sources.shaped(self.space, nats)
        sums = {name: nats[:, i : i + n].sum(axis=1) for name, i, n in self.space.columns}
        return _tables.table_of(sums, _index(data, source))

    def _completed_table(
        self, data: Any, done: _core.Completed, taken: np.typing.NDArray[np.bool_], noise: float, best: bool, seed: int
    ) -> Any:
        """The tables of completions. `taken` [n]: the variables whose labels were taken from the data."""
        labels = _there(done.labels)
        n_draws = labels.shape[1]
        # A noisy label that stays keeps its value: a number within an interval, for example. The value of a cell that
        # was not to be seen must not come back where the drawn interval is right.
        changed = (done.known[:, None] < 0) & ~(taken & (noise > 0.0) & (labels == done.data[:, None]))
        changed &= ~self._texts_that_stay(data, done.data, taken)[:, None]
        own = {name: self._own_values(data, name, i) for name, i, _ in self.space.columns}
        for name, i, n in self.space.columns:
            changed[:, :, i] = changed[:, :, i : i + n].any(axis=2)
            needed = np.unique(labels[:, :, i][changed[:, :, i]]) if own[name] else []
            data = _tables.with_categories(data, name, [own[name][j] for j in needed], self._kinds_of(name))
        drawn = []
        for draw in range(n_draws):
            columns = {}
            for name, i, n in self.space.columns:
                if own[name]:
                    values = _tables.taken(own[name], labels[:, draw, i])
                else:
                    parts = labels[:, draw, i : i + n]
                    values = _tables.column_of(self.space, i, parts, self._kinds_of(name), seed, draw, best)
                columns[name] = _tables.filled(data, name, values, changed[:, draw, i])
            drawn.append(_tables.with_columns(data, columns))
        if n_draws == 1:
            return drawn[0]
        pandas = _tables.pandas_if_any()
        if pandas is None:
            return drawn
        joined = pandas.concat(drawn, keys=range(n_draws), names=["draw"])
        order = np.arange(n_draws * len(drawn[0])).reshape(n_draws, -1).T.ravel()
        return joined.iloc[order].reorder_levels([*range(1, joined.index.nlevels), 0])

    def _kinds_of(self, column: str) -> _tables.Kind | None:
        """The type of a column of the data that it learned from, if they were a table of Python."""
        return (self._kinds or {}).get(column)

    def _labels(self, variable: int) -> list[str]:
        """The names of a table's labels without that of missing values, which is the last."""
        names = self.space.label_names(variable)
        return names[:-1] if names[-1] == _tables.MISSING else names

    def _own_values(self, data: Any, name: str, variable: int) -> list[Any]:
        """What the labels of a table's column, which begins with this variable, are in the data. Empty without pandas,
        or if the data do not have it, or it holds numbers or dates that are cut into intervals."""
        column = _tables.own_column(data, name)
        if column is None or not self._has_labels(variable):
            return []
        return _tables.label_values(self._labels(variable), self._kinds_of(name), column)

    def _has_labels(self, variable: int) -> bool:
        """Whether all labels of a variable are single values."""
        few = self.space._are_levels(variable) and not self.space._is_measured(variable)
        return few or self.space._unit(variable) == "label"

    def _texts_that_stay(
        self, data: Any, labels: np.typing.NDArray[Any], taken: np.typing.NDArray[np.bool_]
    ) -> np.typing.NDArray[np.bool_]:
        """Cells [N, n] that are no holes to the user, though the model cannot know them: texts such as NA, which are
        missing values in files. They are the user's, and completing leaves them alone."""
        stay = np.zeros(labels.shape, bool)
        for name, i, n in self.space.columns:
            if not taken[i] or not (labels[:, i] < 0).any():
                continue
            there = _tables.texts_there(data, name, labels[:, i] < 0)
            stay[:, i : i + n] = there[:, None]
            if there.any():
                self._take_notes([
                    f"{_kinds.called(data)}: column {name} has texts such as NA, which are missing values to the "
                    "model; they stay, None would be filled in"
                ])  # fmt: skip
        return stay


def load(
    path: str | Path, *, device: str = "cpu", checkpoint: str = "", field: Field | None = None
) -> Model:
    """A model that ``fit``, ``Model.save`` or ``segre train`` left in a directory, or one that comes with the package:
    ``"models/mnist"``.

    checkpoint: ``"last"`` or ``"best"``; default: set by the run's ``watch.use_best``.
    field: the network of a run that was trained with one of your own.

    >>> import segre
    >>> segre.load("models/mnist").space.shape
    [32, 32]
    """
    folder = Path(path)
    if not folder.exists() and (_SHARE / folder).exists():
        folder = _SHARE / folder
    return Model(folder, device, checkpoint, field)


def _there(array: np.typing.NDArray[Any] | None) -> np.typing.NDArray[Any]:
    """An array that was requested."""
    assert array is not None
    return array


def _wanted(error: float | str | None) -> float | None:
    """The error to reach: nats, or a share of them."""
    if error is None:
        return None
    try:
        value = float(error[:-1]) / 100 if isinstance(error, str) and error.endswith("%") else float(error)
        if value > 0 and (not isinstance(error, str) or error.endswith("%")):
            return value
    except ValueError:
        pass
    raise ValueError(f"error = {error}: nats above 0, such as 0.05, or a share, such as '1%', were expected")


def _check_bound(bound: str, order: str, log_mean: bool, effort: bool) -> None:
    """Refuses what the chosen bound would ignore."""
    if order and bound != "order":
        raise ValueError(f"order = {order!r}: is not used with bound={bound!r}")
    if order not in ("", "left-to-right", "random"):
        raise ValueError(f"order = {order!r}: expected left-to-right or random")
    if order and effort:
        raise ValueError(f"error and evaluations: are not used with order={order!r}, whose score is exact")
    if log_mean and bound not in ("path", "ball"):
        raise ValueError(f"log_mean: is not used with bound={bound!r}")


def _words(names: Sequence[str] | str) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _is_array(data: Any) -> bool:
    return not (isinstance(data, str) or _kinds.is_table(data))


def _index(data: Any, source: _core.Source) -> Any:
    """The index of the rows of a DataFrame that the source has: all, unless some are left out."""
    if not _kinds.is_frame(data):
        return None
    return data.index if source.n_items == len(data) else data.index[source._table_rows()]


def _leaves_holes(data: Any, options: Mapping[str, Any]) -> bool:
    """Whether the user declares missing values to be just unknown."""
    own = data.partition("?")[2].split("&") if isinstance(data, str) else []
    return options.get("missing") == "unknown" or "missing=unknown" in own


def _tensor(array: Any) -> Any:
    """An array of NumPy as a tensor of torch, without a copy."""
    import torch

    return torch.from_numpy(np.ascontiguousarray(array))


def _like(array: Any, data: Any) -> Any:
    """A result in the kind of the data: a tensor of torch on its device, or an array."""
    if not _kinds.is_tensor(data):
        return array
    tensor = _tensor(np.asarray(array)).to(data.device)
    if isinstance(array, Scores):
        tensor.std_error = _tensor(np.asarray(array.std_error)).to(data.device)
        tensor.cells = array.cells
    return tensor
