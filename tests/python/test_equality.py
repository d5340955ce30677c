"""The package and the command line give the same results, to the bit on a CPU.

Numbers are compared as the texts that the command line writes: scores with 10 digits, cells with 7, ranks with 9.
"""

from __future__ import annotations

import csv
import io

import numpy as np
import pandas as pd
import pytest
from conftest import (
    TINY, TINY_IMAGE, WEATHER_BINS, WEATHER_SOURCE, csv_text, digits, quick, tensors,
)  # fmt: skip

import segre


def words(config) -> list[str]:
    """Keys as arguments of --set."""
    return [f"{key}={value}" for key, value in config.items()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, weather, cli):
    """A directory with the table as t.csv and the run that the command line trained on it."""
    folder = tmp_path_factory.mktemp("equality")
    weather.to_csv(folder / "t.csv", index=False)
    labels = pd.DataFrame({"column": "sky", "label": weather["sky"].cat.categories})
    labels.to_csv(folder / "labels.csv", index=False)
    source = f"csv:{folder}/t.csv?{WEATHER_SOURCE.replace('labels.csv', str(folder / 'labels.csv'))}"
    cli(folder, "train", "--data", source, "--out", "run", "--set", *words(TINY))
    return folder


@pytest.fixture(scope="module")
def models(folder, weather_model):
    """The model of the package, and the command line's own."""
    return weather_model, segre.load(folder / "run")


def rows(folder, name: str) -> list[dict[str, str]]:
    with open(folder / name, newline="") as file:
        return list(csv.DictReader(file))


def column(table: list[dict[str, str]], name: str) -> list[str]:
    return [row[name] for row in table]


def test_weights_are_those_of_the_command_line(folder, weather_model):
    assert tensors(weather_model) == tensors(folder / "run")


def test_a_config_file_gives_the_same_weights(cli, folder, weather):
    config = folder / "own.toml"
    config.write_text(
        'seed = 5\n[net]\nkind = "latent_class"\nclasses = 4\n[train]\nsteps = 10\nbatch = 32\n[watch]\nevery = 5\n'
    )
    cli(folder, "train", config, "--data", "csv:t.csv?bins=temp:4,day:3&without=sky", "--out", "own")
    model = segre.fit(weather, config=config, bins=WEATHER_BINS, without=["sky"], out=folder / "own2", progress=False)
    assert tensors(model) == tensors(folder / "own")


def test_samples(cli, folder, models):
    cli(folder, "sample", "run", "--count", 50, "--numbers", "--out", "s.csv")
    for model in models:
        assert csv_text(model.sample(50)) == (folder / "s.csv").read_text()


def test_samples_with_options(cli, folder, models):
    cli(
        folder, "sample", "run", "--count", 20, "--numbers", "--seed", 9, "--given", "sky=rain,storeys=2", "--set",
        "sample.steps=3", "sample.sampler=heun", "--out", "s9.csv",
    )  # fmt: skip
    for model in models:
        drawn = model.sample(20, seed=9, given={"sky": "rain", "storeys": 2}, steps=3, sampler="heun")
        assert csv_text(drawn) == (folder / "s9.csv").read_text()


def test_names_of_intervals(cli, folder, models):
    cli(folder, "sample", "run", "--count", 20, "--out", "names.csv")
    for model in models:
        assert csv_text(model.sample(20, numbers=False)) == (folder / "names.csv").read_text()


def test_the_command_line_reads_what_fit_and_save_wrote(cli, folder, weather_model, tmp_path):
    weather_model.save(tmp_path / "saved")
    for run in (weather_model.path, tmp_path / "saved"):
        cli(folder, "sample", run, "--count", 10, "--numbers", "--out", tmp_path / "s.csv")
        assert csv_text(weather_model.sample(10)) == (tmp_path / "s.csv").read_text()


