"""The page and the picture of `equal_bytes.py`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.lines import Line2D

from tabnas.paper._figures import make_panels, save_figure

PICTURE = "equal_bytes/losses.png"
AT_EQUAL_BYTES = (  # methods of the picture and the tables, with their colours
    ("tabnas", "#1b6ca8"), ("tabnas float32", "#7fb2d9"), ("equal widths", "#9aa5ad"),
    ("LightGBM", "#6a994e"), ("RealMLP", "#c8553d"), ("TabM", "#e09f3e"), ("MLP", "#8d6a9f"),
    ("pruned", "#b08968"), ("LightGBM file", "#a7c957"),
)  # fmt: skip
FREE = ("LightGBM", "RealMLP", "TabM")
PARTS = {
    "search": "part_without_search",
    "equal layers": "part_without_equal_layers",
    "widening": "part_without_widening",
    "numeric embeddings": "part_without_embeddings",
    "teacher": "part_without_teacher",
    "averaging": "part_without_averaging",
    "int8": "tabnas_float32",
}
PART_LIMIT, FREE_LIMIT = 20_000, 80_000
COLUMNS = 3  # of panels

Losses = dict[tuple[str, int | None, int], float]
"""The loss of a method by table, limit and seed."""


def write_page(out: Path) -> None:
    """Write the page and the picture of what has been measured so far."""
    contents = {
        path.stem: json.loads(path.read_text()) for path in (out / "equal_bytes").glob("*.json")
    }
    losses = {
        name: {(row["table"], row["limit"], row["seed"]): row["loss"] for row in content["rows"]}
        for name, content in contents.items()
    }
    if "tabnas" not in losses:  # others are compared with it
        return
    methods = {
        method: losses[key]
        for method, _ in AT_EQUAL_BYTES
        if (key := method.lower().replace(" ", "_")) in losses
    }
    ours = contents["tabnas"]
    tables = list(dict.fromkeys(row["table"] for row in ours["rows"]))
    limits = sorted({limit for _, limit, _ in losses["tabnas"] if limit is not None})
    lines = [
        "# Equal bytes",
        "",
        f"`{ours['command']}`, {ours['date']}. Log loss, or RMSE for california_housing and "
        "nats_bench_size_cifar10, on test rows: mean over seeds, each with a split of its own "
        "that all methods share. Of a method with fewer seeds than tabnas, it is the mean of "
        "tabnas plus the mean difference over common seeds. Tables of more than 50,000 rows are "
        "sampled. The lowest mean of a row is bold; a blank means that the method cannot keep the "
        "limit, or was not measured. "
        "How each method is tuned is in the modules of `benchmarks/peers`.",
    ]
    if len(limits) > 1:
        _draw(methods, tables, limits, out / PICTURE)
        alt = "Loss against bytes for every table, one curve for each method"
        lines += ["", f"![{alt}]({PICTURE})"]
    for limit in limits:
        lines += ["", f"## {limit // 1_000} kB", "", *_table(methods, tables, limit)]
    lines += ["", "## Without a limit", "", *_free_table(methods, tables)]
    lines += ["", "## What each part is worth", "", *_parts_table(losses, tables)]
    lines += ["", _describe_rounding(contents["tabnas"])]
    lines += ["", "## Time", "", *_time_table(contents, tables)]
    (out / "equal_bytes.md").write_text("\n".join(lines) + "\n")


def _mean(
    losses: Losses, table: str, limit: int | None, ours: Losses | None = None
) -> tuple[float, int] | None:
    """Return the mean loss over seeds, and how many there are.

    If there are fewer seeds than in `ours`, it is the mean of ours plus the mean difference over
    the common seeds, which splits of different difficulty do not change.
    """
    values = _by_seed(losses, table, limit)
    if not values:
        return None
    if ours is None:
        return float(np.mean(list(values.values()))), len(values)
    all_ours = _by_seed(ours, table, limit if limit is not None else FREE_LIMIT)
    common = values.keys() & all_ours.keys()
    if not common:
        return float(np.mean(list(values.values()))), len(values)
    difference = np.mean([values[seed] - all_ours[seed] for seed in common])
    return float(np.mean(list(all_ours.values())) + difference), len(common)


def _by_seed(losses: Losses, table: str, limit: int | None) -> dict[int, float]:
    return {seed: loss for (name, at, seed), loss in losses.items() if (name, at) == (table, limit)}


def _table(methods: dict[str, Losses], tables: list[str], limit: int) -> list[str]:
    lines = ["| table | seeds | " + " | ".join(methods) + " |", "|---" * (len(methods) + 2) + "|"]
    ahead: dict[str, int] = dict.fromkeys(methods, 0)
    for table in tables:
        ours = methods["tabnas"]
        means = {m: _mean(losses, table, limit, ours) for m, losses in methods.items()}
        known = {m: mean[0] for m, mean in means.items() if mean is not None}
        if not known:
            continue
        best = min(known, key=known.__getitem__)
        ahead[best] += 1
        seeds = sorted({mean[1] for mean in means.values() if mean is not None})
        cells = [
            "" if m not in known else f"**{known[m]:.4f}**" if m == best else f"{known[m]:.4f}"
            for m in methods
        ]
        counted = "-".join(map(str, dict.fromkeys((seeds[0], seeds[-1]))))
        lines.append(f"| {table} | {counted} | {' | '.join(cells)} |")
    counts = ", ".join(f"{m} on {n}" for m, n in ahead.items() if n)
    return [*lines, "", f"Lowest mean loss: {counts}."]


def _free_table(methods: dict[str, Losses], tables: list[str]) -> list[str]:
    free = [m for m in FREE if m in methods]
    if not any(at == FREE_LIMIT for _, at, _ in methods["tabnas"]):
        return ["Not measured yet."]
    lines = [
        f"tabnas within {FREE_LIMIT // 1_000} kB beside the others without a limit.",
        "",
        "| table | tabnas | " + " | ".join(free) + " |",
        "|---" * (len(free) + 2) + "|",
    ]
    ahead: dict[str, list[bool]] = {m: [] for m in free}
    for table in tables:
        ours = _mean(methods["tabnas"], table, FREE_LIMIT)
        if ours is None:
            continue
        cells = []
        for method in free:
            mean = _mean(methods[method], table, None, methods["tabnas"])
            cells.append("" if mean is None else f"{mean[0]:.4f}")
            if mean is not None:
                ahead[method].append(ours[0] < mean[0])
        lines.append(f"| {table} | {ours[0]:.4f} | {' | '.join(cells)} |")
    counts = ", ".join(f"of {m} on {sum(won)} of {len(won)}" for m, won in ahead.items())
    return [*lines, "", f"tabnas is ahead {counts} tables."]


def _parts_table(losses: dict[str, Losses], tables: list[str]) -> list[str]:
    parts = {name: losses[key] for name, key in PARTS.items() if key in losses}
    lines = [
        f"What the loss within {PART_LIMIT // 1_000} kB becomes without one part of the default: "
        "the mean of paired differences over seeds, in per cent of the default's loss, with its "
        "standard error if there are several. Candidates are networks of the search, widened "
        "until they use up the limit, and networks of two equal layers. Without a search there "
        "are only the latter, without equal layers only as many of the former.",
        "",
        "| table | default | " + " | ".join(f"without {name}" for name in parts) + " |",
        "|---" * (len(parts) + 2) + "|",
    ]
    everywhere: dict[str, list[float]] = {name: [] for name in parts}
    for table in tables:
        ours = _mean(losses["tabnas"], table, PART_LIMIT)
        if ours is None:
            continue
        cells = []
        for name, others in parts.items():
            changes = [
                100 * (loss / losses["tabnas"][at] - 1)
                for at, loss in others.items()
                if at[:2] == (table, PART_LIMIT) and at in losses["tabnas"]
            ]
            if not changes:
                cells.append("")
                continue
            mean = float(np.mean(changes))
            everywhere[name].append(mean)
            error = np.std(changes, ddof=1) / len(changes) ** 0.5 if len(changes) > 1 else None
            cells.append(f"{mean:+.1f}" if error is None else f"{mean:+.1f} ± {error:.1f}")
        lines.append(f"| {table} | {ours[0]:.4f} | {' | '.join(cells)} |")
    means = [f"{np.mean(values):+.1f}" if values else "" for values in everywhere.values()]
    return [*lines, f"| mean | | {' | '.join(means)} |"]


def _describe_rounding(content: dict[str, Any]) -> str:
    """Return a sentence on the networks with int8 weights."""
    changes = [row["rounding"] for row in content["rows"] if row["detail"].endswith("int8")]
    return (
        f"{len(changes)} of {len(content['rows'])} networks have int8 weights. Rounding changed "
        f"their loss on validation rows by {np.mean(changes):+.5f} on average, "
        f"{min(changes):+.4f} to {max(changes):+.4f}."
    )


def _time_table(contents: dict[str, Any], tables: list[str]) -> list[str]:
    """Return the table of seconds, of runs that had the machine to themselves."""
    timed = contents.get("time")
    if timed is None:
        return ["Not measured yet."]
    seconds = {(row["table"], row["method"]): row["seconds"] for row in timed["rows"]}
    methods = list(dict.fromkeys(method for _, method in seconds))
    lines = [
        f"Seconds until the model within {PART_LIMIT // 1_000} kB is there, tuning included, "
        f"one run on {timed['machine']['cores']} cores.",
        "",
        "| table | " + " | ".join(methods) + " |",
        "|---" * (len(methods) + 1) + "|",
    ]
    for table in tables:
        cells = [f"{seconds[table, m]:.0f}" if (table, m) in seconds else "" for m in methods]
        lines.append(f"| {table} | {' | '.join(cells)} |")
    return lines


def _draw(methods: dict[str, Losses], tables: list[str], limits: list[int], path: Path) -> None:
    colours = dict(AT_EQUAL_BYTES)
    figure, axes = make_panels(len(tables), width=3.4, height=2.7)
    for axis, table in zip(axes, tables, strict=False):
        shown = []
        for method, losses in methods.items():
            if method == "LightGBM file":
                continue
            means = {n: _mean(losses, table, n, methods["tabnas"]) for n in limits}
            points = [(n, mean[0]) for n, mean in means.items() if mean]
            if not points:
                continue
            shown += [loss for _, loss in points]
            axis.plot(
                *zip(*points, strict=True), label=method, color=colours[method],
                linewidth=2.4 if method == "tabnas" else 1.3, marker="o", markersize=3,
                zorder=3 if method == "tabnas" else 2,
            )  # fmt: skip
        for method in FREE:
            if method not in methods:
                continue
            mean = _mean(methods[method], table, None, methods["tabnas"])
            if mean is not None:
                shown.append(mean[0])
                axis.axhline(mean[0], color=colours[method], linestyle=":", linewidth=1)
        ours = [mean[0] for n in limits if (mean := _mean(methods["tabnas"], table, n))]
        low, high = min(shown), max(ours)
        axis.set_ylim(low - 0.08 * (high - low), high + 0.6 * (high - low))
        axis.set_xscale("log")
        axis.set_xticks(limits, [f"{n // 1_000}" for n in limits])
        axis.minorticks_off()
        axis.set_title(table.replace("_", " "), fontsize=10)
        axis.tick_params(labelsize=8)
        axis.spines[["top", "right"]].set_visible(False)
    for axis in axes[-COLUMNS:]:
        axis.set_xlabel("kilobytes", fontsize=9)
    for axis in axes[::COLUMNS]:
        axis.set_ylabel("loss on test rows", fontsize=9)
    handles, labels = axes[0].get_legend_handles_labels()
    handles.append(Line2D([], [], color="black", linestyle=":", linewidth=1))
    labels.append("without a limit")
    figure.legend(handles, labels, loc="outside lower center", ncols=6, fontsize=8, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    save_figure(figure, path)
