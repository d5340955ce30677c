"""The parts of a model, and training step by step."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import total_variation, total_variation_floor

import segre
from segre.train import FlowBound, FreeBound, Sampler, Trainer

P = np.array([[0.45, 0.05], [0.05, 0.45]])  # of the source "coupled"
OPTIONS = {"batch": 256, "lr": 0.01}


def make_model(kind: str = "mlp", seed: int = 1, **options):
    space = segre.Space.table({"y1": 2, "y2": 2})
    options = {"hidden": [32]} if kind == "mlp" and not options else options
    return segre.nn.Model(space, segre.Field(space, kind, seed=seed, **options))


def make_trainer(model, steps: int, **options):
    return Trainer(model, segre.Oracle(P).sample(4000), steps=steps, **{**OPTIONS, **options})


def test_spaces():
    space = segre.Space.table({"sky": ["sun", "rain", "fog"], "wet": 2})
    assert space.layout == "table" and space.names == ["sky", "wet"]
    assert space.label_names(0) == ["sun", "rain", "fog"] and space.label_names(1) == ["0", "1"]
    assert [space.n_labels(0), space.offset(1), space.n_coordinates, space.n_variables] == [3, 3, 5, 2]
    assert segre.Space.sequence(7, 4).n_coordinates == 28
    assert segre.Space.image(3, 5, 2).shape == [3, 5]


def test_the_path_and_its_slopes():
    path = segre.nn.Path()
    for t in (0.1, 0.5):
        a, s, da, ds = path.at(t)
        assert (a, s) == pytest.approx((t, 1 - t))  # e-geodesic
        h = 1e-6
        assert da == pytest.approx((path.at(t + h)[0] - path.at(t - h)[0]) / (2 * h))
        assert ds == pytest.approx((path.at(t + h)[1] - path.at(t - h)[1]) / (2 * h))
        assert path.time_at(a / s) == pytest.approx(t)
    space = segre.Space.table({"y1": 2, "y2": 2})
    few, many = path.decision_time(space), path.decision_time(segre.Space.image(32, 32, 2))
    assert 0 < few < many < 1  # more labels to misread take longer
    assert segre.nn.Path("ray", rate=2.0).at(3.0)[0] == pytest.approx(6.0)


def test_fields():
    space = segre.Space.table({"sky": 3, "wet": 2})
    W = np.random.default_rng(1).normal(size=(4, 5)).astype(np.float32)
    field = segre.Field(space, "mlp", hidden=[8], seed=3)
    assert field.n_parameters == sum(values.size for values in field.parameters.values())
    assert field(W, 0.3).shape == (4, 5)
    assert np.array_equal(field(W, 0.3), field(W, np.full(4, 0.3, np.float32)))
    assert np.array_equal(field(W, 0.3), segre.Field(space, "mlp", hidden=[8], seed=3)(W, 0.3))
    first, second = (next(iter(segre.Field(space, "mlp", seed=s).parameters.values())) for s in (1, 2))
    assert not np.array_equal(first, second)


def test_parameters_are_views():
    """A change of one is a change of the network, also after the field is gone."""
    space = segre.Space.table({"sky": 3, "wet": 2})
    field = segre.Field(space, "mlp", hidden=[8])
    W = np.ones((1, 5), np.float32)
    before = field(W, 0.5)
    for values in field.parameters.values():
        values += 1
    assert not np.array_equal(field(W, 0.5), before)
    kept = list(field.parameters.values())[0]
    del field
    assert np.isfinite(kept).all()


@pytest.mark.parametrize("form", ["velocity", "endpoint", "evidence"])
def test_velocity_and_endpoint_belong_together(form):
    """F = alpha D + (s'/s) v with alpha = a' - a s'/s, in float32."""
    space = segre.Space.table({"sky": 3, "wet": 2})
    model = segre.nn.Model(space, segre.Field(space, "mlp", hidden=[8]), form=form)
    v = np.random.default_rng(2).normal(size=(6, 5)).astype(np.float32)
    v[:, :3] -= v[:, :3].mean(axis=1, keepdims=True)
    v[:, 3:] -= v[:, 3:].mean(axis=1, keepdims=True)
    for t in (0.1, 0.4):
        a, s, da, ds = segre.nn.Path().at(t)
        expected = (da - a * ds / s) * model.endpoint(v, t) + ds / s * v
        assert np.allclose(model.velocity(v, t), expected, atol=1e-4)
        assert np.array_equal(model.velocity(v, t), model.velocity(v, np.full(6, t, np.float32)))


@pytest.mark.parametrize(("kind", "options", "lr"), [("mlp", {}, 0.01), ("latent_class", {"classes": 4}, 0.06)])
def test_training_learns_a_coupled_pair(kind, options, lr):
    """From the total variation 0.4 of independent labels to that of exact samples, and 0.03 for so short a training."""
    model = make_model(kind, **options)
    trainer = make_trainer(model, 400, lr=lr)
    losses = trainer.step(400)
    trainer.use_average()
    assert len(losses) == 400 and np.mean(losses[-50:]) < np.mean(losses[:20])
    drawn = Sampler(model, steps=20).draw(0, 10000)
    assert total_variation(drawn, P) < 2 * total_variation_floor(P, 10000) + 0.03
    labelings = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    for bound in (FreeBound(model, times=1024), FlowBound(model, draws=16)):
        scores = bound(labelings)
        # The rare labels have p = 0.05: an error of 0.01 there is 0.2 nats.
        assert np.allclose(scores, np.log(P.ravel()), atol=0.25 + 4 * scores.std_error.max())


def test_a_step_depends_on_its_number_and_the_state():
    """One by one, all at once, or resumed in another trainer: the same bits."""
    whole = make_trainer(make_model(), 30)
    losses = whole.step(30)
    parts = make_trainer(make_model(), 30)
    assert [*parts.step(), *parts.step(9), *parts.step(0)] == losses[:10]
    state = parts.state()
    parts.step(5)  # the state is a copy, not a view
    resumed = make_trainer(make_model(seed=7), 30)
    resumed.load(state)
    assert resumed.n_steps == 10 and resumed.total == 30
    assert resumed.step(20) == losses[10:]
    for name, values in whole.state().items():
        assert np.array_equal(resumed.state()[name], values), name


def test_the_seed_of_training_matters():
    assert make_trainer(make_model(), 5).step(5) == make_trainer(make_model(), 5, seed=1).step(5)
    assert make_trainer(make_model(), 5).step(5) != make_trainer(make_model(), 5, seed=2).step(5)


def test_the_averaged_weights():
    model = make_model()
    trainer = make_trainer(model, 20, ema=0.9)
    trainer.step(20)
    last = {name: values.copy() for name, values in model.field.parameters.items()}
    trainer.use_average()
    assert any(not np.array_equal(values, last[name]) for name, values in model.field.parameters.items())


def test_data_of_a_trainer():
    """A mapping, an array of label numbers with -1 for unknown ones, or a source."""
    for data in ({"y1": [0, 1, 1], "y2": [0, 1, None]}, np.array([[0, 0], [1, -1]]), "coupled"):
        assert np.isfinite(Trainer(make_model(), data, steps=3, batch=8).step(3)).all()


def test_trajectories():
    oracle = segre.Oracle(P)
    sampler = Sampler(oracle, steps=8, seed=4)
    states = sampler.trajectories(50)
    assert states.shape == (9, 50, 4) and len(sampler.times) == 9
    assert sampler.times[0] == 0 and np.all(np.diff(sampler.times) > 0)
    # From noise to labels: the last states decide what is drawn.
    drawn = sampler.draw(0, 50)
    assert np.array_equal(np.stack([states[-1][:, :2].argmax(axis=1), states[-1][:, 2:].argmax(axis=1)], 1), drawn)


def test_trained_models_have_flows(coupled_model):
    drawn = Sampler(coupled_model, steps=20).draw(0, 4000)
    assert total_variation(drawn, P) < 2 * total_variation_floor(P, 4000) + 0.03
    labels = coupled_model.sample(20, seed=6, steps=20).astype(str).astype(int).to_numpy()
    assert np.array_equal(Sampler(coupled_model, seed=6, steps=20).draw(0, 20), labels)
