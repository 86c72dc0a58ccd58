"""Models with hashed columns can be saved, and exported without preprocessing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tabnas import TabNASError
from tabnas.data import ClassTarget, Table, TableEncoder
from tabnas.export import export_onnx
from tabnas.model import Model, load_model, save_model
from tests.export.strategies import make_untrained_model

TABLE = Table.from_data(
    {
        "user": [f"u{i % 9}" if i % 5 else None for i in range(40)],
        "size": np.linspace(-1, 1, 40),
        "city": ["Bern", "Basel"] * 20,
    }
)


@pytest.fixture
def model() -> Model:
    encoder = TableEncoder.fit(TABLE, kinds={"user": "hashed"}).with_max_categories(32)
    return make_untrained_model(encoder, ClassTarget(name="answer", classes=("no", "yes")), [4])


def test_a_model_with_hashed_columns_survives_a_round_trip(model: Model, tmp_path: Path) -> None:
    save_model(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.encoder.describe()["user"].startswith("hashed: 32 buckets")
    unseen = Table.from_data(
        {"user": ["never seen", None], "size": [0.1, 0.2], "city": ["Zug", "Bern"]}
    )
    for rows in (TABLE, unseen):
        assert (again.predict_proba(rows) == model.predict_proba(rows)).all()


def test_preprocessing_with_hashed_columns_cannot_be_exported(model: Model, tmp_path: Path) -> None:
    with pytest.raises(
        TabNASError,
        match="'user' is hashed, and ONNX has no such hash; export the weights only",
    ):
        export_onnx(model, tmp_path / "model.onnx")
    assert not (tmp_path / "model.onnx").exists()


def test_weights_only_can_be_exported(model: Model, tmp_path: Path) -> None:
    exported = export_onnx(model, tmp_path / "model.onnx", check=TABLE, weights_only=True)
    assert exported.parity.rows == len(TABLE)
