"""From the user's data to labels and back: types of columns, arrays, sources."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest
from conftest import TINY, python, quick, tensors

import segre

SHORT = {**TINY, "train.steps": 2}  # enough for weights to differ if the data do
N = 90
CODES = np.random.default_rng(5).integers(0, 3, N)
HOLE = np.arange(N) % 5 == 0  # where completions are asked for
FEW = 30  # rows that are completed
GAPS = np.arange(N) % 4 == 1  # where training data are missing
WIDE = np.random.default_rng(6).integers(0, 1000, N)
DAYS = pd.Timestamp("2025-01-01") + pd.to_timedelta(WIDE, unit="D")
WORDS = np.array(["x", "y", "z, Ł"])[CODES].tolist()


def gappy(values, dtype) -> pd.Series:
    return pd.Series([None if gap else value for value, gap in zip(values, GAPS)], dtype=dtype)


# Columns of labels, by what is special about them.
LABELS = {
    "int64": pd.Series(CODES, dtype="int64"),
    "int8": pd.Series(CODES - 1, dtype="int8"),
    "uint16": pd.Series(CODES, dtype="uint16"),
    "Int64": pd.Series(CODES, dtype="Int64"),
    "Int64 with gaps": gappy(CODES, "Int64"),
    "Int64 beyond 2^53 with gaps": gappy([2**53 + 1 + int(c) for c in CODES], "Int64"),
    "bool": pd.Series(CODES > 0),
    "boolean": pd.Series(CODES > 0, dtype="boolean"),
    "boolean with gaps": gappy(CODES > 0, "boolean"),
    "truth values with gaps": gappy([bool(c) for c in CODES], object),
    "float64": pd.Series(CODES * 0.5),
    "float32": pd.Series(CODES * 0.1, dtype="float32"),
    "whole numbers with gaps": gappy(CODES.astype(float), "float64"),
    "str": pd.Series(WORDS),
    "str with gaps": gappy(WORDS, "str"),
    "object": pd.Series(WORDS, dtype=object),
    "string": pd.Series(WORDS, dtype="string"),
    "string with gaps": gappy(WORDS, "string"),
    "dates": pd.Series(pd.Timestamp("2025-01-01") + pd.to_timedelta(CODES, unit="D")),
    "dates with gaps": gappy(pd.Timestamp("2025-01-01") + pd.to_timedelta(CODES, unit="D"), "datetime64[us]"),
    "dates of Python with gaps": gappy([datetime.date(2025, 1, 1 + c) for c in CODES], object),
    "times in a zone": pd.Series(pd.Timestamp("2025-01-01", tz="UTC") + pd.to_timedelta(CODES * 7, unit="h")),
    "times": pd.Series(pd.Timestamp("2025-01-01") + pd.to_timedelta(CODES * 12, unit="h")),
    "period": pd.Series(pd.period_range("2025-01", periods=3, freq="M")[CODES]),
    "category": pd.Series(pd.Categorical(WORDS)),
    "category in order": pd.Series(pd.Categorical.from_codes(CODES, ["low", "mid", "high", "never"], ordered=True)),
    "category with gaps": pd.Series(pd.Categorical.from_codes(np.where(GAPS, -1, CODES), ["p", "q", "r"])),
    "category of integers": pd.Series(pd.Categorical(CODES * 10, categories=[20, 10, 0, 30], ordered=True)),
    "category of truth values": pd.Series(pd.Categorical(CODES > 0)),
    "category of intervals": pd.Series(pd.cut(WIDE, 3)),
    "category of dates": pd.Series(pd.Categorical(pd.Timestamp("2025-01-01") + pd.to_timedelta(CODES, unit="D"))),
}
# Columns of numbers and dates that are cut into intervals.
BINNED = {
    "float64": pd.Series(WIDE / 10),
    "float32": pd.Series(WIDE / 10, dtype="float32"),
    "with gaps": gappy(WIDE / 10, "float64"),
    "int64": pd.Series(WIDE, dtype="int64"),
    "int16": pd.Series(WIDE, dtype="int16"),
    "Int64 with gaps": gappy(WIDE, "Int64"),
    "days": pd.Series(DAYS),
    "days with gaps": gappy(DAYS, "datetime64[us]"),
    "days of Python": pd.Series([day.date() for day in DAYS], dtype=object),
    "days in nanoseconds": pd.Series(DAYS.astype("datetime64[ns]")),
    "seconds": pd.Series(pd.Timestamp("2025-01-01") + pd.to_timedelta(WIDE * 997, unit="s")),
}


def model_of(columns):
    """All columns at once, since a network costs more than a column."""
    table = pd.DataFrame(columns)
    bins = {name: 3 for name in columns} if columns is BINNED else None
    return table, quick(table, bins=bins)


@pytest.fixture(scope="module")
def labelled():
    return model_of(LABELS)


@pytest.fixture(scope="module")
def binned():
    return model_of(BINNED)


@pytest.fixture(scope="module")
def drawn(labelled, binned):
    return {"labels": labelled[1].sample(200), "bins": binned[1].sample(200)}


@pytest.mark.parametrize("name", LABELS)
def test_samples_have_the_types_and_values_of_the_data(drawn, name):
    column, found = LABELS[name], drawn["labels"][name]
    assert found.dtype == column.dtype
    assert set(found.dropna()) <= set(column.dropna())
    assert {type(value) for value in found.dropna()} == {type(value) for value in column.dropna()}
    assert found.isna().any() == column.isna().any()


@pytest.mark.parametrize("name", BINNED)
def test_numbers_and_dates_are_drawn_within_their_range(drawn, name):
    column, found = BINNED[name], drawn["bins"][name]
    assert found.dtype == column.dtype
    assert found.min() >= column.min() and found.max() <= column.max()
    assert found.isna().any() == column.isna().any()
    assert found.nunique() > 50  # of 200 draws from hundreds of values


@pytest.mark.parametrize("name", BINNED)
def test_names_of_intervals_are_categories_in_order(binned, name):
    table, model = binned
    found = model.sample(50, numbers=False)[name]
    assert found.dtype == "category"
    assert [str(c) for c in found.cat.categories] == [
        label for label in model.space.label_names(list(table).index(name)) if label != "(missing)"
    ]


def holed(column: pd.Series) -> pd.Series:
    """The column with holes, in the type that pandas gives it."""
    return column.where(~HOLE)


@pytest.fixture(scope="module")
def completed(labelled, binned):
    """Completions of columns with holes, each by itself: a column that cannot be read should not hide the others."""

    def complete(kind: str, name: str) -> pd.Series:
        table, model = labelled if kind == "labels" else binned
        return model.complete(table.assign(**{name: holed(table[name])})[:FEW], steps=1)[name]

    return complete


@pytest.mark.parametrize("name", LABELS)
def test_completions_keep_types_and_known_values(completed, name):
    column, found = LABELS[name], completed("labels", name)
    known = (~HOLE & column.notna())[:FEW]
    assert found[known].tolist() == column[:FEW][known].tolist()
    assert found.notna().all()
    assert set(found) <= set(column.dropna())
    # A hole turns integers into floating-point numbers and truth values into objects; other types hold them.
    assert found.dtype in (column.dtype, holed(column).dtype)


@pytest.mark.parametrize("name", BINNED)
def test_completions_of_numbers_and_dates(completed, name):
    column, found = BINNED[name], completed("bins", name)
    known = (~HOLE & column.notna())[:FEW]
    assert found[known].tolist() == column[:FEW][known].tolist()
    assert found.notna().all()
    assert found.min() >= column.min() and found.max() <= column.max()
    assert found.dtype in (column.dtype, holed(column).dtype)


@pytest.fixture(scope="module")
def filed(labelled, tmp_path_factory):
    """The same from a CSV file that pandas wrote."""
    file = tmp_path_factory.mktemp("filed") / "t.csv"
    labelled[0].to_csv(file, index=False)
    return quick(f"csv:{file}", {**TINY, "train.steps": 1})


@pytest.mark.parametrize("name", LABELS)
def test_labels_are_those_of_a_file(labelled, filed, name):
    """In the same order, besides categories that do not occur."""
    table, model = labelled
    own = model.space.label_names(list(table).index(name))
    of_file = filed.space.label_names(list(table).index(name))
    assert [label for label in own if label not in ("never", "30")] == of_file


@pytest.mark.parametrize("name", LABELS)
def test_a_value_is_read_by_itself_as_among_others(labelled, name):
    """1.0 of a column with 0.5 is not 1 where 0.5 is absent."""
    table, model = labelled
    few = table.iloc[[list(CODES).index(code) for code in range(3)]].reset_index(drop=True)  # all values of the others
    for value in table[name].dropna().unique():
        alone = few.assign(**{name: pd.Series([value] * 3, dtype=table[name].dtype)})
        among = pd.concat([alone, few])
        assert np.array_equal(model.log_prob(alone, evaluations=4), model.log_prob(among, evaluations=4)[:3])


@pytest.mark.parametrize("name", LABELS)
def test_values_of_the_data_may_be_given(labelled, name):
    """As they are in a row of the data."""
    table, model = labelled
    value = table[name].dropna().iloc[0]
    assert model.sample(2, given={name: value}, steps=1)[name].tolist() == [value, value]


def test_categories_keep_their_order_and_those_that_do_not_occur(labelled):
    _, model = labelled
    found = model.sample(20)["category in order"]
    assert list(found.cat.categories) == ["low", "mid", "high", "never"] and found.cat.ordered
    place = list(LABELS).index("category in order")
    assert set(model.space.label_names(place)) == {"low", "mid", "high", "never"}


def test_types_survive_save_and_load(labelled, tmp_path):
    _, model = labelled
    model.save(tmp_path / "run")
    again = segre.load(tmp_path / "run").sample(50)
    pd.testing.assert_frame_equal(again, model.sample(50))


def test_whole_numbers_match_counts(weather_model, weather):
    """pandas turns a column of integers into floating-point numbers where it has holes; 2.0 is then the label 2."""
    table = weather[weather.notna().all(axis=1)]
    as_floats = table.assign(storeys=table["storeys"].astype(float))
    assert np.array_equal(weather_model.log_prob(as_floats), weather_model.log_prob(table))
    # The other way round: labels that were floating-point numbers because of holes, and data without holes.
    model = quick({"n": [8.0, 10.0, None] * 20})
    assert np.array_equal(model.log_prob({"n": [8, 10]}), model.log_prob({"n": [8.0, 10.0]}))
    pd.testing.assert_frame_equal(model.complete(pd.DataFrame({"n": [8, 10]})), pd.DataFrame({"n": [8, 10]}))


def test_columns_are_found_by_name(weather_model, weather, capfd):
    table = weather[::-1][weather.columns[::-1]].assign(other=1.5)
    again = weather_model.log_prob(table)
    assert np.array_equal(again, weather_model.log_prob(weather)[::-1])
    assert "other" in capfd.readouterr().err  # a note that it is ignored


def test_mappings_of_columns():
    """Lists, tuples, arrays and Series, with None and NaN as missing values."""
    columns = {
        "list": ["a", None, "b"] * 10,
        "tuple": (1, 2, 3) * 10,
        "array": np.array([True, False, False] * 10),
        "floats": np.array([0.5, np.nan, 1.5] * 10),
        "Series": pd.Series([1, 2, 2] * 10, index=range(100, 130)),
        "texts": np.array(["x", "yy", "x"] * 10),
    }
    model = quick(columns)
    labels = {name: model.space.label_names(i) for i, name in enumerate(model.space.names)}
    assert labels == {
        "list": ["a", "b", "(missing)"],
        "tuple": ["1", "2", "3"],
        "array": ["False", "True"],
        "floats": ["0.5", "1.5", "(missing)"],
        "Series": ["1", "2"],
        "texts": ["x", "yy"],
    }
    assert np.array_equal(model.log_prob(columns), model.log_prob(pd.DataFrame({**columns, "Series": [1, 2, 2] * 10})))


def test_values_of_mappings_come_back():
    """Not their texts, also of columns with gaps and of NumPy's own values."""
    columns = {
        "whole": [1, 2**53 + 1, None] * 20,
        "truth": [np.True_, np.False_, None] * 20,
        "mixed": [1, "a", np.int64(3)] * 20,
        "dates": [datetime.date(2025, 1, 1), None, datetime.date(2025, 1, 2)] * 20,
    }
    for data in (columns, pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})):
        found = quick(data).sample(200)
        for name, values in columns.items():
            assert set(found[name].dropna()) == {value for value in values if value is not None}, name


