"""The exact flow of a known distribution against sums in NumPy over all labelings.

Given the labels beta, the state is normal around a u_beta with variance s^2 in the tangent space, where the corner
u_beta has kappa (e_beta - 1/c) for each variable with c labels, and kappa = log(1 + c (1 - eps)/eps) for eps = 0.01.
"""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from conftest import total_variation, total_variation_floor

import segre

EPS = 0.01  # of the path: path.eps
P = np.random.default_rng(3).random((2, 3, 2))
P[1, 0, 1] = 0.0  # a labeling that cannot occur
P /= P.sum()
SIZES = P.shape
# The oracle computes in float64: what remains is rounding, in sums of a dozen terms of size 10 or so.
EXACT = {"rtol": 1e-10, "atol": 1e-10}


@pytest.fixture(scope="module")
def oracle():
    return segre.Oracle(P)


def corner(labels) -> np.ndarray:
    return np.concatenate(
        [np.log1p(c * (1 - EPS) / EPS) * (np.eye(c)[label] - 1 / c) for label, c in zip(labels, SIZES)]
    )


LABELINGS = list(itertools.product(*map(range, SIZES)))
CORNERS = np.array([corner(labels) for labels in LABELINGS])
ONE_HOT = np.array([np.concatenate([np.eye(c)[label] for label, c in zip(labels, SIZES)]) for labels in LABELINGS])


def states(count: int = 5) -> np.ndarray:
    """Points of the tangent space: the coordinates of each variable add up to 0."""
    v = 2 * np.random.default_rng(4).normal(size=(count, sum(SIZES)))
    start = 0
    for c in SIZES:
        v[:, start : start + c] -= v[:, start : start + c].mean(axis=1, keepdims=True)
        start += c
    return v


def log_terms(v, t: float) -> np.ndarray:
    """log of p_beta N(v; a u_beta, s^2) for every labeling: [B, R]."""
    a, s, _, _ = segre.nn.Path().at(t)
    dimension = sum(c - 1 for c in SIZES)  # of the tangent space
    squares = ((v[:, None, :] - a * CORNERS) ** 2).sum(axis=2)
    with np.errstate(divide="ignore"):
        return np.log(P.ravel()) - squares / (2 * s * s) - dimension * (np.log(s) + 0.5 * np.log(2 * np.pi))


def posterior(v, t: float) -> np.ndarray:
    terms = np.exp(log_terms(v, t) - log_terms(v, t).max(axis=1, keepdims=True))
    return terms / terms.sum(axis=1, keepdims=True)


TIMES = [0.05, 0.3, 0.5]


@pytest.mark.parametrize("t", TIMES)
def test_density_and_posterior(oracle, t):
    v = states()
    assert np.allclose(oracle.log_density(v, t), np.log(np.exp(log_terms(v, t)).sum(axis=1)), **EXACT)
    assert np.allclose(oracle.posterior_marginals(v, t), posterior(v, t) @ ONE_HOT, **EXACT)
    assert np.allclose(oracle.endpoint(v, t), posterior(v, t) @ CORNERS, **EXACT)


@pytest.mark.parametrize("t", TIMES)
def test_velocity(oracle, t):
    """Labels move with a' u, noise with s' z: the velocity is their mean given v."""
    v = states()
    a, s, da, ds = segre.nn.Path().at(t)
    mean = posterior(v, t) @ CORNERS
    assert np.allclose(oracle.velocity(v, t), da * mean + ds / s * (v - a * mean), **EXACT)


@pytest.mark.parametrize("t", TIMES)
def test_divergence_is_the_trace_of_differences(oracle, t):
    """Over an orthonormal basis of the tangent space. Central differences of step h are off by h^2 times the third
    derivative, here 1e-8 or so, and by rounding, 1e-11."""
    v, h = states(2), 1e-4
    basis = np.linalg.svd(states(40))[2][: sum(c - 1 for c in SIZES)]
    trace = sum(((oracle.velocity(v + h * e, t) - oracle.velocity(v - h * e, t)) / (2 * h)) @ e for e in basis)
    assert np.allclose(oracle.divergence(v, t), trace, rtol=1e-5, atol=1e-5)


def test_continuity_equation(oracle):
    """The density changes as its flow says: d/dt log nu = -div F - F . grad log nu. Differences as above."""
    v, t, h = states(3), 0.3, 1e-5
    change = (oracle.log_density(v, t + h) - oracle.log_density(v, t - h)) / (2 * h)
    flow = oracle.velocity(v, t)
    along = (oracle.log_density(v + h * flow, t) - oracle.log_density(v - h * flow, t)) / (2 * h)
    assert np.allclose(change, -oracle.divergence(v, t) - along, rtol=1e-5, atol=1e-5)


def test_probabilities(oracle):
    assert len(oracle.p) == np.count_nonzero(P)
    assert np.allclose(oracle.p, [P[tuple(labels)] for labels in oracle.labelings], **EXACT)
    with np.errstate(divide="ignore"):
        assert np.allclose(oracle.log_prob(np.array(LABELINGS)), np.log(P.ravel()), **EXACT)


def test_marginals(oracle):
    for axis, (name, found) in enumerate(oracle.marginals().items()):
        assert name == f"x{axis + 1}"
        assert np.allclose(found, P.sum(axis=tuple({0, 1, 2} - {axis})), **EXACT)


