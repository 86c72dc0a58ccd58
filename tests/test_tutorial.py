"""The tutorial works: its Python and its commands, in the order of the page, in one folder."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from tabnas.cli._main import run
from tests.code_blocks import run_block
from tests.conftest import BRIEF, USUAL, patch_plan_constants

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[1] / "docs" / "tutorial.md").read_text()
BLOCKS = re.findall(r"```(python|console)\n(.*?)```", PAGE, re.S)


def commands(block: str) -> list[tuple[list[str], str]]:
    """Each command of a block, and what the page shows of its output."""
    parts = re.split(r"^\$ ", block.replace("\\\n", ""), flags=re.M)[1:]
    lines = (part.partition("\n") for part in parts)
    return [(shlex.split(line), shown) for line, _, shown in lines]


def test_the_page_works_from_top_to_bottom(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    # how a run goes is asked here, not how well: brief ones, beside a handful of trees
    monkeypatch.setitem(HistGradientBoostingClassifier.__init__.__kwdefaults__, "max_iter", 3)
    with patch_plan_constants(BRIEF | {"AUTO_TEACHERS": USUAL["AUTO_TEACHERS"]}):
        for language, block in BLOCKS:
            if language == "python":
                run_block(block, capsys)
                continue
            for (program, *arguments), shown in commands(block):
                assert program == "tabnas"
                refused = shown.startswith("tabnas: ")
                assert run(arguments) == (2 if refused else 0)
                given = capsys.readouterr()
                if refused:
                    assert given.err.split() == shown.split()
                else:
                    assert headings(given.out + given.err) >= headings(shown)
    assert {"report.html", "MODEL_CARD.md", "result.json", "model"} <= {
        file.name for file in (tmp_path / "runs" / "digits").iterdir()
    }


def headings(output: str) -> set[str]:
    """What the lines of a summary tell of, whatever the numbers are."""
    return set(re.findall(r"^([a-z_]+) {2,}", output, re.M))


def test_the_page_goes_all_the_way() -> None:
    console = [block for language, block in BLOCKS if language == "console"]
    asked = {command[1] for block in console for command, _ in commands(block)}
    assert asked == {"search", "tradeoff", "predict", "evaluate", "export"}
    assert max(len(line) for block in console for line in block.splitlines()) <= 80
