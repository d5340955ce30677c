"""How good samples are."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

from . import _arrow, _core, _kinds, _show, _sources, _tables

_PLOTLY = Path(__file__).parent / "share" / "plotly.min.js"


class Evaluation:
    """What ``Model.evaluate`` and ``evaluate`` found.

    metrics: a row per measure: its value with a 95% interval, the best possible value as reference, the values of as
        many training rows and of independent columns, and whether it ``differs`` beyond the errors.
    columns: a row per column of a table: its distance from the held-out rows, and what is off.
    pairs: a row per pair of columns: their mutual information in nats.
    verdicts: what was found, in words.
    left_out: measures that are missing, and why.
    values: all of it, as ``segre evaluate --json`` prints it.

    >>> import segre
    >>> found = segre.evaluate({"x": ["a", "b"] * 50}, {"x": ["a", "b"] * 40})
    >>> found.verdicts
    ['No column is significantly off.']
    """

    def __init__(self, found: _core.Evaluated, title: str) -> None:
        self._found = found
        self._title = title
        self.values: dict[str, Any] = json.loads(found.json())

    @property
    def metrics(self) -> Any:
        """The measures, a DataFrame; without pandas, a mapping of columns."""
        rows = [
            {
                "group": m["group"],
                "name": m["name"],
                "value": m["value"]["value"],
                "low": m["value"]["low"],
                "high": m["value"]["high"],
                "reference": m["reference"]["value"],
                "training": (m["training"] or {}).get("value"),
                "independent": (m["independent"] or {}).get("value"),
                "differs": m["differs"],
                "note": m["note"],
            }
            for m in self.values["metrics"]
        ]
        return _table(rows)

    @property
    def columns(self) -> Any:
        """The columns of a table, likewise."""
        names = ("name", "measure", "distance", "exact", "training", "differs", "where")
        return _table([{name: column[name] for name in names} for column in self.values.get("columns", [])])

    @property
    def pairs(self) -> Any:
        """The pairs of columns, likewise."""
        return _table(
            [
                {"first": pair["columns"][0], "second": pair["columns"][1]}
                | {side: pair[side] for side in ("samples", "held_out")}
                for pair in self.values.get("pairs", [])
            ]
        )

    @property
    def verdicts(self) -> list[str]:
        """What was found, in words; only what is beyond the errors."""
        return list(self.values.get("verdicts", []))

    @property
    def left_out(self) -> list[str]:
        """Measures that are missing, and why."""
        return list(self.values.get("left_out", []))

    def save(self, folder: str | Path) -> Path:
        """Writes the page ``report.html`` and the tables of ``segre evaluate`` into a directory; returns the page."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        self._found.write(str(path), self._title, str(_PLOTLY))
        return path / "report.html"

    def __repr__(self) -> str:
        return "\n".join([self._title, *self.verdicts, *("Left out: " + text for text in self.left_out)])

    def _repr_html_(self) -> str:
        """For notebooks: the verdicts and the measures."""
        lines = "".join(f"<p>{html.escape(line)}</p>" for line in repr(self).splitlines()[1:])
        shown = self.metrics
        table = shown.to_html(index=False, na_rep="") if hasattr(shown, "to_html") else ""
        return f"<div><b>{html.escape(self._title)}</b>{lines}{table}</div>"


def evaluate(
    samples: Any,
    data: Any,
    *,
    train: Any = None,
    target: str | None = None,
    out: str | Path | None = None,
    count: int = 0,
    items: int = 10_000,
    seed: int = 1,
) -> Evaluation:
    """How good the rows of a table are, whoever made them, beside held-out rows. Measures of a model are left out;
    ``Model.evaluate`` has them.

    samples, data, train: DataFrames, mappings of columns, or ``"csv:FILE"``: the rows to judge; real rows; those that
        the samples' maker learned from.
    target: the column that trees trained on samples predict; default: the last one, if it has 2 to 20 labels.
        ``"none"``: no prediction.
    out: a directory for the page ``report.html`` and the tables of ``segre evaluate``.
    count: at most so many rows of ``samples``, chosen at random; 0: 10,000.
    items: at most so many rows of ``data``, chosen at random; 0: all.

    >>> import numpy as np, segre
    >>> x = np.random.default_rng(0).normal(size=(3, 500))
    >>> found = segre.evaluate({"x": x[0]}, {"x": x[1]}, train={"x": x[2]})
    >>> found.verdicts[0]
    'No column is significantly off.'
    """
    _show.ready()
    data_name, data_table = _raw(data, "data")
    train_name, train_table = _raw(train, "train")
    samples_name, samples_table = _raw(samples, "samples")
    found = _core.evaluate_samples(
        data_name, train_name, samples_name, data_table, train_table, samples_table,
        _kinds.whole(count, "count"), _kinds.whole(items, "items"), _kinds.whole(seed, "seed"), target or "",
    )  # fmt: skip
    return _finished(found, f"Evaluation of {samples_name}", out)


def _finished(found: _core.Evaluated, title: str, out: str | Path | None) -> Evaluation:
    evaluation = Evaluation(found, title)
    if out is not None:
        evaluation.save(out)
    return evaluation


def _raw(table: Any, what: str) -> tuple[str, _core.TableInMemory | None]:
    """The name of a table and, unless it is a source by name, its cells."""
    table, _ = _arrow.adopted(table)
    if table is None or isinstance(table, str):
        return table or "", None
    if not _kinds.is_table(table):
        raise ValueError(f"{what}: a DataFrame, a mapping of columns or 'csv:FILE' was expected")
    name = _kinds.called(table)
    columns, n_rows = _tables.columns_of(table)
    return name, _core.table_in_memory(columns, n_rows, "csv:" + name, None)


def _for_model(space: _core.Space, data: Any) -> tuple[str, _core.TableInMemory | None, list[str]]:
    """The same for a model, with the items in the numbers of its labels, and notes about them."""
    data, _ = _arrow.adopted(data)
    if isinstance(data, str):
        return data, None, []
    source, notes = _sources.open_for(space, data, False, {})
    name = _kinds.called(data)
    columns, n_rows = _tables.columns_of(data) if _kinds.is_table(data) else ([], 0)
    return name, _core.table_in_memory(columns, n_rows, "csv:" + name, source), notes


def _table(rows: list[dict[str, Any]]) -> Any:
    """Rows as a table of columns."""
    return _tables.table_of({name: [row[name] for row in rows] for name in (rows[0] if rows else {})})