def test_conditional(oracle):
    given = oracle.conditional({"x2": 1})
    expected = P[:, 1] / P[:, 1].sum()
    assert np.allclose(given.p, [expected[i, k] for i, _, k in given.labelings], **EXACT)
    assert set(given.labelings[:, 1]) == {1}
    both = given.conditional({"x1": "0"})
    assert np.allclose(both.marginals()["x3"], P[0, 1] / P[0, 1].sum(), **EXACT)


def test_weights_need_not_add_up_to_one():
    assert np.allclose(segre.Oracle(7 * P).p, segre.Oracle(P).p, **EXACT)


def test_tables():
    """A DataFrame and a mapping; labels that are numbers are in their order, 10 after 9."""
    columns = {"sky": ["sun", "rain", "sun"], "count": [10, 9, 9], "p": [1, 1, 2]}
    for table in (columns, pd.DataFrame(columns)):
        oracle = segre.Oracle(table)
        assert oracle.space.names == ["sky", "count"]
        assert oracle.space.label_names(1) == ["9", "10"]
        assert np.allclose(oracle.marginals()["count"], [0.75, 0.25], **EXACT)
        assert np.allclose(oracle.conditional({"count": 9}).marginals()["sky"], [1 / 3, 2 / 3], **EXACT)


def test_exact_samples(oracle):
    """Within 5 standard deviations of each frequency, so a false alarm is rarer than one in 10^5."""
    count = 20000
    drawn = oracle.sample(count, seed=2)
    frequencies = np.bincount(np.ravel_multi_index(drawn.T, SIZES), minlength=P.size) / count
    assert np.all(np.abs(frequencies - P.ravel()) <= 5 * np.sqrt(P.ravel() * (1 - P.ravel()) / count))
    assert np.array_equal(drawn, oracle.sample(count, seed=2))
    assert not np.array_equal(drawn, oracle.sample(count, seed=3))


@pytest.mark.parametrize("options", [{"steps": 20}, {"sampler": "sde", "steps": 100}, {"sampler": "dopri5"}])
def test_its_flow_draws_its_distribution(oracle, options):
    """Of noise that is carried to labels. 5 standard deviations, and 0.005 for the steps of the integration."""
    count = 10000
    drawn = segre.train.Sampler(oracle, seed=5, **options).draw(0, count)
    frequencies = np.bincount(np.ravel_multi_index(drawn.T, SIZES), minlength=P.size) / count
    assert np.all(np.abs(frequencies - P.ravel()) <= 5 * np.sqrt(P.ravel() * (1 - P.ravel()) / count) + 0.005)
    assert total_variation(drawn, P) <= 2 * total_variation_floor(P, count) + 0.005


def test_its_flow_completes_by_its_conditionals(oracle):
    count = 10000
    sampler = segre.train.Sampler(oracle, steps=20)
    known = np.tile([-1, 1, -1], (count, 1))
    drawn = sampler.complete(known)
    expected = P[:, 1] / P[:, 1].sum()
    assert np.all(drawn[:, 1] == 1)
    assert total_variation(drawn[:, [0, 2]], expected) <= 2 * total_variation_floor(expected, count) + 0.005
    # Marginals are averages over a few noisy states; exact for the oracle up to that, about 0.01.
    p = sampler.probabilities(known[:1])[0]
    assert np.allclose(p, np.concatenate([expected.sum(axis=1), [0, 1, 0], expected.sum(axis=0)]), atol=0.02)


def test_sample_k_is_a_function_of_the_seed_and_k(oracle):
    sampler = segre.train.Sampler(oracle, seed=3)
    assert np.array_equal(sampler.draw(0, 50)[20:30], sampler.draw(20, 10))


def test_bounds_are_exact_for_the_exact_flow(oracle):
    """Within 4 standard errors each, for eleven labelings. The states that misread a label, 1e-5 of all, do not matter.
    The likelihood of the flow is an integral along its trajectories, off by what it says as well."""
    exact = np.log(oracle.p)
    free = segre.train.FreeBound(oracle, times=1024)(oracle.labelings)
    assert np.all(np.abs(free - exact) <= 4 * free.std_error)
    assert np.all(free.std_error < 0.2)
    for log_mean in (False, True):
        flow = segre.train.FlowBound(oracle, draws=4, log_mean=log_mean)(oracle.labelings)
        assert np.allclose(flow, exact, atol=2e-3)


def test_bounds_leave_out_what_is_unknown(oracle):
    exact = np.log(P.sum(axis=2))
    labels = np.array([(i, j, -1) for i in range(2) for j in range(3)])
    flow = segre.train.FlowBound(oracle, draws=4)(labels)
    assert np.allclose(flow, exact.ravel(), atol=2e-3)


def test_other_paths():
    """A straight line that never ends has the same labels, and the conditional keeps its path."""
    oracle = segre.Oracle(P, path=segre.nn.Path("ray", rate=0.5))
    drawn = segre.train.Sampler(oracle, steps=40).draw(0, 4000)
    assert total_variation(drawn, P) <= 2 * total_variation_floor(P, 4000) + 0.01
    given = oracle.conditional({"x1": 1})
    other = segre.Oracle(P).conditional({"x1": 1})
    assert not np.allclose(given.velocity(states(), 0.5), other.velocity(states(), 0.5))


def test_sources_with_known_distributions(tmp_path):
    assert np.allclose(segre.Oracle("coupled").p, [0.45, 0.05, 0.05, 0.45])
    (tmp_path / "joint.csv").write_text("a,b,p\nx,0,0.25\ny,1,0.75\n")
    assert np.allclose(segre.Oracle(f"joint:{tmp_path}/joint.csv").p, [0.25, 0.75])
