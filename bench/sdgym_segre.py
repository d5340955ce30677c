#!/usr/bin/env python3
"""segre as a synthesizer of SDGym, the benchmark of the Synthetic Data Vault: `pip install sdgym` beside segre, then

    bench/sdgym_segre.py adult alarm --against GaussianCopulaSynthesizer CTGANSynthesizer --max-time 60s

which trains all of them on the named data sets, downloaded by SDGym, and prints its table of scores. --folder DIR has
data sets of your own, DIR/single_table/NAME/ with data.zip and metadata.json. In a program:

    sdgym.benchmark_single_table(custom_synthesizers=[sdgym_segre.synthesizer("60s")], sdv_datasets=["adult"])

Keys and other identifiers are counted anew. Columns that the metadata call categorical or boolean are labels whatever
their values are, numerical ones are numbers, and dates come back in the format that they had.
"""

from __future__ import annotations

import argparse
from typing import Any

import pandas as pd

import segre

LABELS = ("categorical", "boolean")
NUMBERS = "numerical"
DATES = "datetime"


class Trained:
    """A model with what the metadata say about its table."""

    def __init__(self, data: pd.DataFrame, metadata: Any, max_time: str) -> None:
        self.columns = columns_of(metadata)
        self.names = list(data.columns)
        self.dtypes = data.dtypes
        table = pd.DataFrame({name: self.learnable(data[name]) for name in data if self.is_learned(name)})
        kinds = {name: "labels" for name in table if self.kind(name) in LABELS}
        self.model = segre.fit(table, max_time=max_time, numbers=kinds or None, progress=False)

    def kind(self, name: str) -> str:
        return str(self.columns.get(name, {}).get("sdtype", "unknown"))

    def is_learned(self, name: str) -> bool:
        """Anything else is an identifier, or personal: an address, a telephone number."""
        return self.kind(name) in (*LABELS, NUMBERS, DATES)

    def learnable(self, column: pd.Series) -> pd.Series:
        if self.kind(name := str(column.name)) != DATES or column.dtype.kind == "M":
            return column
        return pd.to_datetime(column, format=self.columns[name].get("datetime_format"))

    def sample(self, count: int) -> pd.DataFrame:
        """Rows with all columns of the table, in its types."""
        drawn = self.model.sample(count)
        return pd.DataFrame({name: self.as_given(name, drawn, count) for name in self.names})

    def as_given(self, name: str, drawn: pd.DataFrame, count: int) -> pd.Series:
        if name not in drawn:
            texts = self.dtypes[name].kind not in "iuf"
            return pd.Series([f"{name}-{k}" if texts else k for k in range(count)])
        pattern = self.columns[name].get("datetime_format")
        if self.kind(name) == DATES and pattern and self.dtypes[name].kind != "M":
            return drawn[name].dt.strftime(pattern)
        return drawn[name]


def columns_of(metadata: Any) -> dict[str, Any]:
    """The columns of a single table in metadata of SDV: the object, its dictionary, or one of several tables."""
    found = metadata if isinstance(metadata, dict) else metadata.to_dict()
    if "tables" in found:
        (found,) = found["tables"].values()
    return dict(found["columns"])


def get_trained_synthesizer(data: pd.DataFrame, metadata: Any, max_time: str = "60s") -> Trained:
    """What SDGym calls to train."""
    return Trained(data, metadata, max_time)


def sample_from_synthesizer(synthesizer: Trained, n: int) -> pd.DataFrame:
    """What SDGym calls to sample."""
    return synthesizer.sample(n)


def synthesizer(max_time: str = "60s") -> Any:
    """A class for `custom_synthesizers` of sdgym.benchmark_single_table."""
    import sdgym

    return sdgym.create_single_table_synthesizer(
        display_name="segre",
        get_trained_synthesizer_fn=lambda data, metadata: get_trained_synthesizer(data, metadata, max_time),
        sample_from_synthesizer_fn=sample_from_synthesizer,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="*", help="of SDGym, such as adult")
    parser.add_argument("--against", nargs="*", default=["GaussianCopulaSynthesizer"], help="synthesizers of SDV")
    parser.add_argument("--max-time", default="60s", help="for each training of segre")
    parser.add_argument("--folder", help="a folder of further data sets")
    parser.add_argument("--out", help="also write the table to this CSV file")
    args = parser.parse_args()
    import sdgym

    scores = sdgym.benchmark_single_table(
        synthesizers=args.against,
        custom_synthesizers=[synthesizer(args.max_time)],
        sdv_datasets=args.datasets or None,
        additional_datasets_folder=args.folder,
        compute_quality_score=True,
        compute_diagnostic_score=True,
    )
    print(scores.to_string())
    if args.out:
        scores.to_csv(args.out, index=False)


if __name__ == "__main__":
    main()
