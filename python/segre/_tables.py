"""Columns of tables: from the user's values to texts, and from labels back to values of the same type."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _core
from ._kinds import is_frame

MISSING = "(missing)"  # the label of missing values
# Values of Python's own types, in columns of objects: how their texts are read.
_OBJECTS: Mapping[str, Callable[[str], Any]] = {
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
    "Decimal": decimal.Decimal,
}
_TRUTHS = {"True": True, "False": False}

# name, different values as texts, which of them each row has, whether they are all labels
Column = tuple[str, list[str], np.typing.NDArray[np.int32], bool]

# The type of a column, as in a run's columns.json: {"dtype": "int64"}; with "values" if its texts do not say what they
# were, with "ordered" if it is a category, whose categories the values are, and with "name" if that is a number.
Kind = Mapping[str, Any]


def pandas_if_any() -> Any:
    """pandas, if it is installed; else None."""
    try:
        import pandas
    except ImportError:
        return None
    return pandas


# ---- in ---------------------------------------------------------------------------------------------------------------


def columns_for(space: _core.Space, table: Any) -> tuple[list[Column], int]:
    """The columns of a table that a model is to read, with the texts that its labels have."""
    columns, n_rows = columns_of(table)
    labels = {name: space.label_names(first) for name, first, _ in space.columns}
    return [
        (name, matched(texts, set(labels[name])) if name in labels else texts, codes, declared)
        for name, texts, codes, declared in columns
    ], n_rows


def matched(texts: list[str], labels: set[str]) -> list[str]:
    """The label that each text means. How a value is written depends on its column: pandas makes 2 a 2.0 where values
    are missing, and leaves out the time of day where all are at midnight."""
    return [next((way for way in _ways_to_write(text) if way in labels), text) for text in texts]


def _ways_to_write(text: str) -> list[str]:
    ways = [text]
    for end in (".0", " 00:00:00"):
        ways += [text.removesuffix(end), text + end]
    if text in _TRUTHS:
        ways += [text.lower(), text.upper()]
    return ways


def columns_of(table: Any) -> tuple[list[Column], int]:
    """The columns of a table, and its number of rows."""
    if is_frame(table):
        columns = [_frame_column(str(name), table.iloc[:, i]) for i, name in enumerate(table.columns)]
        return columns, len(table)
    columns = [_plain_column(str(name), values) for name, values in table.items()]
    lengths = {name: len(codes) for name, _, codes, _ in columns}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise ValueError(f"columns: have different numbers of rows: {found}")
    return columns, next(iter(lengths.values()), 0)


def _frame_column(name: str, series: Any) -> Column:
    import pandas

    if isinstance(series.dtype, pandas.CategoricalDtype):
        return name, _texts(series.cat.categories, name), series.cat.codes.to_numpy(np.int32), True
    if series.dtype == object:  # 1 and True are equal, but not the same
        series = series.map(lambda value: value if type(value).__hash__ is None else str(value), na_action="ignore")
    try:
        codes, values = pandas.factorize(series)
    except TypeError:
        strange = next(type(value).__name__ for value in series if type(value).__hash__ is None)
        raise ValueError(f"DataFrame: column {name} holds a {strange}; texts, numbers or dates were expected") from None
    return name, _texts(values, name), np.asarray(codes, np.int32), False


def _plain_column(name: str, values: Any) -> Column:
    """A column of a mapping: None and NaN are missing."""
    shape = getattr(values, "shape", (0,))
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__") or len(shape) != 1:
        what = f"has shape {list(shape)}" if len(shape) != 1 else f"is {values!r}"
        raise ValueError(f"columns: column {name} {what}, a list or an array with one axis was expected")
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuU":
        found, places = np.unique(values, return_inverse=True)
        return name, _texts(found.tolist(), name), places.astype(np.int32), False
    different: dict[Any, int] = {}
    codes = np.empty(len(values), np.int32)
    for row, value in enumerate(values.tolist() if isinstance(values, np.ndarray) else values):
        codes[row] = -1 if _is_missing(value) else different.setdefault(value, len(different))
    return name, _texts(list(different), name), codes, False


def _is_missing(value: Any) -> bool:
    """None, NaN, or pandas' NA, which is equal to nothing, not even in truth."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def text_of(value: Any) -> str:
    """The label that a value of the user's means, as far as its text shows."""
    return MISSING if _is_missing(value) else str(value)


