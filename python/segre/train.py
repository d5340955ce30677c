"""Training step by step, samplers and bounds, with the names of C++: Trainer, Sampler, FreeBound, FlowBound."""

from __future__ import annotations

from typing import Any, Protocol

from . import _core, _kinds, _show, _sources
from ._config import assignments
from ._model import Scores
from .nn import Model

__all__ = ["FlowBound", "FreeBound", "Sampler", "Trainer"]


class HasFlow(Protocol):
    """What samplers and bounds need: a model of ``segre.nn``, an ``Oracle``, or a trained ``segre.Model``."""

    def _flow(self) -> _core.Flow: ...


def _flow_of(model: HasFlow) -> _core.Flow:
    if not hasattr(model, "_flow"):
        raise ValueError(f"a model or an Oracle was expected, found {type(model).__name__}")
    return model._flow()


class Trainer:
    """Trains a model's network on data. A step depends only on its number and the state.

    options: keys of ``train.*`` without that prefix, such as ``steps=2000``, ``batch=256``, ``lr=1e-3``.

    >>> import segre
    >>> space = segre.Space.table({"x1": 2, "x2": 2})
    >>> model = segre.nn.Model(space, segre.Field(space, "mlp"))
    >>> trainer = segre.train.Trainer(model, {"x1": [0, 1, 1], "x2": [0, 1, 1]}, steps=20, batch=16)
    >>> len(trainer.step(20))
    20
    >>> trainer.use_average()
    """

    def __init__(self, model: Model, data: Any, *, seed: int = 1, **options: Any) -> None:
        source, notes = _sources.open_for(model.space, data, True, {})
        for text in notes:
            _show.note(text)
        self._trainer = _core.Trainer(model._model, source, assignments(options, "train."), seed)

    def step(self, count: int = 1) -> list[float]:
        """Takes steps and returns their losses."""
        _show.ready()
        return self._trainer.step(_kinds.whole(count, "count"))

    @property
    def n_steps(self) -> int:
        """Steps taken."""
        return self._trainer.n_steps

    @property
    def total(self) -> int:
        """Steps of the schedule: ``steps=``."""
        return self._trainer.total

    def use_average(self) -> None:
        """Gives the network its averaged weights, which are better than the last. Call it at the end."""
        self._trainer.use_average()

    def state(self) -> dict[str, Any]:
        """Weights, averages and optimiser, by name; training restored with ``load`` continues bit for bit."""
        return self._trainer.state()

    def load(self, state: dict[str, Any]) -> None:
        """Restores what ``state`` returned."""
        self._trainer.load(state)


class Sampler:
    """Noise, flow, labels. Sample k is a function of the seed and k.

    options: keys of ``sample.*`` without that prefix, such as ``sampler="dopri5"``, ``steps=20``.

    >>> import segre
    >>> oracle = segre.Oracle("coupled")
    >>> segre.train.Sampler(oracle, steps=10).draw(0, 5).shape
    (5, 2)
    """

    def __init__(self, model: HasFlow, *, seed: int = 1, **options: Any) -> None:
        self._sampler = _core.make_sampler(_flow_of(model), assignments(options, "sample."), seed)

    def draw(self, first: int, count: int) -> Any:
        """Samples first, first + 1, ...: labels [count, n]."""
        return self._sampler.draw(_kinds.whole(first, "first"), _kinds.whole(count, "count"))

    def complete(self, labels: Any, first: int = 0, draw: int = 0) -> Any:
        """Samples given labels [B, n], -1 where unknown."""
        return self._sampler.complete(_kinds.labels(labels, "labels"), first, draw)

    def probabilities(self, labels: Any, first: int = 0) -> Any:
        """The marginals given labels [B, n], -1 where unknown: [B, S]."""
        return self._sampler.probabilities(_kinds.labels(labels, "labels"), first)

    def trajectories(self, count: int) -> Any:
        """States along the way, [times, count, S]; ``times`` gives their times."""
        return self._sampler.trajectories(_kinds.whole(count, "count"))

    @property
    def times(self) -> list[float]:
        """The times of the steps."""
        return self._sampler.times


class FreeBound:
    """The simulation-free lower bound on log p of labels [N, n]: forward passes only.

    >>> import segre
    >>> oracle = segre.Oracle("coupled")
    >>> scores = segre.train.FreeBound(oracle, times=64)(oracle.labelings)
    >>> scores.shape == oracle.p.shape
    True
    """

    def __init__(self, model: HasFlow, *, times: int = 256, seed: int = 1) -> None:
        self._flow, self._times, self._seed = _flow_of(model), times, seed

    def __call__(self, labels: Any) -> Scores:
        return Scores._of(*_core.free_bound(self._flow, _kinds.labels(labels, "labels"), self._times, self._seed))


class FlowBound:
    """The flow's own likelihood, bounded from below by importance sampling along the path. ``log_mean`` averages draws
    by log-mean-exp, which is tighter and needs the exact trace.

    >>> import segre
    >>> oracle = segre.Oracle("coupled")
    >>> scores = segre.train.FlowBound(oracle, draws=4)(oracle.labelings[:2])
    >>> scores.shape
    (2,)
    """

    def __init__(self, model: HasFlow, *, draws: int = 4, log_mean: bool = False, seed: int = 1) -> None:
        self._flow, self._draws, self._log_mean, self._seed = _flow_of(model), draws, log_mean, seed

    def __call__(self, labels: Any) -> Scores:
        return Scores._of(*_core.flow_bound(self._flow, _kinds.labels(labels, "labels"), self._draws, self._seed, self._log_mean))
