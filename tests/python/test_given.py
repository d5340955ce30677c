"""Conditions in the user's terms: ranges, sets, slices and intervals."""

import datetime

import numpy as np
import pandas as pd
import pytest
from conftest import TINY, assert_one_line, quick

import segre

COUNT = 300


@pytest.fixture(scope="module")
def visits():
    """Labels, an integer with few values, one with many, a number with two digits, and days."""
    random = np.random.default_rng(3)
    n = 3000
    group = random.choice(["a", "b", "c, d"], n, p=[0.5, 0.3, 0.2])
    return pd.DataFrame(
        {
            "group": group,
            "storeys": random.integers(1, 5, n),
            "age": np.where(group == "a", 20, 40) + random.integers(0, 40, n),
            "cost": np.round(np.exp(random.normal(3, 1, n)), 2),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 300, n), unit="D"),
        }
    )


@pytest.fixture(scope="module")
def model(visits):
    return quick(visits, {**TINY, "train.steps": 80, "train.lr": 0.06})


def drawn(model, **given):
    return model.sample(COUNT, given=given, seed=2)


@pytest.mark.parametrize(
    ("given", "holds"),
    {
        "both ends": ({"age": (30, 50)}, lambda t: t.age.between(30, 50)),
        "no upper end": ({"age": (55, None)}, lambda t: t.age >= 55),
        "no lower end": ({"cost": (None, 8.5)}, lambda t: t.cost <= 8.5),
        "infinite": ({"cost": (100, np.inf)}, lambda t: t.cost >= 100),
        "a slice": ({"age": slice(30, 50)}, lambda t: t.age.between(30, 50)),
        "an open slice": ({"age": slice(None, 30)}, lambda t: t.age <= 30),
        "a range": ({"age": range(30, 32)}, lambda t: t.age.isin([30, 31])),
        "a range with steps": ({"age": range(30, 50, 7)}, lambda t: t.age.isin([30, 37, 44])),
        "an interval": ({"age": pd.Interval(30, 33, closed="right")}, lambda t: t.age.isin([31, 32, 33])),
        "an open interval": ({"age": pd.Interval(30, 33, closed="neither")}, lambda t: t.age.isin([31, 32])),
        "a set of labels": ({"group": {"b", "c, d"}}, lambda t: t.group != "a"),
        "a list of labels": ({"group": ["c, d"]}, lambda t: t.group == "c, d"),
        "an array": ({"storeys": np.array([1, 3])}, lambda t: t.storeys.isin([1, 3])),
        "a series": ({"storeys": pd.Series([2, 4])}, lambda t: t.storeys.isin([2, 4])),
        "few values": ({"storeys": (2, 3)}, lambda t: t.storeys.isin([2, 3])),
        "ranges": ({"age": [(20, 25), (70, None), 50]}, lambda t: (t.age <= 25) | (t.age >= 70) | (t.age == 50)),
        "dates": (
            {"day": (datetime.date(2024, 3, 1), pd.Timestamp("2024-03-09"))},
            lambda t: t.day.between("2024-03-01", "2024-03-09"),
        ),
        "datetime64": ({"day": (np.datetime64("2024-09-01"), None)}, lambda t: t.day >= "2024-09-01"),
        "texts of dates": ({"day": ("2024-03-01", "2024-03-09")}, lambda t: t.day.between("2024-03-01", "2024-03-09")),
        "several": (
            {"age": (30, 50), "group": {"a", "b"}, "storeys": 2},
            lambda t: t.age.between(30, 50) & (t.group != "c, d") & (t.storeys == 2),
        ),
        "a number": ({"age": 37}, lambda t: t.age == 37),
        "a float": ({"age": 37.0}, lambda t: t.age == 37),
        "a number of its own": ({"cost": 12.345}, lambda t: t.cost == 12.345),
    }.values(),
)
def test_samples_satisfy_what_is_given(model, given, holds):
    table = drawn(model, **given)
    assert len(table) == COUNT
    assert holds(table).all()


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("age=30..50", lambda t: t.age.between(30, 50)),
        ("age>60,group=b|c%2C d", lambda t: (t.age > 60) & (t.group != "a")),
        ('group!="c, d"', lambda t: t.group != "c, d"),
        ("day<2024-02-01", lambda t: t.day < "2024-02-01"),
    ],
)
def test_texts_are_those_of_the_command_line(model, text, holds):
    assert holds(model.sample(COUNT, given=text)).all()


