"""log p: bounds never promise too much, agree with each other, with sampling, and with their own errors."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from conftest import COUPLED, quick

LABELINGS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])  # all of the source "coupled"
ORDER = {"bound": "order", "order": "left-to-right"}  # exact, and quick
ROUNDING = 1e-5  # of a network in float32


def flow_log_p(model, labels):
    """log p of the flow: many draws, averaged as probabilities, miss it by little."""
    return model.log_prob(labels, bound="path", evaluations=64, log_mean=True)


@pytest.mark.parametrize("bound", ["free", "path", "order"])
def test_probabilities_of_all_labelings_add_up_to_at_most_one(coupled_model, bound):
    scores = coupled_model.log_prob(LABELINGS, bound=bound, evaluations=64)
    p = np.exp(scores)
    # The exponential of a noisy number is too large on average by half its variance; 4 standard errors on top.
    bias = 0.5 * (p * scores.std_error**2).sum()
    assert p.sum() <= 1 + bias + 4 * np.sqrt(((p * scores.std_error) ** 2).sum())
    assert p.sum() > 0.9  # a bound that is not loose either, for so small a problem


def test_filling_in_one_after_another_is_a_distribution(coupled_model):
    for order in ("left-to-right", "random"):
        scores = coupled_model.log_prob(LABELINGS, bound="order", order=order)
        assert abs(np.exp(scores).sum() - 1) < ROUNDING
        assert np.all(scores.std_error == 0)


def test_scores_are_those_of_the_learned_distribution(coupled_model, coupled):
    """Training on unlimited data is good to a few percent: 0.1 nats for the rare labels, whose p is 0.05."""
    exact = coupled.log_prob(LABELINGS)
    for options in (ORDER, {"bound": "free", "evaluations": 4096}, {"bound": "path", "evaluations": 16}):
        found = coupled_model.log_prob(LABELINGS, **options)
        assert np.allclose(found, exact, atol=0.1 + 4 * found.std_error.max())


def test_bounds_lie_below_the_likelihood(coupled_model):
    """The plain average of draws bounds the logarithm of their average."""
    bound = coupled_model.log_prob(LABELINGS, bound="path", evaluations=64)
    assert np.all(bound <= flow_log_p(coupled_model, LABELINGS) + 4 * bound.std_error)


def test_likelihood_agrees_with_the_frequencies_of_samples(coupled_model):
    """The samples come from the flow whose likelihood `path` computes: two independent computations. 5 standard
    deviations, and 0.002 for the steps of the sampler."""
    count = 20000
    drawn = coupled_model.sample(count, steps=20).astype(str).astype(int).to_numpy()
    frequencies = np.bincount(2 * drawn[:, 0] + drawn[:, 1], minlength=4) / count
    p = np.exp(flow_log_p(coupled_model, LABELINGS))
    assert np.all(np.abs(frequencies - p) < 5 * np.sqrt(p * (1 - p) / count) + 0.002)


def test_the_direct_estimate_agrees_with_the_flow(coupled_model):
    direct = coupled_model.log_prob(LABELINGS, bound="direct", evaluations=4000)
    assert np.all(np.abs(direct - flow_log_p(coupled_model, LABELINGS)) < 5 * direct.std_error + 0.01)


def test_the_bound_of_the_paper_is_a_bound(coupled_model):
    ball = coupled_model.log_prob(LABELINGS, bound="ball", evaluations=4)
    assert np.all(ball < 0) and np.all(ball <= flow_log_p(coupled_model, LABELINGS) + 4 * ball.std_error)


def test_in_expectation_no_score_is_above_zero(coupled_model):
    """Of a certain label too: given the other, over many seeds."""
    scores = np.array([coupled_model.log_prob(LABELINGS, evaluations=4, seed=seed) for seed in range(1, 65)])
    assert np.all(scores.mean(axis=0) <= 4 * scores.std(axis=0) / np.sqrt(len(scores)))


@pytest.mark.parametrize(("bound", "evaluations", "seeds"), [("free", 16, 64), ("order", 16, 64), ("path", 2, 6)])
def test_standard_errors_are_honest(coupled_model, bound, evaluations, seeds):
    """The scatter over seeds is what the errors say, up to a factor 2 or 3: they are estimated from a few draws each.
    Those of `path` also count the integration, which is the same for all seeds, so they may be larger."""
    scores = [
        coupled_model.log_prob(LABELINGS, bound=bound, evaluations=evaluations, seed=seed)
        for seed in range(1, seeds + 1)
    ]
    scatter = np.std(scores, axis=0, ddof=1)
    stated = np.sqrt(np.mean([s.std_error**2 for s in scores], axis=0))
    assert np.all(scatter < 2 * stated + ROUNDING)
    assert bound == "path" or np.all(stated < 3 * scatter + ROUNDING)


def test_evaluations_are_added_until_the_error_is_reached(coupled_model):
    for goal in (0.1, 0.02):
        scores = coupled_model.log_prob(LABELINGS, error=goal)
        assert np.sqrt((scores.std_error**2).sum()) / len(scores) <= goal
        each = coupled_model.log_prob(LABELINGS, error=goal, each=True)
        assert np.sqrt((each.std_error**2).mean()) <= goal
    share = coupled_model.log_prob(LABELINGS, error="1%")
    assert np.sqrt((share.std_error**2).sum()) / len(share) <= 0.01 * -share.mean()


def test_a_number_of_evaluations(coupled_model):
    few, many = (coupled_model.log_prob(LABELINGS, evaluations=count) for count in (16, 1024))
    assert "16 evaluations" in few.method and "1024 evaluations" in many.method
    assert many.std_error.mean() < few.std_error.mean() / 4  # 8 times less by chance alone, less with strata
    # As the most, if an error is asked for as well.
    assert "32 evaluations" in coupled_model.log_prob(LABELINGS, error=1e-5, evaluations=32).method


def test_a_score_depends_on_the_item_and_the_seed_alone(weather_model, weather):
    order = np.random.default_rng(1).permutation(len(weather))
    scores = weather_model.log_prob(weather, evaluations=8)
    assert np.array_equal(weather_model.log_prob(weather.iloc[order], evaluations=8), np.asarray(scores)[order])
    assert np.array_equal(weather_model.log_prob(weather[5:6], evaluations=8), np.asarray(scores)[5:6])
    assert not np.array_equal(weather_model.log_prob(weather, evaluations=8, seed=2), scores)


@pytest.mark.parametrize("options", [{"bound": "free", "evaluations": 16}, {"bound": "order"}, ORDER])
def test_cells_add_up(weather_model, weather, options):
    """To -log p, up to rounding in float64."""
    scores = weather_model.log_prob(weather, cells=True, **options)
    assert list(scores.cells.columns) == list(weather) and scores.cells.index.equals(weather.index)
    assert np.allclose(scores.cells.sum(axis=1), -scores, rtol=1e-9, atol=1e-9)


def test_cells_of_images(image_model, images):
    scores = image_model.log_prob(images[:3], evaluations=8, cells=True)
    assert scores.cells.shape == (3, 8, 8)
    assert np.allclose(scores.cells.sum(axis=(1, 2)), -scores, rtol=1e-9, atol=1e-9)


def test_given_columns_obey_the_chain_rule(coupled_model):
    """log p(x1, x2) = log p(x1) + log p(x2 | x1), where -1 leaves a variable out; exact for filling in that order."""
    joint = coupled_model.log_prob(LABELINGS, **ORDER)
    first = coupled_model.log_prob(np.where([[False, True]], -1, LABELINGS), **ORDER)
    rest = coupled_model.log_prob(LABELINGS, given=["y1"], **ORDER)
    assert np.allclose(joint, first + rest, atol=ROUNDING)
    assert abs(np.exp(rest[:2]).sum() - 1) < ROUNDING  # a distribution of x2, for x1 = 0


def test_given_columns_by_other_bounds(coupled_model):
    exact = coupled_model.log_prob(LABELINGS, given="y1", **ORDER)
    free = coupled_model.log_prob(LABELINGS, given="y1", evaluations=2048)
    path = coupled_model.log_prob(LABELINGS, given="y1", bound="path", evaluations=16)
    # Each is the likelihood of another sampler of the same model, so they differ a little more than by chance.
    assert np.allclose(free, exact, atol=0.05 + 4 * free.std_error.max())
    assert np.allclose(path, exact, atol=0.05 + 4 * path.std_error.max())


def test_halves_of_images_and_positions(image_model, images, sequence_model, sequences):
    upper = image_model.log_prob(images[:2], given="upper", evaluations=8, cells=True)
    assert np.all(np.asarray(upper.cells)[:, :4] == 0) and np.any(np.asarray(upper.cells)[:, 4:] != 0)
    part = sequence_model.log_prob(sequences[:5], given="1,3-4", evaluations=8, cells=True)
    assert np.array_equal(np.any(part.cells != 0, axis=0), [False, True, False, False, True, True])


def test_missing_values_as_labels_or_left_out(weather_model, weather):
    """What is missing is a label that training had, so it counts; missing="unknown" leaves it out."""
    holes = weather[weather["town"].isna() & weather["temp"].notna() & weather["day"].notna()]
    counted = weather_model.log_prob(holes, cells=True, missing="label")
    left_out = weather_model.log_prob(holes, cells=True, missing="unknown")
    assert np.all(counted.cells["town"] > 0)
    assert np.all(left_out.cells["town"] == 0)


def test_items_by_their_numbers(coupled_model):
    """An array of label numbers stands for a table, one column per variable."""
    named = {"y1": LABELINGS[:, 0].astype(str), "y2": LABELINGS[:, 1].astype(str)}
    for table in (named, pd.DataFrame(named), {name: values.astype(int) for name, values in named.items()}):
        assert np.array_equal(coupled_model.log_prob(table), coupled_model.log_prob(LABELINGS))


def test_unseen_labels_may_be_skipped(weather_model, weather):
    known = weather[weather.notna().all(axis=1)][:10]
    strange = known.assign(town=["Paris", *known["town"][1:]])
    assert np.array_equal(weather_model.log_prob(strange, unseen="skip", evaluations=8),
                          weather_model.log_prob(known[1:], evaluations=8))  # fmt: skip


def test_scores_are_arrays(coupled_model):
    scores = coupled_model.log_prob(LABELINGS, evaluations=16)
    assert isinstance(scores, np.ndarray) and scores.dtype == np.float64
    assert type(scores.mean()) is np.float64 and type(scores.sum()) is np.float64
    assert float(scores[0]) == np.asarray(scores)[0]


def test_parts_of_scores_have_their_own_errors(coupled_model):
    scores = coupled_model.log_prob(LABELINGS, evaluations=16, cells=True)
    for part in (slice(1, 3), np.array([3, 0]), np.argsort(scores), scores < -2):
        part = part if isinstance(part, slice) else np.asarray(part)
        assert np.array_equal(scores[part].std_error, scores.std_error[part])
        assert len(scores[part].cells) == len(scores[part])


def test_what_is_computed_from_scores_is_plain(coupled_model):
    """Or its errors are those of the scores that it holds, in the same order."""
    scores = coupled_model.log_prob(LABELINGS, evaluations=16, cells=True)
    assert type(-scores) is type(scores < -1) is type(np.exp(scores)) is np.ndarray
    assert scores[:, None].shape == (4, 1)
    for found in (np.sort(scores), scores.reshape(2, 2), np.flip(scores), np.concatenate([scores, scores])):
        if hasattr(found, "std_error"):
            place = [list(np.asarray(scores)).index(value) for value in np.asarray(found).ravel()]
            assert np.array_equal(np.ravel(found.std_error), scores.std_error[place])


def test_scores_are_copied_with_their_errors(coupled_model):
    scores = coupled_model.log_prob(LABELINGS, evaluations=16)
    for again in (copy.copy(scores), copy.deepcopy(scores), pickle.loads(pickle.dumps(scores)), scores.copy()):
        assert np.array_equal(again, scores) and np.array_equal(again.std_error, scores.std_error)


def test_more_training_is_better(coupled):
    """Measured by the exact distribution: the mean score of its samples is minus the cross entropy."""
    short = quick("coupled", {**COUPLED, "train.steps": 3}).log_prob(LABELINGS, **ORDER)
    long = quick("coupled", COUPLED).log_prob(LABELINGS, **ORDER)
    entropy = -(coupled.p * np.log(coupled.p)).sum()
    assert entropy - 1e-3 < -(coupled.p * long).sum() < -(coupled.p * short).sum()
    assert -(coupled.p * long).sum() < entropy + 0.02
