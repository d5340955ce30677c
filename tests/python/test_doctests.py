"""The examples in the documentation of every module run, and print what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import segre

# Written in C++; segre._torch needs Python's torch.
COMPILED = {"segre._core", "segre._torch"}
NEED_SKLEARN = {"segre.sklearn", "segre._estimator"}
MODULES = sorted(
    {"segre", *(f"segre.{module.name}" for module in pkgutil.iter_modules(segre.__path__))} - COMPILED
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if name in NEED_SKLEARN:
        pytest.importorskip("sklearn")
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in doctest.DocTestFinder().find(importlib.import_module(name), name):
        runner.run(test, out=said.append)
    assert runner.failures == 0, "\n" + "".join(said)


def test_everything_public_has_an_example():
    """Functions and classes; what a method does is often shown with its class."""
    finder = doctest.DocTestFinder()
    for thing in (segre, segre.nn, segre.train):
        for name in thing.__all__:
            value = getattr(thing, name)
            if name in ("nn", "train", "Space"):
                continue
            assert any(test.examples for test in finder.find(value, name)), f"{name} has no example"
