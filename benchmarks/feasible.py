"""Exact P(V) with all marginals against Monte Carlo at the paper's N, on the paper's five spaces.

    python benchmarks/feasible.py --out results

Both are timed alternately in one process on one thread, and medians are taken; what counts is their
ratio. The Monte Carlo error is the largest error of any marginal, over the repeats: the exact
answer has none. The policies are random (logits of standard deviation 1), the same for both.

Then how far several limits go along the chain: parameters, FLOPs and a table of made-up latencies,
over spaces of 20 widths a layer.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from tabnas import PAPER_WIDTHS, Budget, FeasibleSet, Limit, SearchSpace, TabNASError
from tabnas.paper import collect_provenance
from tabnas.space import COSTS, TableCost

SPACES = {  # layers, inputs, outputs, widths, limit, the paper's N
    "Criteo, 3 layers": (3, 1027, 1, PAPER_WIDTHS, 41_153, 3_072),
    "Criteo, 4 layers": (4, 1027, 1, PAPER_WIDTHS, 59_697, 32_768),
    "Criteo, 5 layers": (5, 1027, 1, PAPER_WIDTHS, 75_353, 32_768),
    "Volkert, 4 layers": (4, 180, 10, PAPER_WIDTHS, 27_882, 10_000),
    "Volkert, 9 layers": (9, 180, 10, PAPER_WIDTHS[:12], 78_114, 5_000_000),
}


def seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def measure(name: str, *, exact_repeats: int, sampled_repeats: int) -> dict[str, object]:
    """One space: build once, then exact and sampled in turn."""
    layers, inputs, outputs, widths, limit, samples = SPACES[name]
    space = SearchSpace.uniform(layers=layers, inputs=inputs, outputs=outputs, widths=widths)
    budget = Budget(dense_parameters=limit)
    build = min(seconds(lambda: FeasibleSet(space, budget)) for _ in range(3))
    feasible = FeasibleSet(space, budget)
    rng = np.random.default_rng(0)
    feasible.marginals()
    feasible.estimate(samples=10)  # compiled before anything is timed

    exact, sampled, errors = [], [], []
    for repeat in range(sampled_repeats):
        logits = rng.normal(size=space.mask.shape)
        truth = feasible.marginals(logits)
        share = max(1, exact_repeats // sampled_repeats)
        exact += [seconds(partial(feasible.marginals, logits)) for _ in range(share)]
        start = time.perf_counter()
        estimate = feasible.estimate(logits, samples=samples, rng=repeat)
        sampled.append(time.perf_counter() - start)
        errors.append(float(np.abs(estimate.marginals - truth).max()))
    exact_us, sampled_us = 1e6 * np.median(exact), 1e6 * np.median(sampled)
    return {
        "space": name,
        "architectures": space.size,
        "feasible": feasible.count(),
        "build_ms": round(1e3 * build, 1),
        "exact_us": round(float(exact_us), 1),
        "monte_carlo_samples": samples,
        "monte_carlo_us": round(float(sampled_us), 1),
        "monte_carlo_over_exact": round(float(sampled_us / exact_us), 1),
        "monte_carlo_largest_error": round(float(np.median(errors)), 4),
    }


def several_limits(layers: int, limits: int) -> dict[str, object]:
    """Exact inference under one, two or three limits at once, 54 inputs, 7 outputs."""
    space = SearchSpace.uniform(layers=layers, inputs=54, outputs=7)
    rng = np.random.default_rng(0)
    widths = (54, *PAPER_WIDTHS)
    latency = TableCost(
        name="latency_us",
        layers={(a, b): 1 + 1e-4 * a * b + rng.random() for a in widths for b in widths},
        heads={(a, 7): 0.5 + rng.random() for a in widths},
        overhead=3.0,
    )
    chosen = [
        Limit(COSTS["parameters"], 20_000),
        Limit(COSTS["flops"], 40_600),
        Limit(latency, 6 + 1.8 * layers),
    ][:limits]
    row: dict[str, object] = {"layers": layers, "limits": limits, "architectures": space.size}
    start = time.perf_counter()
    try:
        feasible = FeasibleSet(space, Budget(*chosen), method="chain")
    except TabNASError as error:
        return row | {"refused": str(error)}
    build = time.perf_counter() - start
    logits = rng.normal(size=space.mask.shape)
    exact = np.median([seconds(partial(feasible.marginals, logits)) for _ in range(20)])
    return row | {
        "feasible": feasible.count(),
        "build_ms": round(1e3 * build, 1),
        "exact_us": round(1e6 * float(exact), 1),
    }


def several_limits_markdown(rows: list[dict[str, object]]) -> str:
    head = (
        "\n## Several limits at once\n\n"
        "20 widths a layer; 1: parameters, 2: and FLOPs, 3: and a table of latencies.\n\n"
        "| layers | limits | feasible | of | build | exact |\n|---|---|---|---|---|---|\n"
    )
    return head + "".join(
        f"| {r['layers']} | {r['limits']} | "
        + (
            f"more than 5 million edges: Monte Carlo | {r['architectures']:,} | - | - |\n"
            if "refused" in r
            else f"{r['feasible']:,} | {r['architectures']:,} | {r['build_ms']:,.0f} ms "
            f"| {r['exact_us']:,.0f} µs |\n"
        )
        for r in rows
    )


def markdown(rows: list[dict[str, object]], origin: dict[str, object]) -> str:
    head = (
        "# Exact P(V) and marginals against Monte Carlo\n\n"
        f"`{origin['command']}`, {origin['date']}, {origin['machine']['processor']}, one thread. "
        "A set is built and counted once, before a search. "
        "The error of Monte Carlo is the largest of any marginal.\n\n"
        "| space | feasible | of | build | exact | Monte Carlo | N | ratio | error |\n"
        "|---|---|---|---|---|---|---|---|---|\n"
    )
    body = "".join(
        f"| {r['space']} | {r['feasible']:,} | {r['architectures']:,} | {r['build_ms']} ms "
        f"| {r['exact_us']:,.0f} µs | {r['monte_carlo_us']:,.0f} µs | {r['monte_carlo_samples']:,} "
        f"| {r['monte_carlo_over_exact']:,.0f} | {r['monte_carlo_largest_error']} |\n"
        for r in rows
    )
    return head + body


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--repeats", type=int, default=20)
    options = parser.parse_args()
    rows = []
    for name in SPACES:
        rows.append(measure(name, exact_repeats=400, sampled_repeats=options.repeats))
        print(json.dumps(rows[-1]))
    several = [several_limits(layers, n) for layers in (3, 5, 7, 8) for n in (1, 2, 3)]
    origin = collect_provenance("python benchmarks/feasible.py --out results")
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "feasible.json").write_text(
        json.dumps(origin | {"rows": rows, "several_limits": several}, indent=2) + "\n"
    )
    (options.out / "feasible.md").write_text(
        markdown(rows, origin) + several_limits_markdown(several)
    )


if __name__ == "__main__":
    main()