def _texts(values: Sequence[Any], name: str) -> list[str]:
    """Different values of a column as pandas writes them into CSV files."""
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    if kind in ("M", "m"):
        import pandas

        values = pandas.Series(values).astype(str)  # dates without a time of day if all are at midnight
    if kind == "f":
        values = list(np.asarray(values))  # numbers of float32 have fewer digits than as floats of Python
    texts = [value if isinstance(value, str) else str(value) for value in values]
    for text in texts:
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                raise ValueError(f"column {name} has the text {text!r}, UTF-8 was expected") from None
    return texts


def kinds_of(data: Any) -> dict[str, Kind] | None:
    """The types of a table's columns; None for other data."""
    if is_frame(data):
        return {str(name): _kind(name, data.iloc[:, i]) for i, name in enumerate(data.columns)}
    if not isinstance(data, Mapping):
        return None
    kinds: dict[str, Kind] = {}
    for name, values in data.items():
        array = np.asarray(values)
        if array.dtype.kind in "biuf":
            kinds[str(name)] = {"dtype": str(array.dtype)}
            continue
        found = np.array(list(dict.fromkeys(value for value in values if not _is_missing(value))), dtype=object)
        texts = all(isinstance(value, str) for value in found)
        kinds[str(name)] = {"dtype": "object"} if texts else {"dtype": "object", "values": _encoded(found)}
    return kinds


def kind_in(data: Any, name: str) -> Kind | None:
    """The type of a column of a table; None if nothing in it shows its type."""
    if not is_frame(data):
        return None
    key = _keys(data).get(name)
    return _kind(key, data[key]) if key is not None and data[key].notna().any() else None


def _kind(name: Any, series: Any) -> Kind:
    kind: dict[str, Any] = {"dtype": str(series.dtype)}
    if isinstance(name, int):
        kind["name"] = name
    if kind["dtype"] == "category":
        return {**kind, "ordered": bool(series.dtype.ordered), "values": _encoded(series.dtype.categories)}
    if kind["dtype"] == "object":
        import pandas

        values = pandas.Index({(type(value), value): value for value in series.dropna()}.values(), dtype=object)
        if not all(isinstance(value, str) for value in values):
            kind["values"] = _encoded(values)
    return kind


def _encoded(values: Any) -> dict[str, Any]:
    """Different values, an Index, as JSON."""
    if hasattr(values, "closed"):  # intervals
        sides = {"left": _encoded(values.left), "right": _encoded(values.right)}
        return {"closed": values.closed, **sides}
    found = [value.item() if isinstance(value, np.generic) else value for value in values.tolist()]
    plain = [value if isinstance(value, (str, bool, int, float)) else str(value) for value in found]
    types = {type(value).__name__ for value in values} if values.dtype == object else set()
    own = len(types) == 1 and types <= set(_OBJECTS)
    return {"dtype": types.pop() if own else str(values.dtype), "values": plain}


def _decoded(pandas: Any, values: Mapping[str, Any]) -> Any:
    """The Index that _encoded wrote."""
    if "closed" in values:
        left, right = _decoded(pandas, values["left"]), _decoded(pandas, values["right"])
        return pandas.IntervalIndex.from_arrays(left, right, closed=values["closed"])
    if values["dtype"] in _OBJECTS:
        return pandas.Index([_OBJECTS[values["dtype"]](value) for value in values["values"]], dtype=object)
    return pandas.Index(values["values"], dtype=object).astype(values["dtype"])


# ---- out --------------------------------------------------------------------------------------------------------------


def table_of(columns: Mapping[str, Any], index: Any = None) -> Any:
    """Columns as a DataFrame, or as they are without pandas."""
    pandas = pandas_if_any()
    return dict(columns) if pandas is None else pandas.DataFrame(columns, index=index)


