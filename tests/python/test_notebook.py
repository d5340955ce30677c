"""The notebook runs from start to end."""

from __future__ import annotations

import importlib.util
import shutil

import pytest
from conftest import REPOSITORY, environment


def test_the_tour(tmp_path, monkeypatch):
    """Only that no cell fails: what it prints depends on the time it has. It runs beside copies of other examples."""
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    if importlib.util.find_spec("ipykernel") is None:  # importing it would make progress bars redraw themselves
        pytest.skip("there is no ipykernel to run it")
    folder = tmp_path / "examples"
    shutil.copytree(REPOSITORY / "examples", folder)
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    notebook = nbformat.read(folder / "tour.ipynb", as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute()  # CellExecutionError shows the cell and what it said
