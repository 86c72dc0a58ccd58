"""`tabnas resume` on folders that somebody else has made."""

from __future__ import annotations

from pathlib import Path

import pytest

from tabnas.cli._main import USAGE_ERROR, run

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
def test_changed_configs_are_a_one_line_error(
    config: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.toml").write_text(config)
    assert run(["resume", str(tmp_path)]) == USAGE_ERROR
    said = capfd.readouterr().err
    assert said.startswith("tabnas: ")
    assert said.count("\n") == 1
    assert (tmp_path / "config.toml").read_text() == config


def test_a_run_of_one_limit_refuses_processes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.toml").write_text("[data]\ndata = 'iris'\n" + LIMITS)
    assert run(["resume", str(tmp_path), "--processes", "2"]) == USAGE_ERROR
    assert "is a run of one limit; remove them" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("folder", "sentence"),
    [
        ("runs/begn", "but it does not exist; did you mean 'runs/begun'?"),
        ("empty", "but it has no config.toml; name one like 'runs/begun'"),
    ],
)
def test_folders_that_cannot_be_resumed(
    folder: str, sentence: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("empty", "runs/begun"):
        (here / name).mkdir(parents=True)
    (here / "runs/begun/config.toml").touch()
    assert run(["resume", folder]) == USAGE_ERROR
    said = capsys.readouterr().err
    assert "must be the folder of a stopped run" in said
    assert sentence in said


def test_a_run_of_python_is_continued_in_python(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.toml").write_text(LIMITS)
    call = "make the call again that began it in Python, with the same rows and settings"
    assert run(["resume", str(tmp_path)]) == USAGE_ERROR
    assert f"was begun in Python, where its rows are; {call}" in capsys.readouterr().err
    assert run(["predict", str(tmp_path), "new.csv"]) == USAGE_ERROR
    said = capsys.readouterr().err
    assert f"or if it was stopped, {call}" in said
    assert "tabnas resume" not in said
    (tmp_path / "config.toml").write_text(f'{LIMITS}\n[tradeoff]\ncost = "parameters"\n')
    assert run(["resume", str(tmp_path)]) == USAGE_ERROR
    message = " ".join(capsys.readouterr().err.split())
    assert f"continue in Python, with TradeoffFolder('{tmp_path}', resume=True)" in message
