"""Filling in what is unknown: what is known stays, and what is drawn has the right distribution."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest
from conftest import COUPLED, assert_one_line, quick

import segre

COUNT = 4000
# How far the model of "coupled" may be from the source itself, in probability; it was trained for half a second.
TRAINING = 0.03


def within(found: float, expected: float, count: int = COUNT, margin: float = 0.0) -> bool:
    """Whether a frequency is within 5 standard deviations of a probability."""
    return abs(found - expected) <= 5 * np.sqrt(expected * (1 - expected) / count) + margin


def test_known_cells_stay(weather_model, weather):
    filled = weather_model.complete(weather)
    assert filled.notna().all().all()
    assert filled.index.equals(weather.index) and list(filled) == list(weather)
    known = weather.notna()
    pd.testing.assert_frame_equal(filled.where(known), weather.where(known))
    assert filled.dtypes.equals(weather.dtypes)


def test_a_table_without_holes_stays(weather_model, weather):
    whole = weather[weather.notna().all(axis=1)]
    pd.testing.assert_frame_equal(weather_model.complete(whole), whole)


def test_the_data_are_left_alone(weather_model, weather):
    before = weather.copy(deep=True)
    weather_model.complete(weather, draws=2)
    pd.testing.assert_frame_equal(weather, before)


def test_other_columns_and_the_index_stay(weather_model, weather):
    table = weather.assign(note=range(len(weather))).set_index(pd.Index(weather.index * 10, name="key"))[::-1]
    filled = weather_model.complete(table)
    assert filled["note"].equals(table["note"]) and filled.index.equals(table.index)
    assert filled.index.name == "key" and list(filled) == list(table)


def test_draws(weather_model, weather):
    """Draw k is the same however many are drawn, and draws differ from each other."""
    one = weather_model.complete(weather)
    three = weather_model.complete(weather, draws=3)
    assert three.index.names == [None, "draw"] and len(three) == 3 * len(weather)
    assert three.index.get_level_values("draw").tolist() == [0, 1, 2] * len(weather)
    pd.testing.assert_frame_equal(three.xs(0, level="draw"), one)
    assert not three.xs(1, level="draw").equals(one)


def test_draws_of_tables_with_several_levels(weather_model, weather):
    levels = pd.MultiIndex.from_product([["u", "v"], range(len(weather) // 2)], names=["a", "b"])
    filled = weather_model.complete(weather.set_axis(levels), draws=2)
    assert filled.index.names == ["a", "b", "draw"]
    assert filled.xs(0, level="draw").index.equals(levels)


def test_seeds(weather_model, weather):
    again = weather_model.complete(weather, seed=1)
    pd.testing.assert_frame_equal(weather_model.complete(weather), again)
    assert not weather_model.complete(weather, seed=2).equals(again)


def test_completions_have_the_probabilities_that_predict_states(coupled_model, coupled):
    """For y2 given y1 = 0; and these are the source's, 0.9 for y2 = 0."""
    items = np.tile([0, -1], (COUNT, 1))
    drawn = coupled_model.complete(items)
    assert np.all(drawn[:, 0] == 0)
    p = coupled_model.predict(items[:1])[0]
    assert np.allclose(p[:2], [1, 0]) and abs(p[2:].sum() - 1) < 1e-5
    assert within((drawn[:, 1] == 0).mean(), p[2])
    exact = coupled.conditional({"y1": 0}).marginals()["y2"][0]
    assert abs(p[2] - exact) < TRAINING


def test_completions_of_nothing_are_samples(coupled_model, coupled):
    drawn = coupled_model.complete(np.full((COUNT, 2), -1))
    for labels, p in zip(coupled.labelings, coupled.p):
        assert within((drawn == labels).all(axis=1).mean(), p, margin=TRAINING)


def test_the_most_likely_labels(weather_model, weather):
    """Those with the largest probability of their cell; for intervals the middle."""
    best = weather_model.complete(weather, best=True)
    p = weather_model.predict(weather)
    space, towns = weather_model.space, list(weather).index("town")
    # Missing is a label in training, but never a completion.
    names = [name for name in space.label_names(towns) if name != "(missing)"]
    first = space.offset(towns)
    holes = weather["town"].isna()
    expected = np.array(names)[p[:, first : first + len(names)].argmax(axis=1)]
    assert best["town"][holes].tolist() == expected[holes].tolist()
    assert best["temp"][weather["temp"].isna()].nunique() <= 4  # the middles of four intervals


