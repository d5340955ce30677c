"""Keys of a run's config as Python values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def _toml(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    return str(value)


def assignments(keys: Mapping[str, Any], prefix: str = "") -> list[str]:
    """``{"train.steps": 100}`` as the command line's ``train.steps=100``; None leaves a key as it is."""
    return [f"{prefix}{key}={_toml(value)}" for key, value in keys.items() if value is not None]