def test_a_missing_value_may_be_given(weather_model):
    """As the label that it is in training."""
    for value in (None, np.nan, pd.NaT, pd.NA):
        assert weather_model.sample(5, given={"town": value})["town"].isna().all()


def test_a_mapping_and_a_frame_give_the_same_model():
    table = pd.DataFrame({"a": ["u", "v", "w"] * 10, "b": [1, 2, 2] * 10})
    assert tensors(quick(table)) == tensors(quick(table.to_dict("list")))


def test_names_that_need_care():
    """Commas, ampersands and the like in names of columns, in every option that names columns."""
    names = ["a, b", "c&d=e?f", "Größe:%"]
    random = np.random.default_rng(7)
    table = pd.DataFrame({name: random.normal(size=60) for name in names} | {"id": [f"k{i}" for i in range(60)]})
    model = quick(table, bins={name: 3 for name in names}, without=["id"])
    assert list(model.sample(3).columns) == names
    assert quick(table, columns=names[:2], bins="auto").space.names == names[:2]
    assert quick(table, without=["id", *names[1:]], bins={names[0]: 2}).space.names == names[:1]
    assert model.log_prob(table, given=names[:1]).shape == (60,)


def test_names_that_are_no_texts():
    random = np.random.default_rng(8)
    table = pd.DataFrame(random.integers(0, 2, (40, 3)), columns=[10, 20, 30])
    model = quick(table)
    assert model.log_prob(table).shape == (40,)
    holes = table.astype("Int64").where(table > 0)
    assert list(model.complete(holes).columns) == [10, 20, 30]
    assert list(model.sample(3).columns) == [10, 20, 30]