def column_of(
    space: _core.Space,
    variable: int,
    parts: np.typing.NDArray[Any],
    kind: Kind | None,
    seed: int = 1,
    draw: int = 0,
    middle: bool = False,
    numbers: bool = True,
) -> Any:
    """The values of a column whose variables, from this one on, have these labels [N, 1 or 2]: a categorical column,
    numbers or dates; an array without pandas."""
    unit = space._unit(variable)
    pandas = pandas_if_any()
    labels = parts[:, 0]
    if unit == "label" or not (numbers or space._are_levels(variable)):
        names = space.label_names(variable)
        if names[-1] == MISSING:  # in a column of texts it may be one, such as ?
            own = space._missing_text(variable) if kind is not None and unit == "label" and holds_texts(kind) else ""
            names = names[:-1] + ([own] if own else [])
        codes = labels.astype(np.int32)  # bytes cannot hold -1
        codes[codes >= len(names)] = -1
        kind = kind if unit == "label" else None
        return _plain(_named(names, codes), kind) if pandas is None else _labelled(pandas, names, codes, kind)
    def texts(plain: bool) -> list[str | None]:
        known = space._texts(variable, np.maximum(parts, 0).astype(np.int64), seed, draw, middle, plain)
        return [None if label < 0 or text == MISSING else text for label, text in zip(labels, known, strict=True)]

    if pandas is None:
        return _plain(np.array(texts(False), dtype=object), kind if unit == "number" else None)
    if kind is not None and holds_texts(kind):
        missing = space._missing_text(variable) or None  # such as ?, which is a text like the others
        known = [missing if text is None else text for text in texts(False)]
        return cast(pandas.Series(known, dtype=object), kind)
    if kind is not None and "values" in kind:
        return pandas.Series(_objects(pandas, texts(False), kind["values"]), dtype=object)
    return _measured(pandas, unit, texts(True), kind)


def holds_texts(kind: Kind) -> bool:
    """Whether all values of a column were texts, whatever they mean."""
    return str(kind["dtype"]) in ("object", "str", "string", "string[python]", "string[pyarrow]") and "values" not in kind


def _objects(pandas: Any, texts: Sequence[str | None], own: Mapping[str, Any]) -> list[Any]:
    """Values as a column of objects had them; those that it did not have are of the type that fits."""
    read = _OBJECTS.get(own["dtype"], lambda text: _typed(_number, text))
    known = _decoded(pandas, own)
    there = dict(zip(_texts(known, ""), known.tolist(), strict=True))
    return [None if text is None else there[text] if text in there else _typed(read, text) for text in texts]


def _measured(pandas: Any, unit: str, texts: Sequence[str | None], kind: Kind | None) -> Any:
    """Numbers, dates or durations from their texts, in the type that the column had."""
    if unit == "time":
        return pandas.Series(texts, dtype=object)
    if unit == "duration":
        return cast(pandas.Series(pandas.to_timedelta(pandas.Series(texts, dtype=object))), kind)
    if unit != "number":
        dates = pandas.to_datetime(pandas.Series(texts, dtype=object), utc=unit == "zoned", format="ISO8601")
        return cast(dates, kind)
    if kind is not None and str(kind["dtype"]).lower().startswith(("int", "uint")) and "." not in "".join(filter(None, texts)):
        whole = pandas.Series([None if text is None else _typed(int, text) for text in texts], dtype=object)
        held = cast(whole, kind)  # exact, however large
        if str(held.dtype) == str(kind["dtype"]):
            return held
    return cast(pandas.to_numeric(pandas.Series(texts, dtype=object)), kind)


def moments(unit: str, values: np.typing.NDArray[np.float64]) -> Any:
    """Numbers as they are, seconds since 1970 as dates, those of a day or a duration as durations."""
    if unit == "number":
        return values
    return np.round(values).astype("timedelta64[s]" if unit in ("time", "duration") else "datetime64[s]")


def _named(names: Sequence[Any], codes: np.typing.NDArray[np.int32]) -> np.typing.NDArray[Any]:
    """The name of each code, None for -1."""
    values = np.empty(len(names) + 1, dtype=object)
    for k, name in enumerate(names):
        values[k] = name
    return values[codes]


