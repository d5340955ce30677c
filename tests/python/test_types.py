"""Tables as people have them: every type of pandas goes in and comes out again, without options."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pandas as pd
import pytest
from conftest import TINY, csv_text, quick

import segre

N = 120


def _holes(values, random):
    """A column with a tenth of its values missing."""
    series = pd.Series(values)
    return series.mask(random.random(len(series)) < 0.1)


def make_types(n: int = N, seed: int = 1) -> pd.DataFrame:
    """A table with a column of each type, named after it."""
    random = np.random.default_rng(seed)
    start = pd.Timestamp("2024-01-01")
    hours = start + pd.to_timedelta(random.integers(0, 9000, n), unit="h")
    return pd.DataFrame(
        {
            "bool": random.random(n) < 0.4,
            "int64": random.integers(0, 1000, n),
            "int8": random.integers(-100, 100, n).astype("int8"),
            "uint16": random.integers(0, 60_000, n).astype("uint16"),
            "float64": np.round(random.normal(0, 3, n), 2),
            "float32": random.normal(0, 1, n).astype("float32"),
            "whole floats with holes": _holes(random.integers(1, 90, n).astype(float), random),
            "Int64": _holes(pd.array(random.integers(0, 500, n), dtype="Int64"), random),
            "large Int64": _holes(pd.array(2**60 + random.integers(0, 3, n), dtype="Int64"), random),
            "boolean": _holes(pd.array(random.random(n) < 0.5, dtype="boolean"), random),
            "Float64": _holes(pd.array(np.round(random.normal(0, 3, n), 2), dtype="Float64"), random),
            "string": _holes(pd.array(random.choice(["x", "y"], n), dtype="string"), random),
            "str": _holes(random.choice(["red", "green"], n), random),
            "ordered": pd.Categorical(random.choice(["lo", "mid"], n), ["lo", "mid", "hi"], ordered=True),
            "category": pd.Categorical(random.choice(["p", "q"], n)),
            "integer category": pd.Categorical(random.choice([10, 20, 5], n)),
            "mixed": pd.Series([[1, "a", 2.5, True][k] for k in random.integers(0, 4, n)], dtype=object),
            "numbers as objects": pd.Series([int(k) for k in random.integers(0, 99, n)], dtype=object),
            "timedelta": pd.to_timedelta(random.integers(0, 100_000, n), unit="s"),
            "days": pd.to_timedelta(random.integers(0, 60, n), unit="D"),
            "datetime64": _holes(start + pd.to_timedelta(random.integers(0, 500_000, n), unit="min"), random),
            "dates alone": start + pd.to_timedelta(random.integers(0, 400, n), unit="D"),
            "zoned": hours.tz_localize("UTC").tz_convert("Europe/Zurich"),
            "UTC": (start + pd.to_timedelta(random.integers(0, 30_000_000, n), unit="s")).tz_localize("UTC"),
            "period of months": pd.PeriodIndex(hours, freq="M"),
            "period of days": pd.PeriodIndex(hours, freq="D"),
            "date": [datetime.date(2024, 1, 1) + datetime.timedelta(int(k)) for k in random.integers(0, 200, n)],
            "time": [datetime.time(int(k) // 60, int(k) % 60) for k in random.integers(0, 1440, n)],
            "decimal": [decimal.Decimal(int(k)) / 100 for k in random.integers(0, 9999, n)],
            "two values": random.choice([1, 7], n),
            "constant": "same",
        }
    )


@pytest.fixture(scope="module")
def types():
    return make_types()


@pytest.fixture(scope="module")
def types_model(types, tmp_path_factory):
    return quick(types, out=tmp_path_factory.mktemp("types") / "run")


def _is_within(drawn, own) -> bool:
    """Whether drawn values lie in the range of the data's, where values have an order."""
    found = drawn.dropna()
    return found.empty or (found.min() >= own.dropna().min() and found.max() <= own.dropna().max())