def test_options_of_tables():
    table = pd.DataFrame({"a": ["x", None, "y"] * 20, "b": [0, 1, 1] * 20})
    unknown = quick(table, missing="unknown")
    assert unknown.space.label_names(0) == ["x", "y"]
    assert not unknown.sample(100)["a"].isna().any()
    assert quick(table["b"].to_frame(), labels=["0", "1", "2"]).space.label_names(0) == ["0", "1", "2"]
    assert quick(table, limit=1).space.label_names(1) == ["0"]


INTEGERS = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("dtype", [*INTEGERS, ">i4"])
def test_arrays_of_all_integers(sequences, sequence_model, dtype):
    """The same labels give the same scores, and the same model."""
    items = np.minimum(sequences, 1)
    found = sequence_model.log_prob(items.astype(dtype), evaluations=4)
    assert np.array_equal(found, sequence_model.log_prob(items, evaluations=4))
    assert tensors(quick(items.astype(dtype), SHORT)) == tensors(quick(items, SHORT))


def views(items):
    doubled = np.repeat(np.repeat(items, 2, axis=0), 2, axis=1)
    frozen = items.copy()
    frozen.flags.writeable = False
    return {
        "every other": doubled[::2, ::2],
        "columns first": np.asfortranarray(items),
        "of an axis": np.stack([items, items], axis=-1)[..., 1],
        "read-only": frozen,
        "lists": items.tolist(),
        "reversed": items[::-1].copy()[::-1],
        "reversed columns": items[:, ::-1].copy()[:, ::-1],
    }


