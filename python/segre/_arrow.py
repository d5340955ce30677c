"""Frames of Arrow and Polars, and Parquet files: as tables that the library reads, and results as such frames again.

pyarrow does the work, and is imported when it is needed.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from . import _kinds, _tables

PARQUET = "parquet:"  # how the name of a Parquet file begins
_PROTOCOLS = ("__arrow_c_stream__", "__arrow_c_array__", "__dataframe__")  # by which others offer their frames


class Frame:
    """What a frame was: the library that it was of, ``"pyarrow"`` or ``"polars"``, and the types of its columns."""

    def __init__(self, library: str, schema: Any) -> None:
        self.package = library
        self.schema = schema

    def text(self) -> str:
        """As in a run's frame.json."""
        schema = base64.b64encode(self.schema.serialize().to_pybytes()).decode()
        return json.dumps({"library": self.package, "schema": schema})

    @classmethod
    def read(cls, file: Path) -> Frame | None:
        """The frame that ``text`` wrote; None if there is no such file, or its library is not installed."""
        if not file.exists():
            return None
        found = json.loads(file.read_text(encoding="utf-8"))
        try:
            import pyarrow

            if found["library"] == "polars":
                import polars  # noqa: F401
        except ImportError:
            return None
        return cls(found["library"], pyarrow.ipc.read_schema(pyarrow.py_buffer(base64.b64decode(found["schema"]))))

    def untyped(self) -> Frame:
        """For results that have other columns: a frame of the same library."""
        return Frame(self.package, [])

    def again(self, table: Any) -> Any:
        """A DataFrame, or columns, as a frame of this kind, whose columns have their types if these can hold the
        values. The draws of a completion, a level of the index, become the first column."""
        if isinstance(table, list):
            return [self.again(one) for one in table]
        pyarrow = _pyarrow(self.package)
        fields = {field.name: field for field in self.schema}
        arrays, made = [], []
        for name, values in _columns(table):
            field = fields.get(name)
            array = _array(pyarrow, values, None if field is None else field.type)
            if field is None or field.type != array.type:
                field = pyarrow.field(name, array.type)
            arrays.append(array)
            made.append(field.with_nullable(True))
        result = pyarrow.Table.from_arrays(arrays, schema=pyarrow.schema(made))
        if self.package != "polars":
            return result
        import polars

        return polars.from_arrow(result)


def adopted(data: Any) -> tuple[Any, Frame | None]:
    """Data as the library reads them, and what they were: a frame of Arrow or Polars, or of any library that offers its
    frames by the Arrow C interface or the interchange protocol, is a DataFrame, or a mapping of columns without pandas.
    So is the file of ``"parquet:FILE"``. Anything else stays what it is."""
    if isinstance(data, str):
        return (_native(_parquet(data)), None) if data.startswith(PARQUET) else (data, None)
    library = type(data).__module__.partition(".")[0]
    own = library in ("pandas", "numpy", "torch") or isinstance(data, Mapping)
    if own or not any(hasattr(data, protocol) for protocol in _PROTOCOLS):
        return data, None
    table = _arrow_table(data, library)
    return _native(table), Frame("polars" if library == "polars" else "pyarrow", table.schema)


def again(frame: Frame | None, table: Any) -> Any:
    """A result as a frame like that of the data, if they were one."""
    return table if frame is None else frame.again(table)


# ---- in --------------------------------------------------------------------------------------------------------------


def _pyarrow(what: str) -> Any:
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError:
        raise ImportError(f"{what}: pyarrow is required: pip install pyarrow") from None
    return pyarrow


def _parquet(name: str) -> Any:
    """The table in the file that "parquet:FILE" names."""
    _pyarrow(name)
    import pyarrow.parquet

    file = name.removeprefix(PARQUET)
    if "?" in file and not Path(file).exists():
        raise ValueError(f"{name}: options of a Parquet file are given as arguments, such as without=['id']")
    try:
        return pyarrow.parquet.read_table(file)
    except (OSError, pyarrow.ArrowException) as error:
        raise ValueError(f"{file}: cannot be read as Parquet: {' '.join(str(error).split())}") from None


