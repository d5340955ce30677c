"""Tables of Arrow and Polars, and Parquet files: the same models as from pandas, results in the same kind of frame."""

from __future__ import annotations

import datetime
import decimal
import sys

import numpy as np
import pandas as pd
import pytest
from conftest import TINY, assert_one_line, python, quick

import segre

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def make_table(n: int = 120, seed: int = 0):
    """A column of every type that a model can learn, with gaps in some."""
    random = np.random.default_rng(seed)
    sky = random.integers(0, 3, n)
    gaps = random.random(n) < 0.1
    days = [datetime.date(2025, 1, 1) + datetime.timedelta(int(k)) for k in random.integers(0, 90, n)]
    cents = [decimal.Decimal(int(k)) / 100 for k in random.integers(0, 5000, n)]
    return pa.table(
        {
            "sky": pa.DictionaryArray.from_arrays(
                pa.array(sky, pa.int8()), pa.array(["sun", "cloud", "rain", "hail"]), ordered=True
            ),
            "town": pa.array(random.choice(["Bern", "Zürich", 'a, "b"'], n).tolist(), pa.large_string()),
            "wet": pa.array(sky == 2, mask=gaps),
            "storeys": pa.array(random.integers(1, 4, n), pa.int16()),
            "rooms": pa.array(random.integers(1, 9, n), pa.int64(), mask=gaps),
            "temp": pa.array(np.round(20 - 5 * sky + random.normal(0, 3, n), 1)),
            "day": pa.array(days, pa.date32()),
            "price": pa.array(cents, pa.decimal128(8, 2)),
            "when": pa.array(pd.Timestamp("2025-03-01") + pd.to_timedelta(sky, unit="D"), pa.timestamp("ms")),
        }
    )


@pytest.fixture(scope="module")
def table():
    return make_table()


@pytest.fixture(scope="module")
def model(table):
    return quick(table)


def test_samples_have_the_types_of_the_table(table, model):
    drawn = model.sample(200)
    assert isinstance(drawn, pa.Table) and drawn.num_rows == 200
    assert drawn.schema.remove_metadata() == table.schema.remove_metadata()
    assert drawn["sky"].chunk(0).dictionary.to_pylist() == ["sun", "cloud", "rain", "hail"]
    for name in ("town", "storeys", "wet", "rooms"):
        assert set(drawn[name].to_pylist()) <= set(table[name].to_pylist()), name
    for name in ("day", "price", "temp"):
        values = [value for value in table[name].to_pylist() if value is not None]
        assert all(min(values) <= value <= max(values) for value in drawn[name].to_pylist()), name
    assert drawn["wet"].null_count > 0 and drawn["town"].null_count == 0


def test_the_model_is_that_of_the_same_table_in_pandas(table, model):
    """Integers with gaps are floating-point numbers in a plain DataFrame."""
    frame = table.set_column(7, "price", table["price"].cast(pa.float64())).to_pandas()
    other = quick(frame)
    assert isinstance(other.sample(5), pd.DataFrame)
    assert other.space.names == model.space.names
    assert np.array_equal(other.log_prob(frame, evaluations=16), model.log_prob(table, evaluations=16))


def test_answers_are_tables(table, model):
    holed = table.set_column(1, "town", pa.array([None] * table.num_rows, pa.large_string()))
    filled = model.complete(holed)
    assert isinstance(filled, pa.Table) and filled.schema.remove_metadata() == table.schema.remove_metadata()
    assert filled["town"].null_count == 0 and filled["rooms"].null_count == 0
    assert filled["storeys"].equals(table["storeys"]) and filled["price"].equals(table["price"])
    draws = model.complete(holed, draws=3)
    assert draws.num_rows == 3 * table.num_rows and draws["draw"].to_pylist()[:4] == [0, 1, 2, 0]
    towns = model.predict(table, "town")
    assert isinstance(towns, pa.Table)
    assert set(towns.column_names) == set(table["town"].to_pylist())
    assert np.allclose(sum(towns[name].to_numpy() for name in towns.column_names), 1)
    scores = model.log_prob(table, evaluations=16)
    assert scores.shape == (table.num_rows,) and np.isfinite(scores).all()
    assert model.outliers(table, cells=False).shape == (table.num_rows,)
    batch = table.combine_chunks().to_batches()[0]
    assert np.array_equal(model.log_prob(batch, evaluations=16), scores)


