"""What the user's objects are, asked without importing pandas or torch, and checks of numbers and arrays."""

from __future__ import annotations

import operator
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np


def is_frame(data: object) -> bool:
    """Whether it is a pandas DataFrame."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


def is_table(data: object) -> bool:
    """Whether it has columns."""
    return is_frame(data) or isinstance(data, Mapping)


def is_tensor(data: object) -> bool:
    """Whether it is a tensor of torch."""
    torch = sys.modules.get("torch")
    return torch is not None and hasattr(torch, "Tensor") and isinstance(data, torch.Tensor)


def called(data: object) -> str:
    """What messages call the data."""
    return "DataFrame" if is_frame(data) else "columns" if isinstance(data, Mapping) else "array"


def whole(value: Any, name: str, least: int = 0) -> int:
    """A whole number of at least ``least``."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} = {value!r}: a whole number was expected") from None
    if number < least:
        raise ValueError(f"{name} = {number}: {least} or more was expected")
    return number


def labels(data: Any, what: str = "array") -> Any:
    """An array of integers that the library can view, without a copy where its layout allows it."""
    array = numbers(data)
    if not isinstance(array, np.ndarray):
        return array
    if array.dtype.kind not in "biu":
        raise ValueError(
            f"{what}: {_found(data, array)}; integers were expected"
            + ("" if what != "array" else ", or a DataFrame, a mapping of columns, or a source such as 'csv:FILE'")
        )
    return array


def _found(data: Any, array: np.typing.NDArray[Any]) -> str:
    """What was found instead of integers."""
    holds = f"holds values of type {array.dtype}"
    return holds if isinstance(data, np.ndarray) else f"is of type {type(data).__name__} and {holds}"


def numbers(data: Any) -> Any:
    """An array of numbers that the library can view: tensors as they are, lists as arrays of NumPy."""
    if is_tensor(data):
        return data.detach()
    if isinstance(data, np.ma.MaskedArray) and np.ma.is_masked(data):
        raise ValueError("array: has a mask; fill it first, with -1 where labels are unknown")
    if hasattr(data, "__dlpack__") and not isinstance(data, np.ndarray):
        return data
    array = np.asarray(data)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return np.ascontiguousarray(array) if any(stride < 0 for stride in array.strides) else array


def times(t: Any) -> Any:
    """One time, or several, as float32."""
    return t if is_tensor(t) else np.asarray(t, np.float32)