@pytest.mark.parametrize("missing", ["", "label", "unknown"])
def test_scores(cli, folder, models, weather, missing):
    source = "csv:t.csv" + (f"?missing={missing}" if missing else "")
    cli(folder, "likelihood", "run", "--data", source, "--out", "x.csv", "--per-variable", "cells.csv")
    for model in models:
        found = model.log_prob(weather, cells=True, **({"missing": missing} if missing else {}))
        assert digits(found, 10) == column(rows(folder, "x.csv"), "log_p")
        assert digits(found.std_error, 10) == column(rows(folder, "x.csv"), "std_error")
        for name in weather:
            assert digits(found.cells[name], 7) == column(rows(folder, "cells.csv"), name)


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (["--times", 32, "--seed", 4], {"evaluations": 32, "seed": 4}),
        (["--error", "1%"], {"error": "1%"}),
        (["--error", 0.3, "--each"], {"error": 0.3, "each": True}),
        (["--bound", "path", "--draws", 2], {"bound": "path", "evaluations": 2}),
        (
            ["--bound", "path", "--draws", 2, "--average", "log-mean-exp", "--trace", "exact"],
            {"bound": "path", "evaluations": 2, "log_mean": True},
        ),
        (["--bound", "order"], {"bound": "order"}),
        (["--bound", "order", "--order", "left-to-right"], {"bound": "order", "order": "left-to-right"}),
        (["--bound", "order", "--order", "random"], {"bound": "order", "order": "random"}),
        (["--given", "sky,temp"], {"given": ["sky", "temp"]}),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else "",
)
def test_scores_with_options(cli, folder, weather_model, weather, arguments, options):
    known = weather[weather.notna().all(axis=1)][:2]
    known.to_csv(folder / "known.csv", index=False)
    cli(folder, "likelihood", "run", "--data", "csv:known.csv", "--out", "x.csv", *arguments)
    found = weather_model.log_prob(known, **options)
    assert digits(found, 10) == column(rows(folder, "x.csv"), "log_p")
    assert digits(found.std_error, 10) == column(rows(folder, "x.csv"), "std_error")


def test_completions(cli, folder, models, weather):
    cli(folder, "complete", "run", "--data", "csv:t.csv", "--out", "c.csv")
    cli(folder, "complete", "run", "--data", "csv:t.csv", "--out", "best.csv", "--best")
    for model in models:
        assert csv_text(model.complete(weather)) == (folder / "c.csv").read_text()
        assert csv_text(model.complete(weather, best=True)) == (folder / "best.csv").read_text()


def test_three_completions(cli, folder, models, weather):
    cli(folder, "complete", "run", "--data", "csv:t.csv", "--out", "c3.csv", "--draws", 3, "--seed", 6)
    for model in models:
        found = model.complete(weather, draws=3, seed=6).reset_index("draw")
        found["draw"] += 1  # the command line counts from 1
        assert csv_text(found) == (folder / "c3.csv").read_text()


def test_completions_of_uncertain_labels(cli, folder, weather_model, weather):
    cli(folder, "complete", "run", "--data", "csv:t.csv", "--out", "n.csv", "--noise", 0.2, "--given", "sky,wet,town")
    found = weather_model.complete(weather, noise=0.2, given=["sky", "wet", "town"])
    assert csv_text(found) == (folder / "n.csv").read_text()


def test_probabilities_of_unknown_cells(cli, folder, weather_model, weather):
    cli(folder, "complete", "run", "--data", "csv:t.csv", "--probabilities", "p.csv")
    p, space = weather_model.predict(weather), weather_model.space
    for row in rows(folder, "p.csv"):
        i = space.names.index(row["column"])
        place = space.offset(i) + space.label_names(i).index(row["label"])
        assert digits([p[int(row["row"]) - 1, place]], 6) == [row["probability"]]


def test_prediction_of_a_column(cli, folder, models, weather):
    cli(folder, "predict", "run", "--data", "csv:t.csv", "--column", "town", "--out", "town.csv")
    written = rows(folder, "town.csv")
    for model in models:
        found = model.predict(weather, "town")
        assert [str(label) for label in found.idxmax(axis=1)] == column(written, "label")
        assert digits(found.max(axis=1), 6) == column(written, "probability")


def test_outliers(cli, folder, models, weather):
    cli(folder, "outliers", "run", "--data", "csv:t.csv", "--out", "odd.csv")
    written = sorted(rows(folder, "odd.csv"), key=lambda row: int(row["item"]))
    for model in models:
        found = model.outliers(weather)
        assert digits(found, 9) == column(written, "score")
        assert digits(found.std_error, 9) == column(written, "std_error")
        for name in ("percentile", "nats", "nats_error"):
            assert digits(found.details[name], 9) == column(written, name)
        assert list(found.details["column"]) == column(written, "column")
        assert list(found.details["pair"]) == column(written, "pair")