def _plain(values: np.typing.NDArray[Any], kind: Kind | None) -> np.typing.NDArray[Any]:
    """Texts in the type that the user's column had, without pandas; texts if there are gaps."""
    text = "object" if kind is None else str(kind["dtype"])
    if not text.startswith(("bool", "int", "uint", "float")) or any(value is None for value in values):
        return values
    return values == "True" if text == "bool" else np.array([_number(value) for value in values]).astype(text)


def _number(text: str) -> int | float:
    """The number that a text is: whole numbers are exact, however large. ValueError if it is none."""
    try:
        return int(text)
    except ValueError:
        return float(text)


def _typed(read: Callable[[str], Any], text: str) -> Any:
    """A label in another type; the text itself if that type does not have it."""
    try:
        return read(text)
    except (KeyError, ValueError):
        return text


def _labelled(pandas: Any, names: Sequence[str], codes: np.typing.NDArray[np.int32], kind: Kind | None) -> Any:
    """A column of labels in the type that the user's data had; a categorical one by default."""
    if kind is None:
        return pandas.Series(pandas.Categorical.from_codes(codes, categories=list(names)))
    own: Sequence[Any] = names
    if "values" not in kind:
        if kind["dtype"].startswith("bool"):
            own = [_TRUTHS.get(name, name) for name in names]
        elif kind["dtype"].lower().startswith(("int", "uint", "float")):
            own = [_typed(_number, name) for name in names]
        values = pandas.Series(_named(own, codes), dtype=object)
        whole = cast(values, kind)
        return whole if str(whole.dtype) == kind["dtype"] else _inferred(values)
    found = _decoded(pandas, kind["values"])
    place = {text: k for k, text in enumerate(_texts(found, ""))}
    if kind["dtype"] != "category":
        known = found.tolist()
        own = [known[place[name]] if name in place else name for name in names]
        return pandas.Series(_named(own, codes), dtype=object)
    where = np.array([place[name] for name in names] + [-1], np.int32)[codes]
    return pandas.Series(pandas.Categorical.from_codes(where, categories=found, ordered=kind["ordered"]))


def label_values(names: Sequence[str], kind: Kind | None, column: Any = None) -> list[Any]:
    """What labels are to the user: the values that a column of a table has for them, or would have by its type; without
    one, those of the data that the model learned from."""
    pandas = pandas_if_any()
    codes = np.arange(len(names), dtype=np.int32)
    values: list[Any]
    if kind is None or pandas is None:
        values = _plain(_named(names, codes), kind).tolist()
    else:
        values = _labelled(pandas, names, codes, kind).tolist()
    if column is None:
        return values
    own = column.cat.categories if isinstance(column.dtype, pandas.CategoricalDtype) else pandas.factorize(column)[1]
    read = {
        "boolean": _TRUTHS.__getitem__,
        "integer": _number,
        "floating": float,
        "string": str,
        "datetime64": pandas.Timestamp,
        "date": datetime.date.fromisoformat,
    }.get(pandas.api.types.infer_dtype(own))
    if read is not None:
        values = [_typed(read, name) for name in names]
    there = dict(zip(matched(_texts(own, str(column.name)), set(names)), own.tolist(), strict=True))
    return [there.get(name, value) for name, value in zip(names, values, strict=True)]


def own_column(data: Any, name: str) -> Any:
    """A column of a table as a Series; None if the data do not have it, and without pandas."""
    pandas = pandas_if_any()
    if pandas is None or isinstance(data, str):
        return None
    key = _keys(data).get(name)
    if key is None:
        return None
    return data[key] if is_frame(data) else pandas.Series(list(data[key]), dtype=object)


def taken(values: Sequence[Any], labels: np.typing.NDArray[Any]) -> Any:
    """The values of labels, a Series; None for the label of missing values, the last."""
    import pandas

    codes = labels.astype(np.int32)
    codes[codes >= len(values)] = -1
    return pandas.Series(_named(values, codes), dtype=object)


