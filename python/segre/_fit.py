"""Training in one call."""

from __future__ import annotations

import json
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import _core, _kinds, _show, _sources, _tables
from ._config import assignments
from ._model import COLUMNS, Model, load
from .nn import Field


def fit(
    data: Any,
    *,
    max_time: str | float | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    seed: int | None = None,
    device: str = "cpu",
    config: str | Path | Mapping[str, Any] | None = None,
    field: Field | None = None,
    progress: bool = True,
    **options: Any,
) -> Model:
    """Learns the joint distribution of the columns of a table, or of the cells of sequences or images.

    data: a pandas DataFrame or a mapping of columns; an array of integers [items, length] or [items, height, width] of
        NumPy or torch, -1 where unknown; or a source of the command line, such as ``"csv:FILE"`` or ``"glyphs"``.
    max_time: fits the training into this time: ``"60s"``, ``"5m"`` or seconds. Default: as many steps as the recipe has.
    out: the directory of the run. Default: a temporary one, which goes with the model; ``model.save`` keeps it.
    resume: continues the run in ``out``, with the same data.
    config: a TOML file, or keys as ``segre keys`` lists them: ``{"train.steps": 500, "net.width": 64}``.
    field: a network of your own, see ``segre.Field.from_torch``.
    progress: whether to report progress on standard error.
    options: those of the source: ``without=["id"]`` leaves columns out, ``numbers={"zip": "labels"}`` takes numbers for
        labels, ``bins={"age": 8}`` cuts them into intervals, ``missing="unknown"`` has no label for missing values, and
        so on. A table needs none: numbers and dates are levels, identifiers and free text are left out with a note.

    Ctrl-C ends the training early and returns the model as it is, with ``model.finished`` False. The same data, seed
    and config give the same model, to the bit on a CPU.

    >>> import segre
    >>> model = segre.fit("coupled", config={"train.steps": 50, "train.batch": 128}, progress=False)
    >>> model.finished
    True
    """
    _show.ready()
    if resume and out is None:
        raise ValueError("resume: give out=, the directory of the run to continue")
    folder = Path(out) if out is not None else Path(tempfile.mkdtemp(prefix="segre-")) / "run"
    try:
        source, name, notes = _sources.open_data(data, options)
        result = _core.train(
            source,
            name,
            *_request(config, seed, device, max_time),
            str(folder),
            "a temporary folder" if out is None else str(folder),
            resume,
            progress,
            None if field is None else field._module(),
        )
        kinds = _tables.kinds_of(data)
        if kinds is not None:
            _write(folder / COLUMNS, json.dumps(kinds, indent=1))
        model = load(folder, device=device, field=field)
    except BaseException:
        if out is None:
            shutil.rmtree(folder.parent, ignore_errors=True)
        raise
    model._finish(result, source, _kinds.is_tensor(data), notes)
    if out is None:
        weakref.finalize(model, shutil.rmtree, folder.parent, True)
    return model


def plan(
    data: Any,
    *,
    max_time: str | float | None = None,
    seed: int | None = None,
    device: str = "cpu",
    config: str | Path | Mapping[str, Any] | None = None,
    field: Field | None = None,
    progress: bool = True,
    **options: Any,
) -> dict[str, Any]:
    """What ``fit`` with the same arguments would do: data, network and the reasons for it, steps, device, all keys.

    docs/json.md describes the dictionary. Under a time limit the networks race, as they would in ``fit``, and
    ``progress`` reports the reasons on standard error at once.

    >>> import segre
    >>> plan = segre.plan("coupled", config={"train.steps": 50}, progress=False)
    >>> plan["network"]["kind"], plan["training"]["expected_steps"]
    ('latent_class', 50)
    """
    _show.ready()
    source, name, _ = _sources.open_data(data, options)
    text = _core.plan(
        source,
        name,
        *_request(config, seed, device, max_time),
        progress,
        None if field is None else field._module(),
    )
    result: dict[str, Any] = json.loads(text)
    return result


def _request(
    config: str | Path | Mapping[str, Any] | None, seed: int | None, device: str, max_time: str | float | None
) -> tuple[str, list[str], str, str]:
    """The file of a config, the keys set besides, the device and the time limit, as the library takes them."""
    file = str(config) if isinstance(config, (str, Path)) else ""
    return file, assignments(_keys(config, seed)), device, "" if max_time is None else str(max_time)


def _keys(config: str | Path | Mapping[str, Any] | None, seed: int | None) -> dict[str, Any]:
    """The keys that the user sets."""
    if config is not None and not isinstance(config, (str, Path, Mapping)):
        raise ValueError(f"config = {config!r}: a mapping of keys or the name of a TOML file was expected")
    keys = dict(config) if isinstance(config, Mapping) else {}
    if seed is not None:
        keys["seed"] = seed
    return keys


def _write(path: Path, text: str) -> None:
    """A file that is there whole or not at all."""
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
        unfinished = Path(folder) / path.name
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
