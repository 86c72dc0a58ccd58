"""The figures of docs/mathematics.md: a diagram as it is, and what rejection's correction does.

    python benchmarks/figures.py --out docs/images

Written as SVG by hand, so that the same numbers give the same bytes; the ground is light, and
stays so on a dark page.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from tabnas import Budget, FeasibleSet, SearchSpace
from tabnas.feasible import log_probabilities
from tabnas.feasible._diagram import DecisionDiagram

GROUND, INK, FAINT, OURS, THEIRS, GREEN = (
    "#fbfaf7", "#22303c", "#9aa5ad", "#1b6ca8", "#c8553d", "#6a994e",
)  # fmt: skip
WIDTHS = (2, 3, 4)
STEPS, RATE, ADVANTAGE = 200, 0.5, 0.3


class Drawing:
    """Lines, circles and words on a light ground."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'font-family="sans-serif" font-size="13" fill="{INK}" role="img">',
            f"<title>{title}</title>",
            f'<rect width="{width}" height="{height}" rx="10" fill="{GROUND}"/>',
        ]

    def line(self, points: Sequence[tuple[float, float]], colour: str, width: float = 1.2) -> None:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>'
        )

    def circle(self, x: float, y: float, radius: float, fill: str, edge: str = INK) -> None:
        self.parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{fill}" stroke="{edge}"/>'
        )

    def box(self, x: float, y: float, width: float, height: float, fill: str) -> None:
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'fill="{fill}"/>'
        )

    def words(
        self,
        x: float,
        y: float,
        text: str,
        *,
        colour: str = INK,
        at: str = "middle",
        size: int = 13,
    ) -> None:
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{at}" '
            f'font-size="{size}">{text}</text>'
        )

    def save(self, path: Path) -> None:
        path.write_text("\n".join([*self.parts, "</svg>", ""]), encoding="utf-8")


# --- the diagram ----------------------------------------------------------------------------------


def draw_diagram(path: Path) -> None:
    """13 of 27 networks, as the compiler has them: prefixes, gates, suffixes."""
    space = SearchSpace.uniform(layers=3, widths=WIDTHS, inputs=2, outputs=1)
    feasible = FeasibleSet(space, Budget(dense_parameters=36))
    diagram = feasible._diagram
    assert diagram is not None
    marked = walk(diagram, space.choices("2-2-3"))
    columns = [column(diagram, node) for node in range(diagram.nodes + 1)]
    places = {}
    across = (60, 190, 345, 500, 650, 760)
    for number, x in enumerate(across):
        here = [node for node, at in enumerate(columns) if at == number]
        for rank, node in enumerate(here):
            places[node] = (x, 215 + (rank - (len(here) - 1) / 2) * 340 / max(len(here), 3))

    drawing = Drawing(820, 440, "The decision diagram of 13 feasible networks out of 27")
    headings = ("root", "layer 1", "gates", "layer 2", "layer 3", "end")
    below = ("", "prefixes", "before layer 2", "suffixes", "suffixes", "")
    for x, heading, what in zip(across, headings, below, strict=True):
        drawing.words(x, 26, heading, size=14)
        drawing.words(x, 43, what, colour=FAINT, size=12)
    edges = [
        (node, int(child))
        for node in range(diagram.nodes)
        for child in diagram.child[diagram.first[node] : diagram.first[node + 1]]
    ]
    on_path = set(pairwise(marked))
    for source, child in sorted(edges, key=lambda edge: edge in on_path):
        colour, width = (THEIRS, 3.0) if (source, child) in on_path else (FAINT, 1.2)
        (x0, y0), (x1, y1) = places[source], places[child]
        if columns[source] == columns[child]:  # from gate to gate
            drawing.line([(x0, y0), (x0 - 30, (y0 + y1) / 2), (x1, y1)], colour, width)
        else:
            drawing.line([(x0, y0), (x1, y1)], colour, width)
    for node, (x, y) in places.items():
        if columns[node] in (0, 5):
            drawing.circle(x, y, 7, INK)
        elif diagram.choice[node] == diagram.no_choice:
            drawing.box(x - 8, y - 8, 16, 16, THEIRS if node in marked else FAINT)
        else:
            drawing.circle(x, y, 14, GROUND, THEIRS if node in marked else OURS)
            width = space.widths[0][diagram.choice[node] % diagram.max_choices]
            drawing.words(x, y + 5, str(width), colour=THEIRS if node in marked else OURS)
    drawing.words(
        410, 426, "circles take a width, gates none; marked: 2-2-3, by way of two chained gates"
    )
    drawing.save(path)


def walk(diagram: DecisionDiagram, choices: Sequence[int]) -> list[int]:
    """The nodes of the one path that takes these choices."""
    stack: list[list[int]] = [[0]]
    while stack:
        nodes = stack.pop()
        if nodes[-1] == diagram.nodes:
            return nodes
        for child in diagram.child[diagram.first[nodes[-1]] : diagram.first[nodes[-1] + 1]]:
            taken = diagram.no_choice if child == diagram.nodes else int(diagram.choice[child])
            layer, candidate = divmod(taken, diagram.max_choices)
            if taken == diagram.no_choice or choices[layer] == candidate:
                stack.append([*nodes, int(child)])
    raise ValueError("no path takes these choices")