def cast(values: Any, kind: Kind | None) -> Any:
    """The values in a type, if it can hold them: integers with gaps stay floating-point numbers, and numbers that a
    short integer cannot hold stay what they are."""
    if kind is None or str(values.dtype) == str(kind["dtype"]):
        return values
    try:
        held = values.astype(kind["dtype"])
    except (TypeError, ValueError, OverflowError):
        return values
    if getattr(held.dtype, "kind", "") not in "biu" and held.dtype != np.float64:
        return held
    same = (held.astype(object) == values.astype(object)) | (held.isna() & values.isna())
    return held if same.all() else values


def _inferred(values: Any) -> Any:
    """Objects in the type that all of them have, if there is one."""
    return cast(values, {"dtype": values.infer_objects().dtype})


def filled(data: Any, name: str, values: Any, unknown: np.typing.NDArray[np.bool_]) -> Any:
    """A column of the data with ``values`` where cells are unknown, in the column's type if that holds them."""
    if isinstance(data, str):
        return values
    column = data[_keys(data)[name]]
    if not is_frame(data):
        kept = np.array(column, dtype=object)
        kept[unknown] = np.asarray(values, dtype=object)[unknown]
        return kept
    if not unknown.any():
        return column
    drawn = values.set_axis(data.index).astype(object)
    if hasattr(column, "cat"):
        return column.where(~unknown, drawn)
    if getattr(column.dtype, "kind", "") in "iu":  # numbers drawn for other rows may have gaps, which makes them floats
        drawn = drawn.map(lambda value: int(value) if isinstance(value, float) and value.is_integer() else value)
    merged = column.astype(object).where(~unknown, drawn)
    whole = cast(merged, {"dtype": column.dtype})
    return whole if whole.dtype == column.dtype else _inferred(merged)


def with_categories(data: Any, name: str, values: Sequence[Any], kind: Kind | None) -> Any:
    """The data, whose column can hold these values if it is categorical: new categories have their places among those
    of training, or else are the last."""
    column = data[_keys(data)[name]] if is_frame(data) else None
    if column is None or not hasattr(column, "cat"):
        return data
    own = column.cat.categories
    more = [value for value in values if value not in own]
    if not more:
        return data
    order = _decoded(pandas_if_any(), kind["values"]) if kind is not None and kind["dtype"] == "category" else []
    ordered = [value for value in order if value in own or value in more]
    out = data.copy(deep=False)
    fits = len(ordered) == len(own) + len(more) and [value for value in ordered if value in own] == list(own)
    out[_keys(data)[name]] = column.cat.set_categories(ordered) if fits else column.cat.add_categories(more)
    return out


def _keys(data: Any) -> dict[str, Any]:
    """The names of a table's columns, which may be numbers, by the texts that the library has for them."""
    return {str(key): key for key in data}


def texts_there(data: Any, name: str, holes: np.typing.NDArray[np.bool_]) -> np.typing.NDArray[np.bool_]:
    """Which of the cells that are holes to the model hold a text all the same, such as NA: [N]."""
    found = np.zeros_like(holes)
    if isinstance(data, str) or not holes.any():
        return found
    values = data[_keys(data)[name]]
    rows = np.flatnonzero(holes)
    cells = values.iloc[rows] if hasattr(values, "iloc") else [values[row] for row in rows]
    found[rows] = [not _is_missing(cell) and cell != MISSING for cell in cells]
    return found


def with_columns(data: Any, columns: Mapping[str, Any]) -> Any:
    """The data with these columns; others, which the model does not have, stay as they are."""
    if is_frame(data):
        out = data.copy()
        for name in data.columns:
            if str(name) in columns:
                out[name] = columns[str(name)]
        return out
    rest = {name: values for name, values in data.items() if name not in columns} if isinstance(data, Mapping) else {}
    return table_of({**columns, **rest})


def with_unknown(data: Any, name: str) -> Any:
    """The table with a column of unknown cells, whatever it had there."""
    if not is_frame(data) and not isinstance(data, Mapping):
        return data
    key = _keys(data).get(name, name)
    if not is_frame(data):
        return {**data, key: [None] * len(next(iter(data.values()), []))}
    out = data.copy(deep=False)
    out[key] = None
    return out
