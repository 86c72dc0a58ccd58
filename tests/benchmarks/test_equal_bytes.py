"""The numbers that the comparison at equal bytes is summarized by."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest


def make_row(table: str, seed: int, loss: float, limit: int | None = 20_000) -> dict[str, Any]:
    return {"table": table, "seed": seed, "limit": limit, "loss": loss}


def summarize(**methods: list[dict[str, Any]]) -> dict[str, Any]:
    from equal_bytes_summary import summarize

    return summarize({name: {"rows": rows} for name, rows in methods.items()})


def test_means_of_fewer_seeds_are_as_if_of_all() -> None:
    ours = [make_row("adult", 5, 0.2), make_row("adult", 6, 0.4)]
    (limit,) = summarize(tabnas=ours, lightgbm=[make_row("adult", 6, 0.5)])["limits"]
    (row,) = limit["rows"]
    assert row["losses"] == {"tabnas": pytest.approx(0.3), "LightGBM": pytest.approx(0.4)}
    assert row["seeds"] == {"tabnas": 2, "LightGBM": 1}


def test_seeds_that_defaults_were_chosen_by_do_not_count() -> None:
    ours = [make_row("adult", 4, 0.1), make_row("adult", 5, 0.3)]
    (limit,) = summarize(tabnas=ours, realmlp=[make_row("adult", 4, 0.01)])["limits"]
    assert limit["rows"][0]["losses"] == {"tabnas": pytest.approx(0.3)}


def test_a_lead_is_over_the_best_of_the_others() -> None:
    ours = [make_row("adult", 5, 0.20), make_row("adult", 6, 0.30)]
    float32 = [make_row("adult", 5, 0.10), make_row("adult", 6, 0.20)]
    trees = [make_row("adult", 5, 0.22), make_row("adult", 6, 0.33)]
    mlp = [make_row("adult", 5, 0.40), make_row("adult", 6, 0.60)]
    summary = summarize(tabnas=ours, tabnas_float32=float32, lightgbm=trees, mlp=mlp)
    (limit,) = summary["limits"]
    lead = limit["rows"][0]["lead"]
    assert lead["over"] == "LightGBM"
    assert lead["change"] == pytest.approx(10)
    assert lead["error"] == pytest.approx(0, abs=1e-9)
    assert (limit["ours"], limit["clearly_ahead"], limit["clearly_behind"]) == (1, 1, 0)
    assert limit["ahead"] == {"tabnas float32": 1}


def test_rounded_peers_are_compared_by_themselves() -> None:
    ours, float32 = ([make_row("adult", 5, loss)] for loss in (0.30, 0.35))
    plain, rounded = ([make_row("adult", 5, loss)] for loss in (0.40, 0.28))
    summary = summarize(
        tabnas=ours, tabnas_float32=float32, plain_network=plain, plain_int8=rounded
    )
    (limit,) = summary["limits"]
    (row,) = limit["rows"]
    leads = [row[key]["over"] for key in ("lead", "float32_lead", "rounded_lead")]
    assert leads == ["plain network", "plain network", "plain int8"]
    assert (limit["ours"], limit["float32_ours"], limit["rounded_ours"]) == (1, 1, 0)
    assert limit["ahead"] == {"plain int8": 1}
    assert limit["rounded"] == {"plain int8": {"won": 0, "of": 1}}


def test_a_method_is_counted_on_the_tables_where_it_was_measured() -> None:
    ours = [make_row("adult", 5, 0.2), make_row("letter", 5, 0.2), make_row("sleep", 5, 0.2)]
    rounded = [make_row("adult", 5, 0.1), make_row("letter", 5, 0.3), make_row("sleep", 6, 0.3)]
    (limit,) = summarize(tabnas=ours, realmlp_int8=rounded)["limits"]
    assert limit["rounded"] == {"RealMLP int8": {"won": 1, "of": 2}}


def test_one_seed_is_never_a_clear_lead() -> None:
    summary = summarize(tabnas=[make_row("adult", 5, 0.2)], mlp=[make_row("adult", 5, 0.9)])
    (limit,) = summary["limits"]
    assert (limit["ours"], limit["clearly_ahead"]) == (1, 0)


def test_equal_methods_do_not_differ_on_average() -> None:
    from equal_bytes_summary import average_change

    rng = np.random.default_rng(0)
    first, second = (dict(enumerate(np.exp(rng.normal(0, 0.3, 4_000)))) for _ in range(2))
    change = average_change(first, second)
    assert abs(change["change"]) < 3 * change["error"]
    back = average_change(second, first)
    assert (1 + change["change"] / 100) * (1 + back["change"] / 100) == pytest.approx(1)


def test_parts_are_paired_by_seed_and_table() -> None:
    ours = [make_row("adult", 5, 0.2), make_row("adult", 6, 0.4), make_row("letter", 5, 1.0)]
    without = [make_row("adult", 5, 0.3), make_row("adult", 6, 0.6), make_row("letter", 6, 9.0)]
    (part,) = summarize(tabnas=ours, part_without_teacher=without)["parts"]
    assert [row["table"] for row in part["rows"]] == ["adult"]
    assert part["mean"] == pytest.approx(50)


def test_rows_that_are_measured_again_replace_the_former_ones(tmp_path: Path) -> None:
    from equal_bytes import add

    path = tmp_path / "tabnas.json"
    rows = [make_row("adult", 5, 0.3), make_row("adult", 6, 0.3)]
    add(path, rows=rows)
    add(path, done=[["adult", 5, 20_000]], rows=[make_row("adult", 5, 0.2)])
    left = json.loads(path.read_text())["rows"]
    assert [(row["seed"], row["loss"]) for row in left] == [(6, 0.3), (5, 0.2)]


def test_the_bytes_of_trees_count_leaves_and_sets_of_categories() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    from peers.boosted_trees import leaf_sizes

    rng = np.random.default_rng(0)
    x = np.stack([rng.normal(size=500), rng.integers(40, size=500)], axis=1)
    y = x[:, 0] + 3 * (x[:, 1] % 2)
    data = lightgbm.Dataset(x, y, categorical_feature=[1])
    options = {"num_leaves": 8, "min_data_per_group": 1, "verbose": -1, "num_threads": 1}
    booster = lightgbm.train(options, data, 3)
    trees = booster.dump_model()["tree_info"]

    def count_words(node: dict[str, Any]) -> int:
        """Return the words of 4 bytes that sets take beyond those of thresholds."""
        if "split_feature" not in node:
            return 0
        below = count_words(node["left_child"]) + count_words(node["right_child"])
        if node["decision_type"] != "==":
            return below
        return below + max(map(int, node["threshold"].split("||"))) // 32  # one is the threshold's

    sizes = [10 * tree["num_leaves"] + 4 * count_words(tree["tree_structure"]) for tree in trees]
    assert leaf_sizes(booster).tolist() == np.cumsum(sizes).tolist()
    assert sum(count_words(tree["tree_structure"]) for tree in trees) > 0


def test_significance_depends_on_the_number_of_seeds() -> None:
    from equal_bytes_summary import _is_clear

    assert _is_clear({"change": 2.8, "error": 1.0, "seeds": 5}, 1)
    assert not _is_clear({"change": 2.7, "error": 1.0, "seeds": 5}, 1)
    assert not _is_clear({"change": 12.0, "error": 1.0, "seeds": 2}, 1)
    assert _is_clear({"change": -2.8, "error": 1.0, "seeds": 5}, -1)


def test_fresh_tables_are_summarized_by_themselves() -> None:
    ours = [make_row("adult", 5, 0.2), make_row("movies", 5, 1.0)]
    summary = summarize(tabnas=ours, lightgbm=[make_row("movies", 5, 1.1)])
    assert summary["tables"] == ["adult"]
    assert [row["table"] for row in summary["fresh"]["rows"]] == ["movies"]
    assert summary["fresh"]["ours"] == 1


def test_rounded_matrices_have_a_scale_for_each_unit() -> None:
    torch = pytest.importorskip("torch")
    from peers.pytabkit_models import _count_bytes, _round_weights

    weights = [torch.randn(1, 30, 5), torch.randn(1, 1, 5)]
    matrix, bias = (each.clone() for each in weights)
    assert _count_bytes(weights, int8=False) == 4 * (150 + 5)
    assert _count_bytes(weights, int8=True) == 150 + 4 * 5 + 4 * 5
    _round_weights(weights)
    assert torch.equal(weights[1], bias)
    step = matrix.abs().amax(dim=1, keepdim=True) / 127
    assert bool(((weights[0] - matrix).abs() <= 0.5001 * step).all())
    assert len(torch.unique(torch.round(weights[0] / step))) <= 255
