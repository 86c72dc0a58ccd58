"""The page and the picture of `equal_bytes.py`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from _shared import write_results
from equal_bytes_summary import FREE, PART_LIMIT, summarize
from matplotlib.lines import Line2D

from tabnas.paper._figures import make_panels, save_figure

PICTURE = "equal_bytes/losses.png"
COLOURS = {
    "tabnas": "#1b6ca8", "tabnas float32": "#7fb2d9", "equal widths": "#9aa5ad",
    "LightGBM": "#6a994e", "RealMLP": "#c8553d", "TabM": "#e09f3e", "MLP": "#8d6a9f",
    "pruned": "#b08968",
}  # fmt: skip
COLUMNS = 3  # of panels
ORIGIN = ("command", "date", "machine", "versions")


def write_page(out: Path) -> None:
    """Write the page and the picture of what has been measured so far."""
    folder = out / "equal_bytes"
    contents = {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}
    if "tabnas" not in contents:  # others are compared with it
        return
    ours, summary = contents["tabnas"], summarize(contents)
    lines = [
        "# Equal bytes",
        "",
        f"`{ours['command']}`, {ours['date']}. Log loss, or RMSE for california_housing and "
        "nats_bench_size_cifar10, on test rows: mean over seeds, each with a split of its own "
        "that all methods share. Of a method with fewer seeds than tabnas, it is the mean of "
        "tabnas plus the mean difference over common seeds. Tables of more than 50,000 rows are "
        "sampled. The lowest mean of a row is bold; a blank means that the method cannot keep the "
        "limit, or was not measured. How each method is tuned is in the modules of "
        "`benchmarks/peers`.",
        "",
        "Others are tuned on validation rows. The defaults of tabnas were chosen with the help of "
        "test losses on these tables and splits, among some twenty rules for candidates, so its "
        "losses are somewhat optimistic.",
    ]
    if "note" in ours:  # on rows that were measured in another way than the others
        lines += ["", ours["note"]]
    if len(summary["limits"]) > 1:
        _draw(summary, out / PICTURE)
        alt = "Loss against bytes for every table, one curve for each method"
        lines += [
            "",
            f"![{alt}]({PICTURE})",
            "",
            "Curves that leave a panel are worse. A panel has the seeds that its limits share.",
        ]
    for limit in summary["limits"]:
        lines += ["", f"## {limit['limit'] // 1_000} kB", "", *_limit_table(summary, limit)]
    lines += ["", "## Without a limit", "", *_free_table(summary["free"])]
    lines += ["", "## What each part is worth", "", *_parts_table(summary)]
    lines += ["", _describe_rounding(ours)]
    lines += ["", "## Time", "", *_time_table(contents.get("time"), summary["tables"])]
    origin = {key: ours[key] for key in ORIGIN if key in ours}
    write_results(out, "equal_bytes", origin | summary, "\n".join(lines) + "\n")


def _limit_table(summary: dict[str, Any], limit: dict[str, Any]) -> list[str]:
    measured = {method for row in limit["rows"] for method in row["losses"]}
    methods = [method for method in summary["methods"] if method in measured]
    lines = ["| table | seeds | " + " | ".join(methods) + " |", "|---" * (len(methods) + 2) + "|"]
    for row in limit["rows"]:
        losses, seeds = row["losses"], sorted(set(row["seeds"].values()))
        cells = [f"{losses[method]:.4f}" if method in losses else "" for method in methods]
        cells[methods.index(row["best"])] = f"**{losses[row['best']]:.4f}**"
        counted = "-".join(map(str, dict.fromkeys((seeds[0], seeds[-1]))))
        lines.append(f"| {row['table']} | {counted} | {' | '.join(cells)} |")
    counts = ", ".join(f"{method} on {n}" for method, n in limit["ahead"].items())
    summed = f"The default of tabnas is ahead of all others on {limit['ours']} of {limit['tables']}"
    return [*lines, "", f"Lowest mean loss: {counts}. {summed}."]


def _free_table(free: dict[str, Any]) -> list[str]:
    if not free["rows"]:
        return ["Not measured yet."]
    methods = [method for method in ("tabnas", *FREE) if any(method in row for row in free["rows"])]
    lines = [
        f"tabnas within {free['limit'] // 1_000} kB beside the others without a limit.",
        "",
        "| table | " + " | ".join(methods) + " |",
        "|---" * (len(methods) + 1) + "|",
    ]
    for row in free["rows"]:
        cells = [f"{row[method]:.4f}" if method in row else "" for method in methods]
        lines.append(f"| {row['table']} | {' | '.join(cells)} |")
    counts = ", ".join(
        f"of {method} on {n['won']} of {n['of']}" for method, n in free["ahead"].items()
    )
    return [*lines, "", f"tabnas is ahead {counts} tables."]


def _parts_table(summary: dict[str, Any]) -> list[str]:
    parts = summary["parts"]
    lines = [
        f"What the loss within {PART_LIMIT // 1_000} kB becomes without one part of the default: "
        "the mean of paired differences over seeds, in per cent of the default's loss, with its "
        "standard error. Candidates are networks of the search, widened until they use up the "
        "limit, and networks of two equal layers. Without a search there are only the latter, "
        "without equal layers only as many of the former.",
        "",
        "| table | " + " | ".join(f"without {part['part']}" for part in parts) + " |",
        "|---" * (len(parts) + 1) + "|",
    ]
    for table in summary["tables"]:
        rows = [next((r for r in part["rows"] if r["table"] == table), None) for part in parts]
        cells = ["" if row is None else _format_change(row["change"], row["error"]) for row in rows]
        lines.append(f"| {table} | {' | '.join(cells)} |")
    means = [_format_change(part["mean"], part["error"]) for part in parts]
    return [*lines, f"| mean | {' | '.join(means)} |"]


def _format_change(change: float | None, error: float | None) -> str:
    if change is None:
        return ""
    return f"{change:+.1f}" if error is None else f"{change:+.1f} ± {error:.1f}"


def _describe_rounding(content: dict[str, Any]) -> str:
    """Return a sentence on the networks with int8 weights."""
    changes = [row["rounding"] for row in content["rows"] if row["detail"].endswith("int8")]
    return (
        f"{len(changes)} of {len(content['rows'])} networks have int8 weights. Rounding changed "
        f"their loss on validation rows by {np.mean(changes):+.5f} on average, "
        f"{min(changes):+.4f} to {max(changes):+.4f}."
    )


def _time_table(timed: dict[str, Any] | None, tables: list[str]) -> list[str]:
    """Return the table of seconds, of runs that had the machine to themselves."""
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


def _draw(summary: dict[str, Any], path: Path) -> None:
    """Draw the loss against the limit, a panel for each table, a curve for each method."""
    figure, axes = make_panels(len(summary["tables"]), width=3.4, height=2.7)
    limits = [limit["limit"] for limit in summary["limits"]]
    free = {row["table"]: row for row in summary["free"]["rows"]}
    for axis, table in zip(axes, summary["tables"], strict=False):
        curves = summary["curves"][table]
        shown: list[float] = []
        for method, colour in COLOURS.items():
            if points := curves.get(method):
                shown += [loss for _, loss in points]
                axis.plot(
                    *zip(*points, strict=True), label=method, color=colour,
                    linewidth=2.4 if method == "tabnas" else 1.3, marker="o", markersize=3,
                    zorder=3 if method == "tabnas" else 2,
                )  # fmt: skip
        for method in FREE:
            if method in free.get(table, {}):
                shown.append(free[table][method])
                axis.axhline(shown[-1], color=COLOURS[method], linestyle=":", linewidth=1)
        low, high = min(shown), max(loss for _, loss in curves["tabnas"])
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
    drawn = {
        label: line
        for axis in axes
        for line, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    named = {label: drawn[label] for label in COLOURS if label in drawn}
    named["without a limit"] = Line2D([], [], color="black", linestyle=":", linewidth=1)
    figure.legend(
        list(named.values()), list(named), loc="outside lower center", ncols=8, fontsize=8,
        frameon=False,
    )  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    save_figure(figure, path)
