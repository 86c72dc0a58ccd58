"""Read tables of every kind, and encode them as arrays."""

from __future__ import annotations

from tabnas.data._datetimes import to_seconds
from tabnas.data._encoder import DataWarning, EncodedTable, LabelledArrays, TableEncoder
from tabnas.data._kinds import Kind, infer_kind
from tabnas.data._knots import choose_knots, summarize_values
from tabnas.data._labels import Label
from tabnas.data._readers import CRITEO_COLUMNS, read_table
from tabnas.data._splits import (
    Split,
    split_by_group,
    split_by_time,
    split_random,
    split_stratified,
    to_group_ids,
    to_times,
)
from tabnas.data._table import Table
from tabnas.data._target_knots import KnotTarget, choose_target_knots
from tabnas.data._targets import (
    ClassTarget,
    NumberTarget,
    Target,
    Task,
    check_class_counts,
    find_labelled_rows,
    fit_target,
    target_from_dict,
)
from tabnas.data._unseen import UnseenCategories
from tabnas.data._values import NA_VALUES, to_booleans, to_numbers, to_texts
from tabnas.data.csv_files import FractionCallback
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
from tabnas.shares import Shares
from tabnas.types import Scaling

__all__ = [
    "CRITEO_COLUMNS",
    "DATASETS",
    "NA_VALUES",
    "ClassTarget",
    "DataWarning",
    "Dataset",
    "EncodedTable",
    "FractionCallback",
    "Kind",
    "KnotTarget",
    "Label",
    "LabelledArrays",
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
    "check_class_counts",
    "choose_knots",
    "choose_target_knots",
    "data_folder",
    "find_labelled_rows",
    "fit_target",
    "infer_kind",
    "list_datasets",
    "load_dataset",
    "read_table",
    "split_by_group",
    "split_by_time",
    "split_random",
    "split_stratified",
    "summarize_values",
    "target_from_dict",
    "to_booleans",
    "to_group_ids",
    "to_numbers",
    "to_seconds",
    "to_texts",
    "to_times",
]
