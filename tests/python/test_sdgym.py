"""The synthesizer for SDGym, bench/sdgym_segre.py, called as SDGym calls it."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from conftest import REPOSITORY

METADATA = {
    "METADATA_SPEC_VERSION": "SINGLE_TABLE_V1",
    "primary_key": "guest",
    "columns": {
        "guest": {"sdtype": "id"},
        "mail": {"sdtype": "email", "pii": True},
        "room": {"sdtype": "categorical"},
        "paid": {"sdtype": "boolean"},
        "price": {"sdtype": "numerical", "computer_representation": "Float"},
        "arrival": {"sdtype": "datetime", "datetime_format": "%d %b %Y"},
    },
}


@pytest.fixture(scope="module")
def synthesizer():
    sys.path.insert(0, str(REPOSITORY / "bench"))
    try:
        import sdgym_segre
    finally:
        sys.path.pop(0)
    return sdgym_segre


@pytest.fixture(scope="module")
def hotel():
    random = np.random.default_rng(0)
    room = random.choice([101, 102, 103, 104], 300)
    days = pd.Timestamp("2024-02-01") + pd.to_timedelta(random.integers(0, 200, 300), unit="D")
    return pd.DataFrame(
        {
            "guest": [f"g{k}" for k in range(300)],
            "mail": [f"g{k}@example.org" for k in range(300)],
            "room": room,
            "paid": random.random(300) < 0.5,
            "price": np.round(room - 20 + random.normal(0, 1, 300), 2),
            "arrival": days.strftime("%d %b %Y"),
        }
    )


@pytest.mark.parametrize("form", ["one table", "several tables", "an object"])
def test_rows_are_those_of_the_metadata(synthesizer, hotel, form):
    class Metadata:
        def to_dict(self):
            return METADATA

    metadata = {"one table": METADATA, "several tables": {"tables": {"hotel": METADATA}}, "an object": Metadata()}[form]
    trained = synthesizer.get_trained_synthesizer(hotel, metadata, max_time="2s")
    rows = synthesizer.sample_from_synthesizer(trained, 200)
    assert list(rows) == list(hotel) and len(rows) == 200
    assert rows["guest"].is_unique and rows["mail"].is_unique
    assert rows.dtypes[["room", "paid", "price"]].equals(hotel.dtypes[["room", "paid", "price"]])
    assert set(rows["room"]) <= set(hotel["room"]) and set(rows["paid"]) == {True, False}
    assert rows["price"].between(hotel["price"].min(), hotel["price"].max()).all()
    days = pd.to_datetime(rows["arrival"], format="%d %b %Y")
    assert days.between("2024-02-01", "2024-08-18").all()