def test_only_what_is_given_is_taken(weather_model, weather):
    whole = weather[weather.notna().all(axis=1)]
    filled = weather_model.complete(whole, given=["sky", "town"])
    assert filled["sky"].equals(whole["sky"]) and filled["town"].equals(whole["town"])
    assert not filled["storeys"].equals(whole["storeys"])


def posterior(coupled, log_likelihoods: np.ndarray) -> np.ndarray:
    """Bayes' rule for the source and independent observations: log-likelihoods [y1 = 0, y1 = 1, y2 = 0, y2 = 1]."""
    weights = coupled.p * np.exp([log_likelihoods[a] + log_likelihoods[2 + b] for a, b in coupled.labelings])
    return weights / weights.sum()


def test_noise(coupled_model, coupled):
    """Labels that were replaced with probability 0.5 by one drawn uniformly, seen as (0, 1)."""
    drawn = coupled_model.complete(np.tile([0, 1], (COUNT, 1)), noise=0.5)
    kept, replaced = np.log(0.75), np.log(0.25)  # 0.5 + 0.5/2, and 0.5/2
    expected = posterior(coupled, np.array([kept, replaced, replaced, kept]))
    for labels, p in zip(coupled.labelings, expected):
        assert within((drawn == labels).all(axis=1).mean(), p, margin=2 * TRAINING)


def test_evidence(coupled_model, coupled):
    """Log-likelihoods of a classifier, for both variables."""
    log_likelihoods = np.log([0.3, 0.7, 0.6, 0.4])
    drawn = coupled_model.complete(np.full((COUNT, 2), -1), evidence=np.tile(log_likelihoods, (COUNT, 1)))
    for labels, p in zip(coupled.labelings, posterior(coupled, log_likelihoods)):
        assert within((drawn == labels).all(axis=1).mean(), p, margin=2 * TRAINING)


def test_arrays(sequence_model, sequences):
    holes = np.random.default_rng(3).random(sequences.shape) < 0.4
    items = np.where(holes, -1, sequences)
    filled = sequence_model.complete(items)
    assert filled.shape == items.shape and np.array_equal(filled[~holes], sequences[~holes])
    assert filled.min() >= 0 and filled.max() <= 2
    many = sequence_model.complete(items, draws=3)
    assert many.shape == (len(items), 3, 6)
    assert np.array_equal(many[:, 0], filled)
    assert sequence_model.complete(items, best=True).shape == items.shape


def test_arrays_of_nothing_but_holes(sequence_model):
    """Completions of nothing are samples."""
    filled = sequence_model.complete(np.full((3, 6), -1))
    assert filled.shape == (3, 6) and filled.min() >= 0
    assert np.array_equal(sequence_model.log_prob(np.full((3, 6), -1)), np.zeros(3))


def test_images(image_model, images):
    filled = image_model.complete(images[:2], given="left", steps=2)
    assert np.array_equal(filled[..., :4], images[:2, :, :4])
    assert image_model.complete(images[:1], given="upper", draws=2, steps=1).shape == (1, 2, 8, 8)


def test_mappings_and_sources(weather_model, weather, tmp_path):
    """The same table in another form is filled in with the same values."""
    expected = weather_model.complete(weather)
    columns = {name: [None if pd.isna(v) else v for v in weather[name].astype(object)] for name in weather}
    filled = weather_model.complete(columns)
    for name in weather:
        assert [str(value) for value in filled[name]] == [str(value) for value in expected[name].astype(object)]
    weather.to_csv(tmp_path / "t.csv", index=False)
    from_file = weather_model.complete(f"csv:{tmp_path}/t.csv")
    # A file's own numbers and dates are not kept, only their intervals; labels are.
    for name in ("sky", "wet", "storeys", "town"):
        assert from_file[name].astype(str).tolist() == expected[name].astype(str).tolist()


def test_a_hole_that_training_never_had():
    """Columns without missing values in training may have them later."""
    table = pd.DataFrame({"a": ["x", "y"] * 30, "b": ["u", "v"] * 30})
    filled = quick(table).complete(pd.DataFrame({"a": ["x", None], "b": [None, "v"]}))
    assert filled["a"][0] == "x" and filled["b"][1] == "v" and filled.notna().all().all()


