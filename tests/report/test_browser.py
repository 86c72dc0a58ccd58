"""The report in a real browser; needs Debian's chromium and its driver."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.report.conftest import (
    EMBEDDED_LAYERS,
    make_embedded_result,
    make_history,
    make_report,
    make_result,
)

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.keys import Keys
except ImportError:
    webdriver = None

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER and webdriver),
        reason="needs chromium, chromedriver (apt-get install chromium chromium-driver), selenium",
    ),
]
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
MIN_CONTRAST = 4.5
PHONE, DESK = 375, 1_100

CONTRASTS = """
const parse = c => [...c.match(/[\\d.]+/g).map(Number), 1].slice(0, 4);
const linear = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const light = c => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
const behind = e => {
  const shape = e.tagName === 'text' && e.parentElement.tagName === 'g' &&
    e.parentElement.querySelector('rect, circle');
  if (shape) return parse(getComputedStyle(shape).fill);
  for (; e; e = e.parentElement) {
    const c = parse(getComputedStyle(e).backgroundColor);
    if (c[3] === 1) return c;
  }
  return [255, 255, 255, 1];
};
document.querySelectorAll('details').forEach(d => d.open = true);
const found = [];
for (const e of document.querySelectorAll('body *')) {
  const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
  if (!own || !e.getClientRects().length || e.closest('.heard, title, desc, script')) continue;
  const style = getComputedStyle(e);
  const [a, b] = [parse(e.tagName === 'text' ? style.fill : style.color), behind(e)].map(light);
  found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.textContent.slice(0, 40)]);
}
return found;
"""
READY = "return document.readyState === 'complete' && !!document.querySelector('footer')"
OUTSIDE = """
return [...document.querySelectorAll('svg')].flatMap(svg => {
  const box = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].filter(t => {
    const r = t.getBoundingClientRect();
    return r.left < box.left - 8 || r.right > box.right + 20 || r.top < box.top - 8 ||
      r.bottom > box.bottom + 8;
  }).map(t => t.textContent);
});
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('browser')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


def make_large_page() -> str:
    """Make a page of many layers, classes and columns, with long names that are not Latin."""
    widths = [[0, 8, 16, 32]] * 12
    names = [f"{'שם' * 20} {k} <b>" for k in range(60)]
    result = make_result(architecture="-".join(["16"] * 12), columns=dict.fromkeys(names, "text"))
    result["plan"] |= {"widths": widths}
    result["diagnostics"]["importance"]["columns"] = {
        name: {"increase": 1 / (k + 1), "std": 0.1} for k, name in enumerate(names)
    }
    result["diagnostics"]["confusion"] = {
        "classes": names[:19],
        "pooled_classes": 41,
        "correct": 9,
        "counts": [[9 * (i == j) + i * j % 3 for j in range(20)] for i in range(20)],
    }
    return make_report(result, make_history(widths))


def make_embedded_page() -> str:
    """Make a page of a network with numeric embeddings, of columns with long names."""
    result = make_embedded_result(8)
    for k, curve in enumerate(result["numeric_curves"]):
        curve["feature"] = f"{'שם' * 9 if k else 'wide' * 12} {k} <b>"
        curve["knots"] = [curve["knots"][0] + j / 7e6 for j in range(128)]
        curve["outputs"] = [[(d + j) % 5 for j in range(128)] for d in range(4)]
    result["numeric_curves"] *= 2
    return make_report(result, make_history(EMBEDDED_LAYERS))


@pytest.fixture(scope="module", params=["binary", "regression", "embedded", "many"])
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    kind = request.param
    special = {"many": make_large_page, "embedded": make_embedded_page}
    text = special[kind]() if kind in special else make_report(make_result(kind))
    path = tmp_path_factory.mktemp("page") / f"{kind}.html"
    path.write_text(text, encoding="utf-8")
    return path


def show(browser: Any, page: Path, *, width: int = DESK, scheme: str = "light") -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(page.as_uri())
    for _ in range(1_000):
        if browser.execute_script(READY):
            break


def test_the_page_is_drawn_and_requests_nothing(browser: Any, page: Path) -> None:
    browser.get("about:blank")
    for log in ("browser", "performance"):
        browser.get_log(log)  # drop earlier entries
    show(browser, page)
    sizes = browser.execute_script(
        "return [...document.querySelectorAll('figure svg')].filter(s => !s.closest('details'))"
        ".map(s => s.getBoundingClientRect()).map(r => [r.width, r.height])"
    )
    assert len(sizes) >= 10
    assert all(width > 100 and height > 20 for width, height in sizes)
    assert browser.execute_script(OUTSIDE) == []
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    requested = {
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
        and event["params"]["documentURL"] == page.as_uri()
    }
    assert requested == {page.as_uri()}


def test_the_page_has_names_for_screen_readers(browser: Any, page: Path) -> None:
    show(browser, page)
    levels = browser.execute_script(
        "return [...document.querySelectorAll('h1, h2, h3, h4')].map(h => +h.tagName[1])"
    )
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    names: dict[str, list[str]] = {"image": [], "img": [], "button": [], "region": [], "figure": []}
    for node in nodes:
        role = node.get("role", {}).get("value")
        if role in names and not node.get("ignored"):
            names[role].append(node.get("name", {}).get("value", ""))
    assert len(names["image"] + names["img"]) >= 10
    assert len(names["button"]) == 3
    assert all(name.strip() for role in names if role != "figure" for name in names[role])
    assert browser.execute_script("return document.documentElement.lang") == "en"


def test_code_can_be_copied_by_keyboard(browser: Any, page: Path) -> None:
    show(browser, page)
    body = browser.switch_to.active_element
    for _ in range(80):
        body.send_keys(Keys.TAB)
        body = browser.switch_to.active_element
        if "copy" in (body.get_attribute("class") or ""):
            break
    assert body.text == "Copy"
    outline = browser.execute_script("return getComputedStyle(arguments[0]).outlineStyle", body)
    assert outline == "solid"
    body.send_keys(Keys.ENTER)
    status = "return document.getElementById('status').textContent"
    for _ in range(100):
        if browser.execute_script(status):
            break
    assert browser.execute_script(status).startswith(("Copied", "The text is selected"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_enough_contrast(browser: Any, page: Path, scheme: str) -> None:
    show(browser, page, scheme=scheme)
    contrasts = browser.execute_script(CONTRASTS)
    assert len(contrasts) > 100
    assert [text for contrast, text in contrasts if contrast < MIN_CONTRAST] == []
    dark = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (dark == "rgb(255, 255, 255)") == (scheme == "light")


def test_the_page_fits_the_width_of_a_phone(browser: Any, page: Path) -> None:
    show(browser, page, width=PHONE)
    browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= PHONE


def test_the_page_can_be_printed(browser: Any, page: Path) -> None:
    show(browser, page, scheme="dark")
    paper = {"paperWidth": 8.27, "paperHeight": 11.69, "preferCSSPageSize": True}
    printed = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", paper)["data"])
    assert printed.startswith(b"%PDF")
    assert printed.count(b"/Type /Page\n") >= 3
    media = {"media": "print", "features": []}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    colour = "return getComputedStyle(document.body).backgroundColor"
    assert browser.execute_script(colour) == "rgb(255, 255, 255)"
    contrasts = browser.execute_script(CONTRASTS)
    assert [text for contrast, text in contrasts if contrast < MIN_CONTRAST] == []
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
