"""The parts of a model, with the names of C++: Space, Path, Field, Model."""

from __future__ import annotations

from typing import Any

from . import _core, _kinds
from ._config import assignments
from ._core import Space

__all__ = ["Field", "Model", "Path", "Space"]


class Path:
    """A Gaussian path v_t = a_t u + s_t z from noise to the corners u of the labels.

    >>> import segre
    >>> path = segre.nn.Path()
    >>> a, s, da, ds = path.at(0.5)
    >>> a
    0.5
    """

    def __init__(self, kind: str = "e-geodesic", **options: Any) -> None:
        self._path = _core.make_path(assignments({"kind": kind, **options}, "path."))

    def at(self, t: float) -> tuple[float, float, float, float]:
        """a, s and their slopes at a time."""
        return self._path.at(t)

    def time_at(self, ratio: float) -> float:
        """The time at which a/s has this value."""
        return self._path.time_at(ratio)

    def decision_time(self, space: Space) -> float:
        """The time from which on no label is in doubt."""
        return self._path.decision_time(space)


class Field:
    """A network: one of segre's by its ``kind`` and options (``net.*`` of ``segre keys``), or a module of torch.

    >>> import segre
    >>> space = segre.Space.table({"sky": 3, "wet": 2})
    >>> segre.Field(space, "mlp", width=32).n_parameters > 0
    True
    """

    def __init__(self, space: Space, kind: str = "mlp", *, seed: int = 1, **options: Any) -> None:
        self._field = _core.make_field(space, assignments({"kind": kind, **options}, "net."), seed)
        self._torch: _core.TorchModule | None = None
        self.module: Any = None

    @classmethod
    def from_torch(cls, module: Any, name: str | None = None) -> Field:
        """A field written in torch: ``module(W, t)`` takes points W [B, S], float32, S the sum of all label counts, and
        times t [B], and returns any numbers [B, S]. Rows must not influence each other. Its parameters are the
        module's own: what ``Trainer`` does, the module has.

        >>> import segre
        >>> import torch  # doctest: +SKIP
        >>> field = segre.Field.from_torch(torch.nn.Module())  # doctest: +SKIP
        """
        import torch

        if not isinstance(module, torch.nn.Module):
            raise ValueError(f"from_torch: a torch.nn.Module was expected, found {type(module).__name__}")
        field = cls.__new__(cls)
        field._torch = _core.torch_module(module, name or type(module).__name__)
        field._field = _core.torch_field(field._torch)
        field.module = module
        return field

    @property
    def n_parameters(self) -> int:
        """The number of learned values."""
        return self._field.n_parameters

    @property
    def parameters(self) -> dict[str, Any]:
        """Views of the learned arrays, by name."""
        return self._field.parameters

    def __call__(self, W: Any, t: Any) -> Any:
        """The network's values [B, S] at points W [B, S] and times t, one or [B]."""
        return self._field.forward(_kinds.numbers(W), _kinds.times(t))

    def _module(self) -> _core.TorchModule:
        if self._torch is None:
            raise ValueError(
                "field: a network of torch was expected (Field.from_torch); one of segre's own is chosen by "
                'config={"net.kind": ...}'
            )
        return self._torch


class Model:
    """A network with a space, a path and a form: the flow dv/dt = F(v, t).

    >>> import numpy as np
    >>> import segre
    >>> space = segre.Space.table({"sky": 3, "wet": 2})
    >>> model = segre.nn.Model(space, segre.Field(space, "mlp"))
    >>> model.velocity(np.zeros((1, 5)), 0.5).shape
    (1, 5)
    """

    def __init__(
        self, space: Space, field: Field, *, path: Path | None = None, form: str = "evidence", device: str = "cpu"
    ) -> None:
        self.space = space
        self.field = field
        self._path = (path or Path())._path
        self._model = _core.make_model(space, self._path, form, field._field, device)

    def velocity(self, v: Any, t: Any) -> Any:
        """F at v [B, S] and times t, one or [B]."""
        return self._model.velocity(_kinds.numbers(v), _kinds.times(t))

    def endpoint(self, v: Any, t: Any) -> Any:
        """D, the mean endpoint given v: [B, S]."""
        return self._model.endpoint(_kinds.numbers(v), _kinds.times(t))

    def _flow(self) -> _core.Flow:
        return _core.flow_of(self._model)