def column(diagram: DecisionDiagram, node: int) -> int:
    """Root, layer 1, gates, layer 2, layer 3, terminal."""
    if node in (0, diagram.nodes):
        return 0 if node == 0 else 5
    if diagram.choice[node] == diagram.no_choice:
        return 2
    return (1, 3, 4)[int(diagram.choice[node]) // diagram.max_choices]


# --- the correction -------------------------------------------------------------------------------


def draw_correction(path: Path) -> None:
    """The paper's toy: the policy and given V, the drift without correction, what comes of it."""
    space = SearchSpace([WIDTHS, WIDTHS], inputs=2, outputs=1)
    feasible = FeasibleSet(space, Budget(dense_parameters=25))
    drawing = Drawing(960, 330, "What rejection's correction does to a policy of two layers")
    draw_grids(drawing, feasible)
    draw_drift(drawing, feasible)
    draw_courses(drawing, feasible)
    drawing.save(path)


def draw_grids(drawing: Drawing, feasible: FeasibleSet) -> None:
    inside = feasible.contains(np.indices((3, 3)).transpose(1, 2, 0))
    for x, heading, shares in (
        (50, "the policy", np.full((3, 3), 1 / 9)),
        (190, "given V", np.where(inside, 1 / inside.sum(), 0)),
    ):
        drawing.words(x + 48, 40, heading, size=14)
        for i in range(3):
            drawing.words(x - 12, 84 + 32 * i, str(WIDTHS[i]), colour=FAINT)
            drawing.words(x + 16 + 32 * i, 178, str(WIDTHS[i]), colour=FAINT)
            for j in range(3):
                at = (x + 32 * j, 64 + 32 * i)
                drawing.box(*at, 30, 30, OURS if inside[i, j] else "#dcdfe1")
                drawing.words(
                    at[0] + 15, at[1] + 20, f"{100 * shares[i, j]:.0f}",
                    colour="#ffffff" if inside[i, j] else FAINT, size=12,
                )  # fmt: skip
    drawing.words(168, 206, "per cent; layer 1 down, layer 2 across", size=12)
    drawing.words(168, 225, "grey: over the limit, 25 parameters", colour=FAINT, size=12)
    drawing.words(168, 252, "Inside V the layers are no longer", size=12)
    drawing.words(168, 270, "independent: 4 goes with 2 alone.", size=12)


def draw_drift(drawing: Drawing, feasible: FeasibleSet) -> None:
    drift = feasible.marginals() - 1 / 3
    drawing.words(440, 40, "mean of the score", size=14)
    drawing.words(440, 58, "without correction, either layer", colour=FAINT, size=12)
    for j, value in enumerate(drift[0]):
        x, height = 375 + 50 * j, 340 * float(value)
        drawing.box(x, min(150.0, 150 - height), 30, max(abs(height), 1.0), THEIRS)
        above = 150 - height - 6 if value >= 0 else 150 - height + 16
        drawing.words(x + 15, above, f"{value:+.2f}" if abs(value) > 0.001 else "0", size=12)
        drawing.words(x + 15, 246, str(WIDTHS[j]), colour=FAINT)
    drawing.line([(365, 150), (515, 150)], INK)
    drawing.words(440, 270, "width", colour=FAINT, size=12)
    drawing.words(440, 294, "with it: 0 everywhere", colour=OURS, size=12)


def draw_courses(drawing: Drawing, feasible: FeasibleSet) -> None:
    left, bottom, wide, high = 600, 246, 330, 160
    drawing.words(left + wide / 2, 40, "P(V), if all networks are equally good", size=14)
    drawing.words(left + wide / 2, 58, "mean updates", colour=FAINT, size=12)
    for share in (0, 0.5, 1):
        y = bottom - high * share
        drawing.line([(left, y), (left + wide, y)], "#dcdfe1")
        drawing.words(left - 8, y + 4, f"{share:g}", colour=FAINT, at="end", size=12)
    for steps in (0, STEPS // 2, STEPS):
        at = left + wide * steps / STEPS
        drawing.words(at, bottom + 18, str(steps), colour=FAINT, size=12)
    drawing.words(left + wide / 2, bottom + 36, "steps", colour=FAINT, size=12)
    for advantage, corrected, at, label in (
        (ADVANTAGE, True, 0.57, "with correction"),
        (ADVANTAGE, False, 0.87, "without, above the baseline"),
        (-ADVANTAGE, False, 0.12, "without, below it"),
    ):
        course = mean_course(feasible, advantage, corrected=corrected)
        points = [
            (left + wide * step / STEPS, bottom - high * chance)
            for step, chance in enumerate(course)
            if step % 5 == 0
        ]
        colour = OURS if corrected else THEIRS
        drawing.line(points, colour, 2.4)
        drawing.words(left + wide, bottom - high * at, label, colour=colour, at="end", size=12)


def mean_course(feasible: FeasibleSet, advantage: float, *, corrected: bool) -> list[float]:
    """P(V) under ascent along the mean of `advantage * score` over feasible draws."""
    logits = np.zeros(feasible.space.mask.shape)
    course = []
    for _ in range(STEPS + 1):
        course.append(float(feasible.probability(logits)))
        marginals = feasible.marginals(logits)
        p = np.exp(log_probabilities(feasible.space, logits))
        logits += RATE * advantage * (marginals - (marginals if corrected else p))
    return course


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    draw_diagram(out / "diagram.svg")
    draw_correction(out / "correction.svg")


if __name__ == "__main__":
    main()
