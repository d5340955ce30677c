"""What the user states about the columns of all rows, as texts for the library."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from . import _tables

# A label or number; or a range: low, high, whether each end belongs to it.
Range = tuple[str, str, bool, bool]
Stated = tuple[str, Range | None]


def statement(column: str, value: Any, labels: set[str]) -> tuple[str, list[Stated], str]:
    """A column, what it may be, and the text of both; `labels` are the column's."""
    any_of = [_stated(one, labels) for one in _several(value)]
    if not any_of:
        raise ValueError(f"given {column!r}: {value!r} has no value, at least one was expected")
    return column, any_of, f"{column}=" + "|".join(_text(one) for one in any_of)


def _several(value: Any) -> list[Any]:
    """The values or ranges of which one holds."""
    if isinstance(value, range) and value.step != 1:
        return list(value)
    if isinstance(value, AbstractSet):
        return sorted(value, key=str)  # a set has no order, and messages should not depend on it
    if isinstance(value, (list, np.ndarray)) or hasattr(value, "to_list"):  # a Series or an Index
        return list(value)
    return [value]


def _stated(value: Any, labels: set[str]) -> Stated:
    """A value, or one of the ways to write a range."""
    if isinstance(value, tuple):
        if len(value) != 2:
            raise ValueError(f"given {value!r}: a range is a pair of its ends, a set of values is a set or a list")
        return "", (_end(value[0]), _end(value[1]), True, True)
    if isinstance(value, slice):
        if value.step is not None:
            raise ValueError(f"given {value!r}: a slice with a step; give a range, or a list of values")
        return "", (_end(value.start), _end(value.stop), True, True)
    if isinstance(value, range):
        return "", (_end(value.start), _end(value.stop), True, False)
    if hasattr(value, "closed_left") and str(value) not in labels:  # a pandas.Interval that is no category
        return "", (_end(value.left), _end(value.right), value.closed_left, value.closed_right)
    return _tables.matched([_value(value)], labels)[0], None


def _end(value: Any) -> str:
    """The end of a range; "" if it has none."""
    text = _value(value)
    return "" if text in (_tables.MISSING, "inf", "-inf") else text


def _value(value: Any) -> str:
    if isinstance(value, np.datetime64) and not np.isnat(value):
        value = np.datetime_as_string(value, unit="s")
    return _tables.text_of(value)


def _text(stated: Stated) -> str:
    text, ends = stated
    if ends is None:
        return text
    low, high, has_low, has_high = ends
    return f"{low}{'' if has_low else '<'}..{'' if has_high else '<'}{high}"