def test_samples_have_the_types_of_the_data(types, types_model):
    drawn = types_model.sample(300)
    assert list(drawn) == list(types)
    for name in types:
        assert drawn[name].dtype == types[name].dtype, name
        assert drawn[name].notna().any(), name
        assert drawn[name].notna().all() or types[name].isna().any(), f"{name}: holes where the data have none"
        if types[name].dtype == object:
            assert {type(value) for value in drawn[name].dropna()} <= {type(value) for value in types[name]}, name
        if name not in ("mixed", "category", "integer category"):
            assert _is_within(drawn[name], types[name]), name


def test_values_are_such_as_the_data_have(types_model):
    drawn = types_model.sample(300)
    assert (drawn["whole floats with holes"].dropna() % 1 == 0).all()
    assert (drawn["days"] % pd.Timedelta("1D") == pd.Timedelta(0)).all()
    assert (drawn["dates alone"] == drawn["dates alone"].dt.normalize()).all()
    assert (drawn["datetime64"].dropna().dt.second == 0).all()
    assert (drawn["zoned"].dt.minute == 0).all()
    assert set(drawn["large Int64"].dropna()) <= {2**60, 2**60 + 1, 2**60 + 2}
    assert np.allclose(drawn["float64"] * 100, np.round(drawn["float64"] * 100))


def test_complete_keeps_types_and_fills_holes(types, types_model):
    filled = types_model.complete(types, best=True)
    for name in types:
        assert filled[name].dtype == types[name].dtype, name
        assert filled[name].notna().all(), name
        there = types[name].notna()
        assert filled[name][there].equals(types[name][there]), name


def test_other_rows_are_read_as_those_of_training(types, types_model):
    """Numbers that training did not have are scored, and the rows of training are the same wherever they are read."""
    new = make_types(30, seed=2)
    assert np.isfinite(types_model.log_prob(new, evaluations=4)).all()
    again = segre.load(types_model.path)
    assert np.array_equal(again.log_prob(types, evaluations=4), types_model.log_prob(types, evaluations=4))


def test_the_same_table_is_the_same_from_a_file(types, tmp_path, cli):
    """Columns, labels, levels and missing values: train on either, use both."""
    # A file cannot declare categories, and read_csv rounds large integers with holes.
    plain = types.drop(columns=["ordered", "integer category", "large Int64"])
    (tmp_path / "t.csv").write_text(csv_text(plain))
    read = pd.read_csv(tmp_path / "t.csv")
    steps = [f"--set={key}={value}" for key, value in TINY.items()]
    cli(tmp_path, "train", "--data", "csv:t.csv", "--out", "file", *steps)
    of_file = segre.load(tmp_path / "file")
    of_frame = quick(plain, out=tmp_path / "frame")
    assert of_file.space.columns == of_frame.space.columns
    assert [of_file.space.n_labels(i) for i in range(of_file.space.n_variables)] == [
        of_frame.space.n_labels(i) for i in range(of_frame.space.n_variables)
    ]
    for model in (of_file, of_frame):
        scores = [model.log_prob(data, evaluations=4) for data in (plain, read, f"csv:{tmp_path / 't.csv'}")]
        assert np.array_equal(scores[0], scores[1])
        assert np.array_equal(scores[0], scores[2])
    filled = of_file.complete(read, seed=3)
    assert filled.dtypes.equals(read.dtypes)
    cli(tmp_path, "complete", "frame", "--data", "csv:t.csv", "--out", "filled.csv")
    done = pd.read_csv(tmp_path / "filled.csv")
    assert list(done) == list(plain) and done.notna().all().all()


MARKS = pd.DataFrame(
    {
        "age": ["?" if k % 7 == 0 else str(k % 40) for k in range(N)],
        "height": ["unknown" if k % 9 == 0 else str(150 + k % 30) for k in range(N)],
        "answer": [["yes", "no", "?"][k % 3] for k in range(N)],
        "mark": [["!", ".", "?"][k % 3] for k in range(N)],
        "zip": [f"{k % 30:05d}" for k in range(N)],
        "share": [f"{k % 30}%" for k in range(N)],
        "amount": [f"{1 + k % 9},{k % 4:03d}" for k in range(N)],
    }
)