@pytest.mark.parametrize("kind", views(np.zeros((2, 2), int)))
def test_views_of_arrays(sequences, sequence_model, kind):
    view = views(sequences)[kind]
    expected = sequence_model.log_prob(sequences, evaluations=4)
    assert np.array_equal(sequence_model.log_prob(view, evaluations=4), expected)
    assert tensors(quick(view, SHORT)) == tensors(quick(sequences, SHORT))


def test_arrays_are_left_alone(sequences, sequence_model):
    """They are viewed, not copied, and never written to."""
    items = np.where(sequences == 2, -1, sequences)
    before = items.copy()
    sequence_model.complete(items)
    sequence_model.log_prob(items)
    quick(items)
    assert np.array_equal(items, before)


def test_images(images, image_model):
    assert image_model.space.layout == "image" and image_model.space.shape == [8, 8]
    drawn = image_model.sample(3)
    assert drawn.shape == (3, 8, 8) and set(np.unique(drawn)) <= {0, 1}
    assert image_model.log_prob(images[:2]).shape == (2,)


def test_unknown_cells_of_arrays(sequences):
    """Training leaves them out: -1 is no label."""
    items = np.where(np.random.default_rng(9).random(sequences.shape) < 0.3, -1, sequences)
    model = quick(items)
    assert model.space.n_labels(0) == 3
    assert model.sample(50).min() >= 0