def test_counts_with_holes(cli, tmp_path):
    """Of which pandas makes floating-point numbers, 10.0, in memory and in files: what either side trained, both can
    use with either form of the data."""
    random = np.random.default_rng(4)
    counts = random.integers(8, 12, 60)
    table = pd.DataFrame({"n": np.where(random.random(60) < 0.2, np.nan, counts), "even": counts % 2 == 0})
    table.to_csv(tmp_path / "t.csv", index=False)
    cli(tmp_path, "train", "--data", "csv:t.csv", "--out", "run", "--set", *words(TINY))
    own = quick(table, out=tmp_path / "own")
    assert tensors(own) == tensors(tmp_path / "run")
    known = table[table["n"].notna()]
    expected = digits(own.log_prob(known), 10)
    for model in (own, segre.load(tmp_path / "run")):
        for data in (known, known.astype({"n": int}), known.astype({"n": "Int64"})):
            assert digits(model.log_prob(data), 10) == expected
    for run in ("run", "own"):
        cli(tmp_path, "complete", run, "--data", "csv:t.csv", "--out", "c.csv")
        assert csv_text(own.complete(table)) == (tmp_path / "c.csv").read_text()


@pytest.fixture(scope="module", params=["sequences", "images"])
def arrays(request, tmp_path_factory, cli):
    """A directory with arrays in x.npy, with unknown cells, the run of the command line, the arrays, the model."""
    folder = tmp_path_factory.mktemp(request.param)
    items = request.getfixturevalue(request.param).astype(np.int64)
    items[::5, ..., -1] = -1
    np.save(folder / "x.npy", items)
    np.save(folder / "few.npy", items[:4])
    config = TINY if request.param == "sequences" else TINY_IMAGE
    cli(folder, "train", "--data", "npy:x.npy", "--out", "run", "--set", *words(config))
    return folder, items, quick(items, config)


def test_weights_of_arrays(arrays):
    folder, _, model = arrays
    assert tensors(model) == tensors(folder / "run")


def test_samples_of_arrays(cli, arrays):
    folder, items, model = arrays
    cli(folder, "sample", "run", "--count", 3, "--out", "s.npy", "--steps", 2)
    drawn = model.sample(3, steps=2)
    assert drawn.shape == (3, *items.shape[1:])
    assert np.array_equal(drawn, np.load(folder / "s.npy"))


def test_scores_of_arrays(cli, arrays):
    folder, items, model = arrays
    cli(folder, "likelihood", "run", "--data", "npy:x.npy", "--out", "x.csv", "--per-variable", "cells.npy")
    found = model.log_prob(items, cells=True)
    assert digits(found, 10) == column(rows(folder, "x.csv"), "log_p")
    assert found.cells.shape == items.shape
    # The command line writes cells as float32.
    assert np.array_equal(found.cells.astype(np.float32), np.load(folder / "cells.npy").astype(np.float32))


def test_completions_of_arrays(cli, arrays):
    folder, items, model = arrays
    few = items[:4]
    short = ["--data", "npy:few.npy", "--set", "sample.steps=1"]
    cli(folder, "complete", "run", *short, "--out", "c.npy")
    cli(folder, "complete", "run", *short, "--out", "best.npy", "--best")
    cli(folder, "complete", "run", *short, "--out", "c2.npy", "--draws", 2, "--given", "1-3")
    assert np.array_equal(model.complete(few, steps=1), np.load(folder / "c.npy"))
    assert np.array_equal(model.complete(few, steps=1, best=True), np.load(folder / "best.npy"))
    two = model.complete(few, steps=1, draws=2, given="1-3")
    assert np.array_equal(two.reshape(-1, *items.shape[1:]), np.load(folder / "c2.npy"))


def test_outliers_of_arrays(cli, arrays):
    folder, items, model = arrays
    known = np.where(items < 0, 0, items)[:6]
    np.save(folder / "known.npy", known)
    arguments = ["--data", "npy:known.npy", "--train", "npy:known.npy", "--times", 16, "--out", "odd.csv"]
    cli(folder, "outliers", "run", *arguments)
    written = sorted(rows(folder, "odd.csv"), key=lambda row: int(row["item"]))
    found = model.outliers(known, train=known, evaluations=16)
    assert digits(found, 9) == column(written, "score")
    assert digits(found.details["percentile"], 9) == column(written, "percentile")


def test_a_source_is_read_as_the_command_line_reads_it(cli, tmp_path):
    """The same source and keys; the package's own reader of CSV files is that of the command line."""
    table = pd.read_csv(io.StringIO("a,b\n" + "x,1\ny,2\nx,2\n" * 20))
    table.to_csv(tmp_path / "t.csv", index=False)
    cli(tmp_path, "train", "--data", "csv:t.csv", "--out", "run", "--set", *words(TINY))
    for data in (table, table.to_dict("list"), f"csv:{tmp_path / 't.csv'}"):
        assert tensors(quick(data)) == tensors(tmp_path / "run")
