"""`tabnas resume` on folders that somebody else has made."""

from __future__ import annotations

from pathlib import Path

import pytest

from tabnas.cli._main import MISTAKE, run

LIMITS = "[settings.limits]\nparameters = 300\n"


@pytest.mark.parametrize(
    "config",
    [
        "",
        "x = ",
        "data = 3",
        "[data]\ndata = 3",
        "[data]\ndata = '../../t.csv'",
        "[data]\ndata = 'iris'\nsettings = 3",
        "settings = 3\n[data]\ndata = 'iris'",
        "[data]\ndata = 'iris'\n[settings]\nlayers = 1000000000\n" + LIMITS,
        "[data]\ndata = 'iris'\n[settings]\nkinds = {species = 'petal'}\n" + LIMITS,
        "plan = 'short'\n[data]\ndata = 'iris'\n" + LIMITS,
        "plan = {epochs = 1000000000, search_epochs = 1, candidates = 1}\n[data]\ndata = 'iris'\n"
        + LIMITS,
    ],
)
def test_forged_configs_end_in_a_sentence(
    config: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.toml").write_text(config)
    assert run(["resume", str(tmp_path)]) == MISTAKE
    said = capfd.readouterr().err
    assert said.startswith("tabnas: ")
    assert said.count("\n") == 1
    assert (tmp_path / "config.toml").read_text() == config


def test_a_run_of_one_limit_has_nothing_to_do_side_by_side(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.toml").write_text("[data]\ndata = 'iris'\n" + LIMITS)
    assert run(["resume", str(tmp_path), "--processes", "2"]) == MISTAKE
    assert "a run of one limit, which is done in order; leave them out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("folder", "sentence"),
    [
        ("runs/begn", "but there is none; did you mean 'runs/begun'?"),
        ("empty", "but it holds no config.toml; name one like 'runs/begun'"),
    ],
)
def test_folders_that_cannot_be_gone_on_with(
    folder: str, sentence: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("empty", "runs/begun"):
        (here / name).mkdir(parents=True)
    (here / "runs/begun/config.toml").touch()
    assert run(["resume", folder]) == MISTAKE
    said = capsys.readouterr().err
    assert "must be the folder of a run that was stopped" in said
    assert sentence in said
