"""Importing the package: it needs one LibTorch, of the right version, and says so in one line otherwise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import assert_one_line, python

import segre
from segre import _build


def import_error(*options: str, path: list[Path]) -> str:
    """The message with which importing segre fails in a process that looks for packages in these folders first."""
    done = subprocess.run(
        [sys.executable, *options, "-c", "import segre"], capture_output=True, text=True,
        env={"PYTHONPATH": ":".join(map(str, path))},
    )  # fmt: skip
    assert done.returncode == 1, done.stdout
    lines = done.stderr.strip().splitlines()
    assert [line for line in lines if line.startswith("ImportError: ")] == lines[-1:], done.stderr  # nothing after it
    assert "another exception" not in done.stderr
    return lines[-1]


@pytest.fixture
def package(tmp_path) -> Path:
    """A folder with the package and no torch beside it."""
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "segre").symlink_to(Path(segre.__file__).parent)
    return folder


def make_torch(folder: Path, version: str) -> Path:
    """A folder with a package torch that has a version and nothing else."""
    (folder / "torch" / "lib").mkdir(parents=True)
    (folder / "torch" / "__init__.py").write_text("raise ImportError('torch itself is not to be imported')")
    (folder / "torch" / "version.py").write_text(f"__version__ = '{version}'\n")
    return folder


def test_another_version_of_torch(package, tmp_path):
    """Found before the right one, which the interpreter's own folder may have."""
    message = import_error(path=[make_torch(tmp_path / "other", "1.13.1+cpu"), package])
    assert_one_line(message, _build.TORCH, "1.13.1", str(tmp_path / "other"), "pip install")


def test_a_version_with_the_same_beginning(package, tmp_path):
    """2.110 is not 2.11."""
    message = import_error(path=[make_torch(tmp_path / "other", f"{_build.TORCH}0.0"), package])
    assert_one_line(message, f"{_build.TORCH}0.0")


def test_no_torch(package):
    """Without the interpreter's own folder of packages (-S) there is none."""
    message = import_error("-S", path=[package])
    assert_one_line(message, "torch", _build.TORCH, "pip install")


def test_a_folder_that_happens_to_be_called_torch(package, tmp_path):
    (tmp_path / "work" / "torch").mkdir(parents=True)
    message = import_error("-S", path=[tmp_path / "work", package])
    assert_one_line(message, "torch", _build.TORCH, "pip install")


def test_a_torch_without_its_library(package, tmp_path):
    message = import_error(path=[make_torch(tmp_path / "empty", f"{_build.TORCH}.0"), package])
    assert_one_line(message, str(tmp_path / "empty"), "libc10")


def test_a_torch_without_its_version(package, tmp_path):
    """A broken installation."""
    folder = make_torch(tmp_path / "broken", "1.0.0")
    (folder / "torch" / "version.py").unlink()
    message = import_error(path=[folder, package])
    assert_one_line(message, str(tmp_path / "broken"), _build.TORCH)


def test_other_packages_are_not_imported():
    """torch and pandas take seconds, and may not be there."""
    python("import sys, segre; assert not {'torch', 'pandas', 'matplotlib'} & set(sys.modules)")


def test_names():
    assert segre.__version__.count(".") == 2
    for name in segre.__all__:
        assert getattr(segre, name) is not None
    for module in (segre.nn, segre.train):
        for name in module.__all__:
            assert getattr(module, name).__doc__, name


def test_importing_says_nothing():
    done = python("import segre")
    assert done.stdout == done.stderr == ""
