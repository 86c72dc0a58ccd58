"""The reliability diagram: predicted probabilities against observed frequencies."""

from __future__ import annotations

from tabnas.formatting import format_count, format_percent, isolate, shorten
from tabnas.report._calibration_text import name_calibration_rows
from tabnas.report._chart import WIDTH, Scale, draw_axes
from tabnas.report._figure import Figure, Table
from tabnas.report._svg import Drawing
from tabnas.results import ReliabilityBin, RunResult

LEFT, RIGHT, TOP, BOTTOM = 52.0, WIDTH - 14.0, 30.0, 270.0
COUNTS_HEIGHT = 54.0  # of the bars below with the number of rows


def draw_reliability(result: RunResult) -> Figure:
    """Draw predicted probabilities against observed frequencies, and the number of rows."""
    title = "Do probabilities mean what they say?"
    reliability = result.diagnostics and result.diagnostics.reliability
    bins = [bin_ for bin_ in reliability.bins if _is_drawable(bin_)] if reliability else []
    if not result.diagnostics or not reliability or not bins:
        why = "No rows were held out to test probabilities on."
        return Figure(key="reliability", title=title, paragraphs=[why])
    error = format_percent(reliability.calibration_error)
    classes = result.target.classes or ()
    name = "its most likely class"
    if reliability.probability_of == "second class":
        name = isolate(shorten(classes[1])) if len(classes) > 1 else "the second class"
    rows = [
        [
            format_percent(bin_.predicted),
            format_percent(bin_.observed),
            f"{format_percent(bin_.observed_low)} to {format_percent(bin_.observed_high)}",
            f"{bin_.rows:,}",
        ]
        for bin_ in bins
    ]
    return Figure(
        key="reliability",
        title=title,
        paragraphs=[
            f"The {result.diagnostics.split} rows are grouped by the probability that the model "
            f"gives to {name}. On the diagonal, what is given 80 % happens 80 times of 100; below "
            "it the model is too confident. Lines are 95 % intervals, the bars below are the "
            "number of rows of each group.",
            f"On average, probabilities differ from observed frequencies by {error} (expected "
            "calibration error).",
            f"The probabilities are after temperature scaling {name_calibration_rows(result)}.",
        ],
        drawings=[_draw(bins, title, error)],
        table=Table(
            title="Groups in numbers",
            headings=["Predicted", "Observed", "95 % interval", "Rows"],
            rows=rows,
        ),
    )


def _draw(bins: list[ReliabilityBin], title: str, error: str) -> Drawing:
    x, y = Scale(0.0, 1.0, LEFT, RIGHT), Scale(0.0, 1.0, BOTTOM, TOP)
    about = f"{format_count(len(bins), 'group')} of rows; mean distance {error}."
    drawing = Drawing(WIDTH, BOTTOM + 50 + COUNTS_HEIGHT, title, about)
    draw_axes(drawing, x, y, "predicted probability", "observed frequency", percent=(True, True))
    drawing.line(x(0), y(0), x(1), y(1), "guide")
    largest = max(bin_.rows for bin_ in bins)
    base = BOTTOM + 46 + COUNTS_HEIGHT
    drawing.text(2, base - COUNTS_HEIGHT + 12, "rows", "tick")
    for bin_ in bins:
        middle = x(bin_.predicted)
        observed = f"{format_percent(bin_.observed)} of {format_count(bin_.rows, 'row')}"
        tooltip = f"predicted {format_percent(bin_.predicted)}, observed in {observed}"
        drawing.line(middle, y(bin_.observed_low), middle, y(bin_.observed_high), "main-line")
        drawing.circle(middle, y(bin_.observed), 4.5, "main", tooltip)
        height = (COUNTS_HEIGHT - 8) * bin_.rows / largest
        drawing.rect(middle - 6, base - height, 12, height, "muted-fill", tooltip)
    drawing.line(LEFT, base, RIGHT, base, "axis")
    return drawing


def _is_drawable(bin_: ReliabilityBin) -> bool:
    values = (bin_.predicted, bin_.observed, bin_.observed_low, bin_.observed_high)
    return bin_.rows > 0 and all(0 <= value <= 1 for value in values)
