"""The results of `engine.py` as Markdown."""

from __future__ import annotations


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows] + [""]


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def beside_ours(us, name):
    """Microseconds of a contestant, and how many times ours they are."""
    return f"{number(us[name])} ({us[name] / us['ours']:.1f}x)" if name in us else "-"


def introduction(results):
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    machine = results["machine"]
    return [
        "# Training steps of the compiled engine",
        "",
        f"`{results['command']}`, {results['date']}, {machine['processor']}, "
        f"{machine['cores']} cores; {versions}.",
        "",
        "Microseconds a training step (forward, backward, update), medians of contestants taking "
        "turns in one process. Ratios are to ours: 10x means ten times our time. The floor is the "
        "step's matrix products alone, by SciPy's OpenBLAS in one compiled call. All may use the "
        "same number of threads; ours uses a second one where a step has work for it. Ours takes "
        "several steps of a small network in one call, as trainings do.",
        "",
    ]


def reference_architectures(results, threads):
    others = {
        "PyTorch eager": "pytorch eager",
        "eager, fused optimiser": "pytorch eager, fused optimiser",
        "torch.compile": "torch.compile",
        "scikit-learn without LayerNorm": "scikit-learn, no LayerNorm",
    }
    rows = [
        [
            f"{row['shape']} {'-'.join(map(str, row['sizes']))}",
            row["batch"],
            number(row["us"]["ours"]),
            number(row["us"]["ours, rows gathered"]),
            *(beside_ours(row["us"], name) for name in others.values()),
            f"{row['us']['ours'] / row['us']['floor']:.2f}",
        ]
        for row in results["reference architectures"]
        if row["threads"] == threads
    ]
    heading = [f"## Reference architectures, {threads} thread{'s' * (threads > 1)}", ""]
    return heading + table(
        ["shape", "batch", "ours", "rows gathered", *others, "ours / floor"], rows
    )


def supernets(results):
    rows = [
        [
            *(row[name] for name in ("shape", "child", "batch", "threads")),
            number(row["us"]["ours"]),
            beside_ours(row["us"], "pytorch eager"),
        ]
        for row in results["supernets"]
    ]
    heading = ["## Children of SuperNets with the paper's widths", ""]
    return heading + table(["SuperNet", "child", "batch", "threads", "ours", "PyTorch eager"], rows)


def numeric_embeddings(results):
    rows = [
        [
            row["shape"],
            row["batch"],
            number(row["us"]["ours"]),
            number(row["us"]["ours without"]),
            number(row["us"]["ours with a layer instead"]),
            beside_ours(row["us"], "pytorch eager"),
        ]
        for row in results["numeric embeddings"]
    ]
    heading = [
        "## Numeric embeddings, 1 thread",
        "",
        "Beside each the same network without numeric embeddings, and with a hidden layer as wide "
        "as the added inputs in front of the others.",
        "",
    ]
    return heading + table(
        ["shape", "batch", "ours", "without", "a layer instead", "PyTorch eager"], rows
    )


def children(results):
    rows = [
        [
            row["shape"],
            row["child"],
            f"{row['parameters']:,}",
            number(row["us"]["in the SuperNet"]),
            number(row["us"]["alone"]),
        ]
        for row in results["children"]
    ]
    heading = ["## The time of a child follows the child", ""]
    return heading + table(["SuperNet", "child", "parameters", "in the SuperNet", "alone"], rows)


def workers(results):
    rows = [
        [
            row["shape"],
            row["batch"],
            number(row["us"]["one"]),
            number(row["us"]["two"]),
            f"{row['rows gained']:.2f}x",
        ]
        for row in results["workers"]
    ]
    heading = [
        "## Two workers",
        "",
        "Two children a step, each with a batch of its own, on two threads, against one on one "
        "thread. In a process of their own: PyTorch's threads keep a core busy for a while after "
        "every call.",
        "",
    ]
    return heading + table(
        ["shape", "batch of each", "one worker", "two workers", "rows a second, two to one"], rows
    )


def trainings(results):
    rows = [
        [
            f"{row['shape']}, {row['child']}",
            row["batch"],
            number(row["us"]),
            f"{row['gained']:.2f}x",
        ]
        for row in results["trainings"]
    ]
    heading = [
        "## Two trainings side by side",
        "",
        "Two stand-alone trainings in two threads of one process, against one after the other on "
        "one thread; microseconds are those of a step of the latter, Python's part included.",
        "",
    ]
    return heading + table(["shape", "batch", "a step", "side by side"], rows)


def markdown(results):
    return "\n".join(
        [
            *introduction(results),
            *reference_architectures(results, threads=1),
            *reference_architectures(results, threads=2),
            *supernets(results),
            *numeric_embeddings(results),
            *children(results),
            *workers(results),
            *trainings(results),
        ]
    )