def test_declared_labels_of_arrays(sequences):
    assert quick(sequences, labels=5).space.n_labels(0) == 5


def test_sources(tmp_path, sequences):
    np.save(tmp_path / "x.npy", sequences)
    assert np.array_equal(segre.data(f"npy:{tmp_path}/x.npy"), sequences)
    assert np.array_equal(segre.data(f"npy:{tmp_path}/x.npy?limit=9", 5), sequences[:5])
    assert segre.data("glyphs", 2).shape == (2, 28, 28)
    assert not np.array_equal(segre.data("glyphs", 2), segre.data("glyphs?seed=1", 2))
    table = segre.data("coupled", 2000)
    assert list(table.columns) == ["y1", "y2"]
    # The two labels are equal in 90% of the rows; 5 standard deviations.
    assert abs((table["y1"].astype(str) == table["y2"].astype(str)).mean() - 0.9) < 5 * np.sqrt(0.09 / 2000)


def test_unknown_cells_of_sources(tmp_path):
    """They are missing in the table, whether or not their column is cut into intervals."""
    words = ["a", "b", None, "b"] * 5
    table = pd.DataFrame({"n": [1.5, None, 3.5, 4.5] * 5, "day": [None, *DAYS[:3]] * 5, "word": words})
    table.to_csv(tmp_path / "t.csv", index=False)
    for missing in ("label", "unknown"):
        found = segre.data(f"csv:{tmp_path}/t.csv?bins=n:2,day:2&missing={missing}")
        assert found.isna().equals(table.isna())
        assert found["n"].between(1.5, 4.5).sum() == 15


def test_options_of_sources_are_joined(tmp_path, sequences):
    np.save(tmp_path / "x.npy", sequences)
    for source, options in ((f"npy:{tmp_path}/x.npy", {"limit": 30, "labels": 4}),
                            (f"npy:{tmp_path}/x.npy?limit=30", {"labels": 4})):  # fmt: skip
        model = quick(source, **options)
        assert model.space.n_labels(0) == 4
        assert tensors(model) == tensors(quick(sequences[:30], labels=4))


def test_without_pandas(tmp_path):
    """Tables are then mappings of columns, in and out."""
    code = """
import sys
sys.modules["pandas"] = None  # importing it fails
import numpy as np, segre
model = segre.fit({"a": ["x", "y", None] * 20, "n": np.arange(60.0)}, bins={"n": 3}, config=eval(sys.argv[1]),
                  progress=False)
drawn = model.sample(100)
assert set(drawn) == {"a", "n"} and len(drawn["a"]) == 100, drawn
assert set(drawn["a"]) == {"x", "y", None}, set(drawn["a"])
assert all(value is None or 0 <= float(value) <= 59 for value in drawn["n"])
filled = model.complete({"a": ["x", None], "n": [None, 3.0]})
assert list(filled["a"])[0] == "x" and list(filled["a"])[1] in ("x", "y"), filled
assert model.log_prob({"a": ["x"], "n": [3.0]}).shape == (1,)
assert len(model.predict({"a": ["x"], "n": [3.0]}, "a")["y"]) == 1
assert model.outliers({"a": ["x"], "n": [3.0]}).shape == (1,)
assert model._repr_html_().startswith("<div>")
"""
    python(code, TINY)
