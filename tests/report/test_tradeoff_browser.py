"""The page of a trade-off in a real browser."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.report.conftest import make_config, make_tradeoff, make_tradeoff_page
from tests.report.test_browser import (
    CONTRASTS,
    MIN_CONTRAST,
    OUTSIDE,
    PHONE,
    browser,
    pytestmark,
    show,
)

__all__ = ["browser", "pytestmark"]  # for pytest
OVERLAPS = """
const boxes = [...document.querySelectorAll('#tradeoff svg text')]
  .map(t => [t.textContent, t.getBoundingClientRect()]);
return boxes.flatMap(([a, p], i) => boxes.slice(i + 1).filter(([b, q]) =>
  p.left < q.right - 1 && q.left < p.right - 1 &&
  p.top + 3 < q.bottom - 3 && q.top + 3 < p.bottom - 3
).map(([b]) => [a, b]));
"""


def make_close_networks() -> dict[str, Any]:
    """Return a trade-off of similar networks with long names."""
    models = []
    for k in range(20):
        model = deepcopy(make_tradeoff()["models"][1])
        limit = 500 + 100 * k
        value = 0.9 - 0.3 * k**0.2
        model |= {
            "limit": limit,
            "folder": f"limit-{limit}",
            "architecture": f"{64 + k}-16-{128 + k}-24-{32 + k}",
            "bottlenecks": [2, 4],
            "pareto_optimal": k % 4 != 3,
        }
        model["costs"]["parameters"] = {"value": limit - 9 * (k % 5), "limit": limit}
        model["scores"]["metrics"]["log_loss"] = {
            "value": value, "low": value - 0.02, "high": value + 0.03
        }  # fmt: skip
        models.append(model)
    return make_tradeoff(models=models, inputs=300)


@pytest.fixture(scope="module", params=["few", "many"])
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    tradeoff = make_close_networks() if request.param == "many" else make_tradeoff()
    config = make_config() | {"tradeoff": {"cost": "parameters", "limits": [500, 1_000, 2_000]}}
    path = tmp_path_factory.mktemp("page") / "tradeoff.html"
    path.write_text(make_tradeoff_page(tradeoff, config), encoding="utf-8")
    return path


def test_the_page_is_drawn_without_errors(browser: Any, page: Path) -> None:
    browser.get("about:blank")
    browser.get_log("browser")  # drop earlier entries
    show(browser, page)
    sizes = browser.execute_script(
        "return [...document.querySelectorAll('figure svg')]"
        ".map(s => s.getBoundingClientRect()).map(r => [r.width, r.height])"
    )
    assert len(sizes) == 2
    assert all(width > 300 and height > 100 for width, height in sizes)
    assert browser.execute_script(OUTSIDE) == []
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("width", [PHONE, 1_100])
def test_no_texts_overlap(browser: Any, page: Path, width: int) -> None:
    show(browser, page, width=width)
    assert browser.execute_script(OVERLAPS) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_enough_contrast(browser: Any, page: Path, scheme: str) -> None:
    show(browser, page, scheme=scheme)
    contrasts = browser.execute_script(CONTRASTS)
    assert len(contrasts) > 60
    assert [text for contrast, text in contrasts if contrast < MIN_CONTRAST] == []


def test_the_page_fits_the_width_of_a_phone(browser: Any, page: Path) -> None:
    show(browser, page, width=PHONE)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= PHONE
