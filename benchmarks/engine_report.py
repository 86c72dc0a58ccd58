"""The results of `engine.py` as Markdown."""

from __future__ import annotations


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows] + [""]


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def times_ours(us, name):
    return f"{us[name] / us['ours']:.1f}x" if name in us else "-"


def markdown(results):
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    lines = [
        "# Training steps of the compiled engine", "",
        f"`{results['command']}`, {results['date']}, {results['machine']['processor']}, "
        f"{results['machine']['cores']} cores; {versions}.", "",
        "Microseconds a training step (forward, backward, update), medians of contestants taking "
        "turns in one process. Ratios are to ours: 10x means ten times our time. The floor is the "
        "step's matrix products alone, by SciPy's OpenBLAS in one compiled call. One worker of "
        "ours uses one thread, whatever there is.", "",
    ]  # fmt: skip
    for threads in (1, 2):
        lines += [f"## Reference architectures, {threads} thread{'s' * (threads > 1)}", ""]
        header = [
            "shape", "batch", "ours", "rows gathered", "PyTorch eager", "eager, fused optimiser",
            "torch.compile", "scikit-learn without LayerNorm", "ours / floor",
        ]  # fmt: skip
        rows = []
        for row in results["reference architectures"]:
            us = row["us"]
            if row["threads"] != threads:
                continue
            cells = [
                f"{row['shape']} {'-'.join(map(str, row['sizes']))}", row["batch"],
                number(us["ours"]), number(us["ours, rows gathered"]),
                *(
                    f"{number(us[name])} ({times_ours(us, name)})" if name in us else "-"
                    for name in (
                        "pytorch eager", "pytorch eager, fused optimiser", "torch.compile",
                        "scikit-learn, no LayerNorm",
                    )
                ),
                f"{us['ours'] / us['floor']:.2f}",
            ]  # fmt: skip
            rows.append(cells)
        lines += table(header, rows)
    lines += ["## Children of SuperNets with the paper's widths", ""]
    lines += table(
        ["SuperNet", "child", "batch", "threads", "ours", "PyTorch eager"],
        [
            [
                row["shape"], row["child"], row["batch"], row["threads"],
                number(row["us"]["ours"]),
                f"{number(row['us']['pytorch eager'])} ({times_ours(row['us'], 'pytorch eager')})",
            ]
            for row in results["supernets"]
        ],
    )  # fmt: skip
    lines += ["## The time of a child follows the child", ""]
    lines += table(
        ["SuperNet", "child", "parameters", "in the SuperNet", "alone"],
        [
            [
                row["shape"], row["child"], f"{row['parameters']:,}",
                number(row["us"]["in the SuperNet"]), number(row["us"]["alone"]),
            ]
            for row in results["children"]
        ],
    )  # fmt: skip
    lines += [
        "## Two workers",
        "",
        "Two children a step, each with a batch of its own, on two threads, against one. In a "
        "process of their own: PyTorch's threads keep a core busy for a while after every call.",
        "",
    ]
    lines += table(
        ["shape", "batch of each", "one worker", "two workers", "rows a second, two to one"],
        [
            [
                row["shape"], row["batch"], number(row["us"]["one"]), number(row["us"]["two"]),
                f"{row['rows gained']:.2f}x",
            ]
            for row in results["workers"]
        ],
    )  # fmt: skip
    return "\n".join(lines)