def test_prediction_of_a_column(weather_model, weather):
    """A distribution over the labels, whether or not the data have the column, with or without its values."""
    found = weather_model.predict(weather, "town")
    assert list(found) == ["Bern", "Zürich", 'a, "b"'] and found.index.equals(weather.index)
    assert np.allclose(found.sum(axis=1), 1, atol=1e-5)  # in float32; missing is no label to predict
    for other in (weather.assign(town=None), weather.drop(columns="town")):
        pd.testing.assert_frame_equal(weather_model.predict(other, "town"), found)


def test_prediction_follows_the_conditional(coupled_model, coupled):
    for y1 in ("0", "1"):
        found = coupled_model.predict({"y1": [y1], "y2": [None]}, "y2")
        assert np.allclose(found.to_numpy()[0], coupled.conditional({"y1": y1}).marginals()["y2"], atol=TRAINING)


@pytest.mark.parametrize("sampler", ["rk4", "sde", "erasure"])
def test_samples_given_labels(coupled_model, coupled, sampler):
    exact = coupled.conditional({"y2": 1}).marginals()["y1"][1]
    for given in ({"y2": "1"}, {"y2": 1}, np.array([-1, 1])):
        drawn = coupled_model.sample(COUNT, given=given, sampler=sampler, steps=20)
        assert (drawn["y2"].astype(str) == "1").all()
        assert within((drawn["y1"].astype(str) == "1").mean(), exact, margin=TRAINING)


def test_sample_k_is_a_function_of_the_model_the_seed_and_k(weather_model):
    pd.testing.assert_frame_equal(weather_model.sample(30)[:10], weather_model.sample(10))
    assert not weather_model.sample(30, seed=5).equals(weather_model.sample(30))
    assert weather_model.sample(0).shape == (0, 6)
    assert isinstance(segre.load(weather_model.path).sample(1), pd.DataFrame)


def test_a_column_gets_the_categories_that_it_lacks():
    """A category of training that the column of the data does not declare is no reason for a hole."""
    random = np.random.default_rng(11)
    size = pd.Categorical(random.choice(["small", "medium", "large"], 300), ["small", "medium", "large"], ordered=True)
    table = pd.DataFrame({"size": size, "hue": pd.Categorical(random.choice(["red", "blue"], 300)), "n": size.codes})
    model = quick(table, COUPLED)
    holes = pd.DataFrame(
        {
            "size": pd.Categorical(["large", None] * 20, ["small", "large"], ordered=True),
            "hue": pd.Categorical(["red", None] * 20),
            "n": pd.Series([2, 1] * 20),
        }
    )
    for options in ({}, {"draws": 3}, {"best": True}):
        filled = model.complete(holes, **options)
        assert filled.notna().all().all()
        assert (filled["size"][1::2] == "medium").any()
        assert filled["size"].dtype == size.dtype  # the places of training
        assert set(filled["hue"].cat.categories) <= {"red", "blue"} and filled["hue"].dtype == "category"
    assert set(model.complete(holes)["hue"]) == {"red", "blue"}
    other = holes.assign(size=pd.Categorical(holes["size"], ["large", "small"]))  # an order that contradicts training's
    assert list(model.complete(other)["size"].cat.categories) == ["large", "small", "medium"]


WIDE = 2**53 + 1  # the first whole number that no float64 holds


def test_whole_numbers_are_exact():
    """Those that a column's type cannot hold widen it; those beyond 2^53 keep their digits; types stay otherwise."""
    values = [1, 2, 300, WIDE, WIDE + 2]
    table = pd.DataFrame({"n": pd.Series(values * 20, dtype="Int64"), "u": ["a", "b"] * 50})
    model = quick(table)
    holes = pd.Series([None if k % 2 else WIDE for k in range(60)], dtype="Int64")
    found = model.complete(pd.DataFrame({"n": holes, "u": "a"}))["n"]
    assert found.dtype == "Int64" and set(found) == set(values) and set(found[::2]) == {WIDE}
    short = pd.DataFrame({"n": pd.Series([1, 2] * 30, dtype="int8"), "u": "a"})
    found = model.complete(short, given=["u"])["n"]
    assert set(found) == set(values)
    assert model.complete(short, given=["n"])["n"].dtype == "int8"
    assert set(model.sample(100)["n"]) == set(values)
    for column in (values, [*values, None]):
        trained = quick({"n": column * 20, "u": ["a", "b"] * 10 * len(column)})
        assert set(trained.sample(100)["n"].dropna()) == set(values)