def test_the_kind_of_frame_is_part_of_the_run(table, model, tmp_path):
    model.save(tmp_path / "run")
    again = segre.load(tmp_path / "run")
    assert again.sample(20).equals(model.sample(20))
    (tmp_path / "run" / "frame.json").unlink()
    assert isinstance(segre.load(tmp_path / "run").sample(2), pd.DataFrame)


def test_without_pyarrow_samples_are_dataframes(model, tmp_path):
    model.save(tmp_path / "run")
    code = """
import sys
sys.modules["pyarrow"] = None
import segre
print(type(segre.load(sys.argv[1]).sample(2)).__module__.partition(".")[0])
"""
    assert python(code, tmp_path / "run").stdout.strip() == "pandas"


def test_parquet_files(table, model, tmp_path):
    file = tmp_path / "t.parquet"
    parquet.write_table(table, file)
    learned = quick(f"parquet:{file}", without=["when"])
    assert "when" not in learned.space.names and "town" in learned.space.names
    assert isinstance(learned.sample(3), pd.DataFrame)
    assert np.array_equal(model.log_prob(f"parquet:{file}", evaluations=16), model.log_prob(table, evaluations=16))
    assert segre.plan(f"parquet:{file}", config=TINY, progress=False)["data"]["items"] == table.num_rows
    assert segre.data(f"parquet:{file}", 4)["town"].tolist() == table["town"].to_pylist()[:4]


def test_mistakes(table, model, tmp_path):
    (tmp_path / "no.parquet").write_text("a,b\n1,2\n")
    for source, words in {
        f"parquet:{tmp_path}/no.parquet": ["no.parquet", "cannot be read as Parquet"],
        f"parquet:{tmp_path}/not-there.parquet": ["not-there.parquet", "cannot be read"],
        f"parquet:{tmp_path}/t.parquet?without=a": ["without=['id']"],
    }.items():
        with pytest.raises(ValueError) as error:
            quick(source)
        assert_one_line(error.value, *words)
    with pytest.raises(ValueError) as error:
        quick(pa.array([1, 2, 3]))
    assert_one_line(error.value, "Array", "a frame was expected")
    with pytest.raises(ValueError) as error:
        quick(pa.table({"a": [[1], [2]], "b": [1, 2]}))
    assert_one_line(error.value, "column a")


def test_without_pandas(tmp_path):
    """Columns are lists then; decimals and dates are what they were."""
    parquet.write_table(make_table().select(["sky", "town", "storeys", "price", "day"]), tmp_path / "t.parquet")
    code = f"""
import sys

class NoPandas:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pandas":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NoPandas())
import pyarrow.parquet, segre
table = pyarrow.parquet.read_table(sys.argv[1])
model = segre.fit(table, config={TINY!r}, progress=False)
drawn = model.sample(30)
print(type(drawn).__name__, drawn.schema.field("storeys").type, drawn.schema.field("price").type,
      drawn.schema.field("day").type, sorted(set(drawn["town"].to_pylist()) - set(table["town"].to_pylist())))
"""
    found = python(code, tmp_path / "t.parquet").stdout.strip()
    assert found == "Table int16 decimal128(8, 2) date32[day] []"


def test_frames_of_polars(table):
    pl = pytest.importorskip("polars")
    frame = pl.from_arrow(table)
    model = quick(frame)
    drawn = model.sample(50)
    assert isinstance(drawn, pl.DataFrame) and drawn.schema == frame.schema
    assert set(drawn["town"]) <= set(frame["town"])
    filled = model.complete(frame.with_columns(town=pl.lit(None, pl.String)))
    assert isinstance(filled, pl.DataFrame) and filled["town"].null_count() == 0
    assert filled["storeys"].equals(frame["storeys"])
    assert np.allclose(model.predict(frame, "town").sum_horizontal(), 1)
    assert np.array_equal(
        model.log_prob(frame, evaluations=16), model.log_prob(frame.to_arrow(), evaluations=16)
    )


class Offered:
    """A frame of a library that nobody has heard of, which offers it by a protocol."""

    def __init__(self, frame, protocol: str) -> None:
        setattr(self, protocol, getattr(frame, protocol))


@pytest.mark.parametrize("protocol", ["__arrow_c_stream__", "__dataframe__"])
def test_protocols(protocol, table, model):
    plain = table.select(["town", "storeys", "temp"])
    offered = Offered(plain, protocol)
    learned = quick(offered)
    assert isinstance(learned.sample(2), pa.Table)
    assert learned.sample(9).equals(quick(plain).sample(9))


def test_nothing_is_imported_for_others():
    python("import sys, segre; assert not {'pyarrow', 'polars', 'sklearn'} & set(sys.modules)")
    assert "pyarrow" in sys.modules
