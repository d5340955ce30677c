"""Finds LibTorch and loads it, once per process, before the library that needs it.

LibTorch is that of the installed ``torch`` package. ``torch`` itself is not imported: the package may be the small CPU
set, whose Python part cannot be.
"""

from __future__ import annotations

import ctypes
import importlib.util
import re
import sys
from pathlib import Path

from . import _build


def _folder() -> Path:
    """The folder of the torch package."""
    module = sys.modules.get("torch")
    file = getattr(module, "__file__", None)
    if file is not None:
        return Path(file).parent
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise ImportError(
            f"segre needs the package torch {_build.TORCH}, which holds LibTorch, and did not find it: "
            f"pip install 'torch=={_build.TORCH}.*'"
        )
    return Path(spec.origin).parent


def _version(folder: Path) -> str:
    """The version in torch/version.py, read rather than run: ``2.11.0``."""
    file = folder / "version.py"
    found = re.search(r"__version__ = '([^'+]+)", file.read_text() if file.exists() else "")
    return found.group(1) if found else "of unknown version"


def load() -> None:
    """Loads LibTorch for the module ``_core``; ImportError in one line if it is missing or another version."""
    folder = _folder()
    version = _version(folder)
    if not version.startswith(_build.TORCH + "."):
        raise ImportError(
            f"segre was built with torch {_build.TORCH} and found torch {version} in {folder}: "
            f"pip install 'torch=={_build.TORCH}.*', or build segre with that torch: "
            f"pip install --no-build-isolation --no-deps --force-reinstall . in a clone"
        )
    names = ["libc10.so", "libtorch_cpu.so"] + (["libc10_cuda.so", "libtorch_cuda.so"] if _build.CUDA else [])
    try:
        for name in names:
            ctypes.CDLL(str(folder / "lib" / name), mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise ImportError(f"LibTorch in {folder} cannot be loaded: {error}") from None