def test_numbers_that_are_not_given_do_not_come_back():
    """Not even where the interval that is drawn is the true one: an imputation would look better than it is."""
    random = np.random.default_rng(12)
    x = random.normal(size=400)  # all different
    table = pd.DataFrame({"x": x, "u": np.where(x > 0, "high", "low")})
    model = quick(table, COUPLED, bins={"x": 2})
    for options in ({}, {"draws": 2}, {"best": True}):
        found = model.complete(table, given=["u"], **options)
        same_side = (found["x"].to_numpy() > 0) == (table["x"].repeat(options.get("draws", 1)).to_numpy() > 0)
        assert same_side.mean() > 0.9  # the intervals are right nearly always
        assert not np.isin(found["x"], x).any()  # numbers of 16 digits do not agree by chance
    # With noise, a number is evidence: one whose interval stays is the data's own.
    kept = model.complete(table, noise=0.1)["x"]
    assert (kept == table["x"]).mean() > 0.9
    assert not np.isin(model.complete(table, noise=0.1, given=["u"])["x"], x).any()


@pytest.mark.parametrize("kind", ["str", "object", "category"])
def test_texts_of_the_user_stay(kind, capfd):
    """NA in a DataFrame may be Namibia, or the user's word for a missing value. The model reads it as files do, but it
    is not overwritten, and a note says so. Holes are filled as ever."""
    country = pd.Series(["CH", "NA", None, "FR", "?", "(missing)"] * 20, dtype=kind)
    table = pd.DataFrame({"country": country, "u": ["a", "b"] * 60})
    model = quick(table)
    capfd.readouterr()
    filled = model.complete(table, draws=2).xs(1, level="draw")
    assert_one_line(capfd.readouterr().err.strip(), "note:", "DataFrame", "country", "NA")
    texts = country.isin(["CH", "NA", "FR", "?"])
    assert filled["country"][texts].tolist() == country[texts].tolist()
    assert filled["country"][~texts].isin(["CH", "FR"]).all()
    assert filled["country"].dtype == country.dtype
    columns = table.astype(object).where(table.notna(), None).to_dict("list")
    assert model.complete(columns)["country"][texts].tolist() == country[texts].tolist()
    model.complete(table, given=["u"])  # what is not given is drawn anew
    assert capfd.readouterr().err.count("note:") == 1
    assert set(model.complete(table, given=["u"])["country"]) == {"CH", "FR"}


def test_completions_by_a_model_of_the_command_line(tmp_path):
    """It does not know the types of columns, so its labels are texts; the data's own types say what they mean."""
    truth = np.array([True, False, True])[np.arange(60) % 3]
    table = pd.DataFrame(
        {
            "bool": truth,
            "object": pd.Series(truth, dtype=object),
            "int": np.arange(60) % 3,
            "float": np.arange(60) % 3 / 2,
            "str": pd.Series(["1", "2", "3"] * 20),
            "day": pd.Timestamp("2025-01-01") + pd.to_timedelta(np.arange(60) % 3, unit="D"),
            "category": pd.Categorical(np.arange(60) % 3),
            "date": [datetime.date(2025, 1, 1 + k % 3) for k in range(60)],
        }
    )
    table.to_csv(tmp_path / "t.csv", index=False)
    model = quick(f"csv:{tmp_path}/t.csv")
    drawn = model.complete(table, given=["int"])
    assert drawn.dtypes.equals(table.dtypes)
    for name in table:
        assert set(drawn[name]) == set(table[name]), name
        assert {type(value) for value in drawn[name]} == {type(value) for value in table[name]}, name
    holes = table.astype({"bool": object}).where(pd.Series(range(60)) % 2 == 0)
    filled = model.complete(holes)
    for name in table:
        assert set(filled[name]) <= set(table[name]), name
        if name not in ("int",):  # whole numbers with holes are floating-point numbers in pandas
            assert {type(value) for value in filled[name]} == {type(value) for value in table[name]}, name
