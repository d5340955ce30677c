"""Exact distributions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _core, _kinds
from .nn import Path, Space


class Oracle:
    """The exact flow of a known joint distribution, in closed form and float64: what every approximation is tested
    against.

    joint: probabilities, or weights that are divided by their sum, as an array with an axis per variable,
        ``p[i, j, ...]``; a table with a column ``p``; or a source whose distribution is known, such as ``"coupled"`` or ``"joint:FILE.csv"``.

    >>> import segre
    >>> oracle = segre.Oracle([[0.4, 0.1], [0.1, 0.4]])
    >>> [round(float(p), 6) for p in oracle.conditional({"x1": 0}).p]
    [0.8, 0.2]
    """

    def __init__(self, joint: Any, *, path: Path | None = None) -> None:
        self._given = path or Path()
        self._path = self._given._path
        self._oracle = self._make(joint)

    def _make(self, joint: Any) -> _core.JointOracle:
        if isinstance(joint, _core.JointOracle):
            return joint
        if isinstance(joint, str):
            return _core.oracle_of_source(_core.open_source(joint)[0], self._path)
        if _kinds.is_table(joint):
            return self._of_table(joint)
        p = np.asarray(joint, np.float64)
        if p.ndim == 0:
            raise ValueError("Oracle: an array with an axis per variable was expected, found a number")
        labelings = np.indices(p.shape).reshape(p.ndim, -1).T
        space = Space.table({f"x{i + 1}": size for i, size in enumerate(p.shape)})
        return _core.oracle_of_table(space, np.ascontiguousarray(labelings), p.ravel(), self._path)

    def _of_table(self, joint: Any) -> _core.JointOracle:
        if "p" not in joint:
            raise ValueError(f"Oracle: a column p was expected, found {', '.join(map(str, joint))}")
        columns = {str(name): [str(v) for v in joint[name]] for name in joint if name != "p"}
        labels = {name: sorted(set(values), key=_order) for name, values in columns.items()}
        numbers = [[labels[name].index(v) for v in values] for name, values in columns.items()]
        weights = np.asarray(joint["p"], np.float64)
        return _core.oracle_of_table(Space.table(labels), np.array(numbers, np.int64).T.copy(), weights, self._path)

    @property
    def space(self) -> _core.Space:
        """The variables and their labels."""
        return self._oracle.space

    @property
    def labelings(self) -> Any:
        """The labelings that can occur: [R, n]."""
        return self._oracle.labelings

    @property
    def p(self) -> Any:
        """Their probabilities: [R]."""
        return self._oracle.p

    def log_prob(self, labels: Any) -> Any:
        """Exact log p of labels [N, n]; -inf for those that cannot occur."""
        return self._oracle.log_p(_kinds.labels(labels, "labels"))

    def conditional(self, given: Mapping[str, Any]) -> Oracle:
        """The distribution given some labels, by their names or numbers: ``{"x1": 0}``."""
        known = np.full((1, self.space.n_variables), -1, np.int64)
        names = self.space.names
        for name, label in given.items():
            if name not in names:
                raise ValueError(f"conditional: there is no variable {name!r}; there are {', '.join(names)}")
            variable = names.index(name)
            labels = self.space.label_names(variable)
            if str(label) not in labels:
                raise ValueError(f"conditional: {name} has no label {label!r}; it has {', '.join(labels)}")
            known[0, variable] = labels.index(str(label))
        return Oracle(self._oracle.conditional(known), path=self._given)

    def marginals(self) -> dict[str, Any]:
        """The probabilities of each variable's labels."""
        return {
            name: np.bincount(self.labelings[:, i], weights=self.p, minlength=self.space.n_labels(i))
            for i, name in enumerate(self.space.names)
        }

    def sample(self, count: int, seed: int = 1) -> Any:
        """Exact samples: labels [count, n]."""
        return self._oracle.sample(_kinds.whole(count, "count"), _kinds.whole(seed, "seed"))

    def log_density(self, v: Any, t: float) -> Any:
        """log of the path's density at v [B, S] and time t: [B]."""
        return self._oracle.log_density(*self._at(v, t))

    def posterior_marginals(self, v: Any, t: float) -> Any:
        """P(label | v): [B, S]."""
        return self._oracle.posterior_marginals(*self._at(v, t))

    def endpoint(self, v: Any, t: float) -> Any:
        """D, the mean endpoint given v: [B, S]."""
        return self._oracle.endpoint(*self._at(v, t))

    def velocity(self, v: Any, t: float) -> Any:
        """F, the velocity of the exact flow: [B, S]."""
        return self._oracle.velocity(*self._at(v, t))

    def divergence(self, v: Any, t: float) -> Any:
        """div F: [B]."""
        return self._oracle.divergence(*self._at(v, t))

    def _at(self, v: Any, t: float) -> tuple[Any, float]:
        """A checked state and time."""
        state = _kinds.numbers(v)
        size = self.space.n_coordinates
        if state.ndim != 2 or state.shape[1] != size:
            raise ValueError(f"v: has shape {list(state.shape)}, [states, {size}] was expected")
        if not 0 <= t <= self._path.t_end:
            raise ValueError(f"t = {t}: a time from 0 to {self._path.t_end} was expected")
        return state, t

    def __repr__(self) -> str:
        return f"Oracle({self.space}, {len(self.p)} labelings)"

    def _flow(self) -> _core.Flow:
        return _core.flow_of(self._oracle)


def _order(text: str) -> tuple[int, int, str]:
    """Integers by value, before other texts."""
    return (0, int(text), "") if text.lstrip("-").isdigit() else (1, 0, text)
