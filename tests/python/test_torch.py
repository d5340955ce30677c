"""Networks and tensors of Python's torch."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from conftest import (
    TINY, assert_one_line, import_torch, python, quick, tensors, total_variation, total_variation_floor,
)  # fmt: skip

import segre
from segre.train import FlowBound, FreeBound, Sampler, Trainer

P = np.array([[0.45, 0.05], [0.05, 0.45]])  # of the source "coupled"
LABELINGS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
CONFIG = {"train.steps": 300, "train.batch": 256, "train.lr": 0.01}


@pytest.fixture(scope="module")
def torch():
    return import_torch()


@pytest.fixture(scope="module")
def make_net(torch):
    class Net(torch.nn.Module):
        def __init__(self, n_coordinates: int) -> None:
            super().__init__()
            self.first = torch.nn.Linear(n_coordinates + 1, 32)
            self.second = torch.nn.Linear(32, n_coordinates)

        def forward(self, W, t):
            return self.second(torch.nn.functional.silu(self.first(torch.cat([W, t[:, None]], 1))))

    def make(n_coordinates: int = 4, seed: int = 0):
        torch.manual_seed(seed)
        return Net(n_coordinates)

    return make


@pytest.fixture(scope="module")
def trained(torch, make_net):
    return quick("coupled", CONFIG, field=segre.Field.from_torch(make_net()))


def check_coupled(draw, scores) -> None:
    """Samples and scores are those of the source: 0.04 in total variation and 0.4 nats for so short a training."""
    assert total_variation(draw(10000), P) < 2 * total_variation_floor(P, 10000) + 0.04
    for found in scores:
        assert np.allclose(found, np.log(P.ravel()), atol=0.4 + 4 * found.std_error.max())


def test_a_module_is_a_field(torch, make_net):
    net = make_net()
    field = segre.Field.from_torch(net, "mine")
    assert field.module is net
    assert field.n_parameters == sum(p.numel() for p in net.parameters())
    assert list(field.parameters) == [name for name, _ in net.named_parameters()]
    W = torch.randn(3, 4)
    expected = net(W, torch.full((3,), 0.25)).detach().numpy()
    assert np.array_equal(field(W.numpy(), 0.25), expected)
    assert np.array_equal(np.asarray(field(W, 0.25)), expected)


def test_a_trainer_trains_the_module_itself(torch, make_net):
    net = make_net()
    before = [p.detach().clone() for p in net.parameters()]
    space = segre.Space.table({"y1": 2, "y2": 2})
    model = segre.nn.Model(space, segre.Field.from_torch(net))
    trainer = Trainer(model, "coupled", steps=300, batch=256, lr=0.01)
    losses = trainer.step(300)
    trainer.use_average()
    assert np.mean(losses[-50:]) < np.mean(losses[:20])
    assert all(not torch.equal(p, q) for p, q in zip(net.parameters(), before))
    check_coupled(lambda count: Sampler(model, steps=20).draw(0, count),
                  [FreeBound(model, times=1024)(LABELINGS), FlowBound(model, draws=8)(LABELINGS)])  # fmt: skip


def test_fit_trains_a_copy(torch, make_net, trained):
    net = make_net()
    before = [p.detach().clone() for p in net.parameters()]
    model = quick("coupled", CONFIG, field=segre.Field.from_torch(net))
    assert all(torch.equal(p, q) for p, q in zip(net.parameters(), before))
    assert tensors(model) == tensors(trained)  # the same weights to start from give the same bits
    assert "Net" in repr(model)


def test_its_samples_and_scores(trained):
    check_coupled(
        lambda count: trained.sample(count, steps=20).astype(str).astype(int).to_numpy(),
        [
            trained.log_prob(LABELINGS, evaluations=1024),
            trained.log_prob(LABELINGS, bound="path", evaluations=8),
            trained.log_prob(LABELINGS, bound="path", evaluations=8, log_mean=True),
        ],
    )
    assert trained.complete({"y1": ["0", None], "y2": [None, "1"]}).shape == (2, 2)


def test_derivatives_agree_with_differences(torch, make_net, trained):
    """The bound `path` differentiates the module; the traces of other kinds of draws must agree on log p."""
    exact = trained.log_prob(LABELINGS, bound="path", evaluations=32, log_mean=True)
    frequencies = trained.sample(10000, steps=20).astype(str).astype(int).to_numpy() @ [2, 1]
    p = np.exp(exact)
    shares = np.bincount(frequencies, minlength=4) / 10000
    assert np.all(np.abs(shares - p) < 5 * np.sqrt(p * (1 - p) / 10000) + 0.003)


def test_save_and_load(torch, make_net, trained, tmp_path):
    trained.save(tmp_path / "run")
    again = segre.load(tmp_path / "run", field=segre.Field.from_torch(make_net(seed=9)))
    assert np.array_equal(again.log_prob(LABELINGS), trained.log_prob(LABELINGS))
    with pytest.raises(ValueError) as error:
        segre.load(tmp_path / "run")
    assert_one_line(error.value, "Net", "field=")


def test_going_on_with_a_run(torch, make_net, trained, tmp_path):
    trained.save(tmp_path / "run")
    field = segre.Field.from_torch(make_net(seed=9))
    model = quick("coupled", {"train.steps": 320}, field=field, out=tmp_path / "run", resume=True)
    assert segre.load(model.path, field=field, checkpoint="last").step == 320


def test_buffers_and_modes(torch):
    """Buffers are kept with the weights; a module knows whether it is being trained."""

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weights = torch.nn.Parameter(torch.zeros(4, 4))
            self.register_buffer("scale", torch.full((4,), 0.5))
            self.seen = set()

        def forward(self, W, t):
            self.seen.add((self.training, W.dtype, t.shape == (len(W),)))
            return (W @ self.weights) * self.scale

    net = Net()
    space = segre.Space.table({"y1": 2, "y2": 2})
    model = segre.nn.Model(space, segre.Field.from_torch(net))
    Trainer(model, "coupled", steps=2, batch=8).step(2)
    Sampler(model, steps=2).draw(0, 3)
    assert {mode for mode, _, _ in net.seen} == {True, False}
    assert all(dtype == torch.float32 and fits for _, dtype, fits in net.seen)


def test_tensors_in_tensors_out(torch, sequences, sequence_model):
    items = torch.from_numpy(sequences)
    model = quick(items)
    assert tensors(model) == tensors(sequence_model)
    drawn = model.sample(5)
    assert isinstance(drawn, torch.Tensor) and drawn.device == items.device
    assert np.array_equal(drawn.numpy(), sequence_model.sample(5))
    scores = model.log_prob(items, cells=True)
    assert isinstance(scores, torch.Tensor) and scores.dtype == torch.float64 and scores.device == items.device
    assert np.array_equal(scores.numpy(), sequence_model.log_prob(sequences, cells=True))
    assert isinstance(scores.std_error, torch.Tensor) and scores.std_error.shape == scores.shape
    holes = torch.where(items == 2, -1, items)
    filled = model.complete(holes, draws=2)
    assert isinstance(filled, torch.Tensor) and filled.shape == (80, 2, 6)
    assert np.array_equal(filled.numpy(), sequence_model.complete(holes.numpy(), draws=2))
    assert isinstance(model.predict(holes), torch.Tensor)


def test_arrays_of_numpy_stay_arrays(torch, sequence_model, sequences):
    """Once torch is imported, too."""
    assert isinstance(sequence_model.sample(3), np.ndarray)
    assert isinstance(sequence_model.log_prob(sequences), np.ndarray)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64", "bool"])
def test_tensors_of_all_integers(torch, sequence_model, sequences, dtype):
    items = torch.from_numpy(np.minimum(sequences, 1))
    found = sequence_model.log_prob(items.to(getattr(torch, dtype)))
    assert torch.equal(found, sequence_model.log_prob(items))


def test_views_of_tensors(torch, sequence_model, sequences):
    items = torch.from_numpy(sequences)
    expected = sequence_model.log_prob(items)
    assert torch.equal(sequence_model.log_prob(items.t().contiguous().t()), expected)
    assert torch.equal(sequence_model.log_prob(torch.repeat_interleave(items, 2, 0)[::2]), expected)
    assert torch.equal(sequence_model.log_prob(items.clone().requires_grad_(False)), expected)


def test_a_module_that_is_none(torch):
    with pytest.raises(ValueError) as error:
        segre.Field.from_torch(lambda W, t: W)
    assert_one_line(error.value, "torch.nn.Module", "function")


@pytest.mark.parametrize("mistake", ["shape", "type", "raises"])
def test_modules_with_mistakes(torch, make_net, mistake):
    """What goes wrong in a module reaches the user; the process goes on."""

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weights = torch.nn.Parameter(torch.zeros(4, 4))

        def forward(self, W, t):
            if mistake == "raises":
                raise ArithmeticError("a mistake of mine")
            return (W @ self.weights)[:, :3] if mistake == "shape" else [W, t]

    with pytest.raises((ValueError, RuntimeError, ArithmeticError)) as error:
        quick("coupled", CONFIG, field=segre.Field.from_torch(Net()))
    words = {"raises": ["a mistake of mine"], "type": ["tensor"], "shape": ["network", "[256, 3]", "[256, 4]"]}[mistake]
    assert_one_line(error.value, *words)
    if mistake == "raises":
        assert isinstance(error.value, ArithmeticError)
    assert quick("coupled", {**CONFIG, "train.steps": 2}, field=segre.Field.from_torch(make_net())).step == 2


def test_double_precision_is_refused(torch, make_net):
    with pytest.raises(ValueError) as error:
        segre.Field.from_torch(make_net().double())
    assert_one_line(error.value, "first.weight", "float32")


@pytest.mark.parametrize("first", ["torch", "segre"])
def test_either_may_be_imported_first(torch, first):
    """In one process, with one LibTorch, and without a word at the end: also when everything is a global variable."""
    code = f"""
import {first}
import torch, segre
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
    def forward(self, W, t):
        return self.layer(W)
net = Net()
field = segre.Field.from_torch(net)
model = segre.nn.Model(segre.Space.table({{"a": 2, "b": 2}}), field)
fitted = segre.fit("coupled", field=field, config={{"train.steps": 2, "train.batch": 8}}, progress=False)
drawn = segre.train.Sampler(model).draw(0, 3)
items = torch.zeros(4, 3, dtype=torch.int64)
tensors = segre.fit(items, config={TINY!r}, progress=False).sample(2)
libraries = {{line.split()[-1] for line in open("/proc/self/maps") if "libtorch_cpu" in line}}
assert len(libraries) == 1, libraries
print("done")
"""
    done = python(code)
    assert done.stdout == "done\n"
    assert done.stderr == ""


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads of Linux")
def test_several_threads_call_a_module(torch, make_net, trained):
    """Rows are split among threads, which take turns in Python: the result does not depend on it."""
    from concurrent.futures import ThreadPoolExecutor

    expected = trained.log_prob(LABELINGS)
    with ThreadPoolExecutor(3) as pool:
        for found in pool.map(lambda _: trained.log_prob(LABELINGS), range(6)):
            assert np.array_equal(found, expected)
