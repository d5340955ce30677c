"""Which torch the Python package is built with. Run, it prints the folder of its LibTorch; the build system asks it for
the package's dependencies. The library is built against one version of LibTorch and needs that one."""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path

OURS = Path(__file__).resolve().parents[1] / ".venv" / "torch"  # where scripts/setup.sh puts it


def folder() -> Path:
    """What TORCH_DIR names, else the torch of the Python that builds, else ours, which may not be installed yet."""
    if named := os.environ.get("TORCH_DIR"):
        return Path(named)
    spec = importlib.util.find_spec("torch")
    if spec is not None and spec.origin is not None:
        found = Path(spec.origin).parent
        if (found / "include" / "torch" / "csrc" / "api" / "include" / "torch" / "torch.h").exists():
            return found  # a distribution's may lack the headers
    return OURS


def version() -> str:
    """Major and minor: ``2.11``."""
    for header in ("torch/headeronly/version.h", "torch/csrc/api/include/torch/version.h"):
        file = folder() / "include" / header
        if file.exists():
            return ".".join(re.findall(r"define TORCH_VERSION_(?:MAJOR|MINOR) (\d+)", file.read_text()))
    return ".".join(os.environ.get("TORCH", "2.11").split(".")[:2])  # the one that setup.sh is about to install


def dynamic_metadata(field: str, settings: object) -> list[str]:
    """scikit-build-core asks for ``dependencies``. docs/python.md has the small set of packages for the CPU."""
    return ["numpy>=1.24", f"torch=={version()}.*"]


if __name__ == "__main__":
    print(folder())
