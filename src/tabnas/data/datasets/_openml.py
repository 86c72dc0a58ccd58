"""Datasets of OpenML: the paper's by name, all others by their number."""

from __future__ import annotations

from functools import partial

from tabnas.data._table import Table
from tabnas.data.datasets._dataset import Dataset, NamedDataset
from tabnas.data.datasets._folder import FOLDER_VARIABLE
from tabnas.errors import TabNASError

PAPER = {  # by their OpenML number
    "aloi": (42396, "108,000 rows, 128 numbers, 1,000 classes; of the paper"),
    "connect-4": (40668, "67,557 rows, 42 categories, 3 classes; of the paper"),
    "higgs": (23512, "98,050 rows, 28 numbers, 2 classes; of the paper"),
    "volkert": (41166, "58,310 rows, 180 numbers, 10 classes; of the paper"),
}


def load_from_openml(name: str, number: int) -> Dataset:
    """Load a dataset by its number, from scikit-learn's cache or the network."""
    from sklearn.datasets import fetch_openml

    try:
        bunch = fetch_openml(data_id=number, as_frame=True, parser="auto", n_retries=1, delay=0.1)
    except (OSError, ValueError) as error:  # no network; no such number
        raise TabNASError(
            f"the dataset {name!r} (OpenML {number}) is not in the local cache and cannot be "
            f"fetched: {error}; put its file into a folder and name that in {FOLDER_VARIABLE}"
        ) from None
    except ImportError:
        raise TabNASError("datasets of OpenML are read with pandas: pip install pandas") from None
    if not bunch.target_names:
        raise TabNASError(
            f"the dataset {name!r} (OpenML {number}) does not say which column is its target; save "
            "it as a file, and name that column"
        )
    return Dataset(name, Table.from_data(bunch.frame), str(bunch.target_names[0]))


DATASETS = [
    NamedDataset(name, f"OpenML {number}", description, partial(load_from_openml, name, number))
    for name, (number, description) in PAPER.items()
]