def test_samples_are_those_of_the_command_line(model, cli, tmp_path):
    cli(
        tmp_path, "sample", model.path, "--count", 20, "--seed", 4, "--given", "age=30..50,group=a|b", "--out", "s.csv"
    )
    found = model.sample(20, seed=4, given={"age": (30, 50), "group": ["a", "b"]})
    shell = pd.read_csv(tmp_path / "s.csv", parse_dates=["day"])
    pd.testing.assert_frame_equal(found, shell, check_dtype=False)


def test_types_stay(model, visits):
    table = model.sample(5, given={"age": (30, 50), "day": ("2024-03-01", None)})
    assert (table.dtypes == visits.dtypes).all()


def test_log_p_of_a_condition_follows_the_rules_of_probability(model):
    """Of one column sums over its parts, which the marginal's float32 keeps to six digits."""
    parts = [model.log_prob_of({"age": ends}) for ends in ((None, 29), (30, 50), (51, None))]
    assert np.exp(parts).sum() == pytest.approx(1.0, abs=1e-5)
    assert model.log_prob_of("age=30..50") == pytest.approx(parts[1], abs=1e-6)
    ages = [model.log_prob_of({"age": age}) for age in range(30, 51)]
    assert np.exp(ages).sum() == pytest.approx(np.exp(parts[1]), rel=1e-4)
    whole = model.log_prob_of({"age": (30, 50), "group": ["a", "b", "c, d"]})
    assert whole == pytest.approx(parts[1], abs=1e-4)


def test_notes_have_log_p_and_warn(model):
    model.sample(1, given={"age": (31, 49)})
    assert any("log p of the condition age=31..49: " in note for note in model.notes)
    model.sample(1, given={"age": 21, "storeys": 3, "cost": (12, 12.2)})
    assert any("next to nothing like age=21,storeys=3,cost=12..12.2: of its" in note for note in model.notes)
    model.sample(1, given={"age": 170})
    assert any("age = 170 lies outside the range of training, 20 to 79" in note for note in model.notes)


def test_completions_predictions_and_scores_are_given_it(model, visits):
    holes = visits.head(40).assign(age=np.nan)
    done = model.complete(holes, draws=2, given={"age": (33, 47)})
    assert done.age.between(33, 47).all()
    assert model.complete(holes, best=True, given={"age": (33, 47)}).age.between(33, 47).all()
    assert (model.complete(holes, given=["group", "age=33..47"]).age.between(33, 47)).all()
    empty = holes.assign(group=None)
    young, old = (model.predict(empty, "group", given={"age": ends})["a"] for ends in ((20, 30), (65, 79)))
    assert (young > old).all(), "the others are 40 and older"
    inside = visits[visits.age.between(33, 47)].head(20)
    options = {"bound": "order", "order": "left-to-right"}
    scores = model.log_prob(inside, given={"age": (33, 47)}, **options)
    whole = model.log_prob(inside, **options)
    assert np.allclose(np.asarray(scores - whole), -model.log_prob_of({"age": (33, 47)}), atol=1e-4)
    both = pd.concat([inside.head(1), visits[visits.age > 50].head(1)])
    assert model.log_prob(both, given={"age": (33, 47)}, **options)[1] == -np.inf


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"age": (50, 30)}, ["age=50..30", "reversed"]),
        ({"age": (1, 2, 3)}, ["pair"]),
        ({"age": slice(1, 9, 2)}, ["step"]),
        ({"age": []}, ["age", "at least one"]),
        ({"age": (None, None)}, ["a range needs an end"]),
        ({"age": (200, None)}, ["leaves no value", "20 to 79"]),
        ({"group": {"a", "z"}}, ["'z'", "group has the labels a, b"]),
        ({"group": ("a", "b")}, ["ranges are of numbers and dates"]),
        ("age", ["which values"]),
    ],
)
def test_messages_name_what_is_wrong(model, given, words):
    with pytest.raises(ValueError) as caught:
        model.sample(1, given=given)
    assert_one_line(caught.value, *words)