def test_texts_that_mark_what_is_missing_stay_texts():
    model = quick(MARKS)
    drawn = model.sample(300)
    assert drawn.dtypes.equals(MARKS.dtypes)
    for name in MARKS:
        known = set(MARKS[name])
        assert {value for value in drawn[name] if not str(value).isdigit()} <= known, name
        assert drawn[name].notna().all(), name
    assert "?" in set(drawn["age"]) and "unknown" in set(drawn["height"])
    assert [model.space.label_names(i)[-1] for _, i, _ in model.space.columns][:4] == [
        "(missing)", "(missing)", "(missing)", "?",
    ]  # fmt: skip


@pytest.mark.parametrize("form", ["%d.%m.%Y", "%m/%d/%Y", "%Y/%m/%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S+02:00", "%H:%M"])
def test_dates_in_texts_stay_as_they_are_written(form):
    times = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(N) * 3607, unit="min")
    table = pd.DataFrame({"when": times.strftime(form), "label": np.where(np.arange(N) % 2, "u", "v")})
    model = quick(table)
    assert model.space._are_levels(0)
    drawn = model.sample(200)
    assert drawn.dtypes.equals(table.dtypes)
    read = pd.to_datetime(drawn["when"], format=form.replace("+02:00", "%z"))
    own = pd.to_datetime(table["when"], format=form.replace("+02:00", "%z"))
    assert _is_within(read, own)
    table.loc[::5, "when"] = None
    filled = model.complete(table)
    assert filled["when"].notna().all() and filled.dtypes.equals(table.dtypes)
    pd.to_datetime(filled["when"], format=form.replace("+02:00", "%z"))


def test_a_small_wide_table():
    """Twenty rows, more columns than rows: constants, holes, huge and tiny numbers, numbers written in two ways."""
    random = np.random.default_rng(4)
    n = 20
    table = pd.DataFrame(
        {
            "constant": 1,
            "holes": np.nan,
            "none": None,
            "five": [["5", "5.0", "6", "7.0"][k % 4] for k in range(n)],
            "huge": random.normal(0, 1, n) * 1e300,
            "tiny": random.normal(0, 1, n) * 1e-300,
            "zero": random.choice([-0.0, 0.0, 1.5], n),
            "infinite": np.where(np.arange(n) % 5 == 0, np.inf, np.arange(n) * 0.5),
            **{f"x{k}": np.round(random.normal(0, 1, n), 3) for k in range(30)},
        }
    )
    model = quick(table)
    assert [name for name in table if name not in {name for name, _, _ in model.space.columns}] == ["holes", "none"]
    drawn = model.sample(50)
    for name in drawn:
        assert drawn[name].dtype == table[name].dtype, name
        if name != "five":
            assert _is_within(drawn[name], table[name]), name
    assert {float(value) for value in drawn["five"]} <= {5, 6, 7}


def test_what_was_made_of_the_columns_is_noted():
    table = pd.DataFrame(
        {
            "id": np.arange(1000, 1000 + N),
            "key": [f"K{k * 7919 % 10007:05d}" for k in range(N)],
            "note": [f"word {k} and more" for k in range(N)],
            "price": np.arange(N) * 0.25,
            "label": np.where(np.arange(N) % 2, "u", "v"),
        }
    )
    model = quick(table)
    assert list(model.sample(3)) == ["price", "label"]
    said = "\n".join(model.notes)
    assert "left out: id (120 different values in 120 rows), key (120 " in said
    assert "a column of numbers: price (0 to 29.75" in said


@pytest.mark.parametrize("numbers", ["labels", "levels", "bins", {"price": "labels"}])
def test_numbers_are_what_is_requested(numbers):
    table = pd.DataFrame({"price": np.arange(N) % 50 * 0.25, "age": np.arange(N) * 37 % 61})
    model = quick(table, numbers=numbers)
    first = {name: i for name, i, _ in model.space.columns}
    kinds = ["label" if model.space._unit(i) == "label" else "levels" if model.space._are_levels(i) else "bins"
             for i in first.values()]  # fmt: skip
    expected = {"labels": ["label"] * 2, "levels": ["levels"] * 2, "bins": ["bins"] * 2}
    assert kinds == (["label", "levels"] if isinstance(numbers, dict) else expected[numbers])
    assert model.sample(20).dtypes.equals(table.dtypes)
