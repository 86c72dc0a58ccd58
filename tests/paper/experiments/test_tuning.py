from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

pytest.importorskip("matplotlib")

NAME = "tuning"


@pytest.mark.slow
def test_abs_has_a_narrow_window(summary: dict[str, Any]) -> None:
    weak, *others = summary["toy"]["by_beta"]
    assert weak["infeasible"] == 1
    assert all(row["success"] < 0.5 for row in others)


@pytest.mark.slow
def test_more_samples_are_better_and_never_infeasible(summary: dict[str, Any]) -> None:
    few, *_, many = summary["toy"]["by_samples"]
    within = next(row for row in summary["toy"]["exact"] if row["sample_from"] == "feasible")
    assert few["success"] < many["success"] + 0.05
    assert few["success"] + 0.1 < within["success"]
    rejections = [*summary["toy"]["by_samples"], *summary["toy"]["exact"]]
    assert all(row["infeasible"] == 0 for row in rejections)


@pytest.mark.slow
def test_searches_stay_within_the_limit_and_record_estimates(
    out: Path, summary: dict[str, Any]
) -> None:
    rows = pq.read_table(out / "rows.parquet").to_pylist()
    searches = {row["samples"]: row for row in rows if row["part"] == "search"}
    assert set(searches) == {"16", "2048", "exact"}
    limit = summary["tables"]["higgs"]["limit"]
    for row in searches.values():
        assert row["selected_cost"] <= limit
        assert len(row["p_feasible"]) == len(row["progress"]) == 9
        assert (row["progress"][0], row["progress"][-1]) == (0, 1)
        assert all(loss > 0 for loss in row["losses"])
    assert searches["exact"]["p_estimated"] == [None] * 9
    few, many = (_errors(searches[samples]) for samples in ("16", "2048"))
    assert max(many) < 0.04
    assert sum(few) > 2 * sum(many)


def _errors(row: dict[str, Any]) -> list[float]:
    return [abs(a - b) for a, b in zip(row["p_estimated"], row["p_feasible"], strict=True)]


@pytest.mark.slow
def test_the_report_compares_with_the_paper(out: Path) -> None:
    text = (out / "README.md").read_text()
    assert "a sample: 22,974 rows" in text
    assert "The paper" in text
    for name in ("toy", "searches"):
        assert f"({name}.png)" in text
        assert (out / f"{name}.png").exists()
        assert (out / f"{name}.svg").exists()