def _arrow_table(data: Any, library: str) -> Any:
    pyarrow = _pyarrow(f"frames of {library}")
    try:
        if library == "polars":
            return data.to_arrow()
        if isinstance(data, pyarrow.Table):
            return data
        if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
            return pyarrow.table(data)
        from pyarrow.interchange import from_dataframe

        return from_dataframe(data)
    except (AttributeError, TypeError, ValueError, NotImplementedError, pyarrow.ArrowException) as error:
        what = f"{type(data).__module__}.{type(data).__name__}"
        raise ValueError(f"{what}: is no table: {' '.join(str(error).split())}; a frame was expected") from None


def _native(table: Any) -> Any:
    """A table of Arrow as a DataFrame, or as a mapping of columns without pandas. Decimals are numbers; integers and
    truth values stay what they are where values are missing."""
    import pyarrow

    types = pyarrow.types
    for i, field in enumerate(table.schema):
        if types.is_decimal(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(pyarrow.float64()))
    pandas = _tables.pandas_if_any()
    if pandas is None:
        return {field.name: table.column(i).to_pylist() for i, field in enumerate(table.schema)}
    frame = table.to_pandas()
    nullable = {
        **{getattr(pyarrow, f"{sign.lower()}int{bits}")(): getattr(pandas, f"{sign}Int{bits}Dtype")()
           for sign in ("", "U") for bits in (8, 16, 32, 64)},
        pyarrow.bool_(): pandas.BooleanDtype(),
    }  # fmt: skip
    for i, field in enumerate(table.schema):
        column = table.column(i)
        if field.type in nullable and column.null_count > 0 and list(frame.columns).count(field.name) == 1:
            frame[field.name] = column.to_pandas(types_mapper=nullable.get).set_axis(frame.index)
    return frame


# ---- out -------------------------------------------------------------------------------------------------------------


def _columns(table: Any) -> Iterator[tuple[str, Any]]:
    """The columns of a result by name."""
    if _kinds.is_frame(table) and "draw" in table.index.names:
        table = table.reset_index("draw")
    for i, name in enumerate(table):
        yield str(name), table.iloc[:, i] if _kinds.is_frame(table) else table[name]


def _array(pyarrow: Any, values: Any, kind: Any) -> Any:
    """Values as an array of Arrow: of a type if it can hold them, else of their own."""
    if kind is not None:
        types = pyarrow.types
        dtype = getattr(values, "dtype", None)
        # A moment without a time zone is on no clock in particular.
        fits = not (types.is_timestamp(kind) and kind.tz is not None and getattr(dtype, "kind", "") == "M"
                    and getattr(dtype, "tz", None) is None)  # fmt: skip
        ways = [_as_dictionary] if types.is_dictionary(kind) else [_typed, _converted] if fits else []
        for way in ways:
            try:
                return way(pyarrow, values, kind)
            except (pyarrow.ArrowException, TypeError, ValueError, OverflowError, NotImplementedError):
                continue
    try:
        return pyarrow.array(values, from_pandas=True)
    except pyarrow.ArrowException:  # values of several types
        return pyarrow.array([None if value is None or value != value else str(value) for value in values])


def _typed(pyarrow: Any, values: Any, kind: Any) -> Any:
    return pyarrow.array(values, type=kind, from_pandas=True)


def _converted(pyarrow: Any, values: Any, kind: Any) -> Any:
    """Numbers as decimals, texts as numbers or dates."""
    return pyarrow.array(values, from_pandas=True).cast(kind)


def _as_dictionary(pyarrow: Any, values: Any, kind: Any) -> Any:
    """Categories, in their order."""
    if not hasattr(values, "cat"):
        return pyarrow.array(values, type=kind.value_type, from_pandas=True).dictionary_encode().cast(kind)
    codes = values.cat.codes.to_numpy()
    indices = pyarrow.array(np.maximum(codes, 0), mask=codes < 0).cast(kind.index_type)
    categories = pyarrow.array(values.cat.categories, type=kind.value_type, from_pandas=True)
    return pyarrow.DictionaryArray.from_arrays(indices, categories, ordered=kind.ordered)
