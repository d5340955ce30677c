"""From the user's data to sources of the library, and from labels to items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _core, _kinds, _show, _tables


def options_text(options: Mapping[str, Any]) -> str:
    """Keyword arguments as options of a source: ``bins={"age": 8}`` is ``bins=age:8``."""
    parts = []
    for key, value in options.items():
        if value is None:
            continue
        if isinstance(value, Mapping):
            text = ",".join(f"{_core.escaped(str(k))}:{v}" for k, v in value.items())
        elif isinstance(value, (list, tuple, set)):
            text = ("|" if key == "labels" else ",").join(_core.escaped(str(v)) for v in value)
        else:
            text = str(value)
        parts.append(f"{key}={text}")
    return "?" + "&".join(parts) if parts else ""


def _named(source: str, options: Mapping[str, Any]) -> str:
    """The name of a source with further options."""
    text = options_text(options)
    return source + (text.replace("?", "&", 1) if "?" in source else text)


def open_data(data: Any, options: Mapping[str, Any]) -> tuple[_core.Source, str, list[str]]:
    """The source of data to learn from, its name in the run's config, and notes about it, which are printed."""
    name = _named(data if isinstance(data, str) else _kinds.called(data), options)
    if not isinstance(data, str) and not _kinds.is_table(data):
        return _core.array_source(_kinds.labels(data), "npy:" + name), "memory:" + name, []
    if isinstance(data, str):
        source, notes = _core.open_source(name)
    else:
        source, notes = _core.frame_source(*_tables.columns_of(data), "csv:" + name)
    for text in notes:
        _show.note(text)
    return source, name if isinstance(data, str) else "memory:" + name, notes


def open_for(
    space: _core.Space, data: Any, unknowns: bool, options: Mapping[str, Any]
) -> tuple[_core.Source, list[str]]:
    """The source of data for a model, in the numbers of its labels, and notes about them."""
    if isinstance(data, str):
        return _core.open_source_for(space, _named(data, options), unknowns)
    name = _named(_kinds.called(data), options)
    if _kinds.is_table(data):
        columns, n_rows = _tables.columns_for(space, data)
        return _core.frame_source_for(columns, n_rows, "csv:" + name, space, unknowns)
    return _core.array_source_for(_kinds.labels(data), "npy:" + name, space)


def data(source: str, count: int | None = None) -> Any:
    """The items of a source of the command line: a table as a DataFrame, anything else as an array.

    ``count`` takes the first ones; an endless source, such as a toy, needs it. Numbers and dates that ``bins=`` cut into
    intervals are drawn within these, as for samples.

    >>> import segre
    >>> segre.data("coupled", 4).shape
    (4, 2)
    >>> segre.data("glyphs", 2).shape
    (2, 28, 28)
    """
    _show.ready()
    opened, notes = _core.open_source(source)
    for text in notes:
        _show.note(text)
    if count is None and opened.n_items == 0:
        raise ValueError(f"{source}: is endless; give the number of items to take (count=)")
    take = opened.n_items if count is None else _kinds.whole(count, "count")
    return as_items(opened.space, opened.rows(0, min(take, opened.n_items) if opened.n_items else take))


def shaped(space: _core.Space, labels: np.typing.NDArray[Any]) -> np.typing.NDArray[Any]:
    """Labels [..., n] in the shape of items."""
    return labels.reshape(labels.shape[:-1] + tuple(space.shape))


def as_items(
    space: _core.Space,
    labels: np.typing.NDArray[Any],
    seed: int = 1,
    kinds: Mapping[str, _tables.Kind] | None = None,
    numbers: bool = True,
) -> Any:
    """Labels [N, n] as a table or an array; ``kinds`` are the types of a table's columns."""
    if space.layout != "table":
        return shaped(space, labels)
    return _tables.table_of(
        {
            kind.get("name", name): _tables.column_of(
                space, i, labels[:, i : i + n], kind or None, seed=seed, numbers=numbers
            )
            for name, i, n in space.columns
            for kind in [(kinds or {}).get(name, {})]
        }
    )
