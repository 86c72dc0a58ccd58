"""Tables of every kind to arrays and back."""

from __future__ import annotations

from tabnas.data._encoder import DataWarning, Encoded, TableEncoder
from tabnas.data._kinds import Kind, find_kind
from tabnas.data._labels import Label
from tabnas.data._moments import seconds
from tabnas.data._ordering import group_numbers, moments
from tabnas.data._readers import CRITEO_COLUMNS, read_table
from tabnas.data._splits import (
    Shares,
    Split,
    split_by_group,
    split_by_time,
    split_random,
    split_stratified,
)
from tabnas.data._table import Table
from tabnas.data._target_rows import rows_with_target
from tabnas.data._targets import (
    ClassTarget,
    NumberTarget,
    Target,
    Task,
    fit_target,
    refuse_lonely_classes,
    target_from_dict,
)
from tabnas.data._unseen import UnseenCategories
from tabnas.data._values import MISSING_MARKS, numbers, texts, truths
from tabnas.data.columns import Scaling
from tabnas.data.datasets import (
    DATASETS,
    Dataset,
    Listing,
    NamedDataset,
    bundled_file,
    data_folder,
    list_datasets,
    load_dataset,
)

__all__ = [
    "CRITEO_COLUMNS",
    "DATASETS",
    "MISSING_MARKS",
    "ClassTarget",
    "DataWarning",
    "Dataset",
    "Encoded",
    "Kind",
    "Label",
    "Listing",
    "NamedDataset",
    "NumberTarget",
    "Scaling",
    "Shares",
    "Split",
    "Table",
    "TableEncoder",
    "Target",
    "Task",
    "UnseenCategories",
    "bundled_file",
    "data_folder",
    "find_kind",
    "fit_target",
    "group_numbers",
    "list_datasets",
    "load_dataset",
    "moments",
    "numbers",
    "read_table",
    "refuse_lonely_classes",
    "rows_with_target",
    "seconds",
    "split_by_group",
    "split_by_time",
    "split_random",
    "split_stratified",
    "target_from_dict",
    "texts",
    "truths",
]
