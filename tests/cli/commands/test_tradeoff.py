from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
from pathlib import Path

import pytest

from tabnas.cli._main import run
from tabnas.decoding import to_builtins
from tabnas.runs import RunCheckpoint, load_config, load_result, load_tradeoff
from tests.cli.commands.test_search import run_refused
from tests.cli.commands.test_watch import MARKUP, obeyed
from tests.cli.conftest import make_columns, write_csv
from tests.processes import default_signals
from tests.report.pages import check_page
from tests.report.test_commands import read_code

KIND = ["--target", "kind", "--drop", "value,day"]
SMALL = ["--widths", "0,4,8", "--layers", "2", "--candidates", "1"]
LIMITS = ["--limits", "20,60,200"]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `good.csv` and its finished trade-off, `curve`."""
    folder = tmp_path_factory.mktemp("done")
    good = write_csv(folder / "good.csv", make_columns())
    out = ["--out", str(folder / "curve"), "--quiet"]
    assert run(["tradeoff", str(good), *KIND, *SMALL, *LIMITS, *out]) == 0
    return folder


def test_a_folder_of_runs_and_a_page(done: Path) -> None:
    curve = done / "curve"
    assert {path.name for path in curve.iterdir()} == {
        "config.toml", "tradeoff.json", "tradeoff.html", "limit-20", "limit-60", "limit-200"
    }  # fmt: skip
    page = check_page((curve / "tradeoff.html").read_text(encoding="utf-8"))
    assert "Predicting kind at several limits" in page.text
    for limit in (20, 60, 200):
        assert (curve / f"limit-{limit}" / "report.html").exists()
    assert load_config(curve)["tradeoff"] == {"cost": "parameters", "limits": [20, 60, 200]}


def test_the_summary_fits_80_columns(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_csv(here / "good.csv", make_columns())
    assert run(["tradeoff", "good.csv", *KIND, *SMALL, *LIMITS]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines()[:-1])) <= 80
    assert "on 12 test rows, with 95 % intervals" in out
    assert "boosted trees" in out
    assert "next: tabnas predict runs/good-tradeoff/limit-" in out
    command = shlex.split(out.splitlines()[-1].removeprefix("next: "))
    write_csv(here / "new.csv", make_columns(7))
    assert run(command[1:]) == 0
    assert len((here / "predictions.csv").read_text().splitlines()) == 1 + 7


def test_json_is_the_only_output(
    done: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = str(done / "good.csv")
    assert run(["tradeoff", good, *KIND, *SMALL, *LIMITS, "--out", "a/b", "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    said = json.loads(captured.out)
    assert said.pop("folder") == "a/b"
    before = to_builtins(load_tradeoff(done / "curve"))
    assert [said.pop("timings"), before.pop("timings")]
    assert said == before  # the same settings give the same curve
    for model in said["models"]:
        assert model["costs"]["parameters"]["value"] <= model["limit"]


@pytest.mark.slow
def test_the_result_does_not_depend_on_processes(
    done: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["tradeoff", str(done / "good.csv"), *KIND, *SMALL, *LIMITS]
    assert run([*asked, "--processes", "2", "--json"]) == 0
    said, before = json.loads(capsys.readouterr().out), to_builtins(load_tradeoff(done / "curve"))
    assert said.pop("timings").keys() == before.pop("timings").keys()
    assert said.pop("folder")
    assert said == before


def test_an_invalid_backend_is_refused_before_the_work(
    done: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["tradeoff", str(done / "good.csv"), *KIND, *LIMITS]
    assert "did you mean 'dask'" in run_refused([*asked, "--backend", "desk"], capsys)
    nobody = ["--address", "127.0.0.1:9"]
    assert "set the backend to ray or dask" in run_refused([*asked, *nobody], capsys)


def test_a_dry_run_shows_the_plan_and_writes_nothing(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = write_csv(here / "good.csv", make_columns())
    asked = ["tradeoff", str(good), *KIND, *SMALL, *LIMITS, "--dry-run"]
    assert run(asked) == 0
    said = capsys.readouterr().out
    assert all(len(line) <= 80 for line in said.splitlines())
    assert "parameters <= 20, 60, 200; below, the plan of the loosest" in said
    assert run([*asked, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["tradeoff"] == {"cost": "parameters", "limits": [20, 60, 200]}
    assert printed["limits"] == {"parameters": 200}
    assert [path.name for path in here.iterdir()] == ["good.csv"]


def test_refit_of_a_tradeoff(here: Path) -> None:
    good = write_csv(here / "good.csv", make_columns())
    assert run(["tradeoff", str(good), *KIND, *SMALL, *LIMITS, "--refit", "--quiet"]) == 0
    for limit in (20, 60, 200):
        result = load_result(here / "runs" / "good-tradeoff" / f"limit-{limit}")
        assert result.trained_on_all_rows


def test_an_invalid_latency_table_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = write_csv(here / "good.csv", make_columns())
    table = ["--cost", "latency_us", "--latency-table", "gone.json"]
    assert "gone.json" in run_refused(["tradeoff", str(good), *KIND, *LIMITS, *table], capsys)


def test_help_says_what_this_command_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tradeoff", "--help"]) == 0
    said = capsys.readouterr().out
    assert "flops \\\n" in re.sub(r" +\n", "\n", said)  # a line that goes on, as it is typed
    words = " ".join(said.split())
    assert "runs/NAME-tradeoff" in words
    assert "--time " not in words


def test_markup_in_a_tradeoff_is_printed_as_text(
    done: Path, here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Path(shutil.copytree(done / "curve", here / "copy"))
    printed = json.loads((copy / "tradeoff.json").read_text(encoding="utf-8"))
    cost, evil = printed["cost"], MARKUP.format("cost")
    for model in printed["models"]:
        model["costs"][evil] = model["costs"][cost]
    printed["cost"] = evil
    printed["references"] = {MARKUP.format(k): v for k, v in printed["references"].items()}
    (copy / "tradeoff.json").write_text(json.dumps(printed), encoding="utf-8")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert run(["watch", "copy", "--once"]) == 0
    said = capsys.readouterr().out
    assert "[blink]" in said
    assert not obeyed(said)
    for model in printed["models"]:
        model["architecture"] = MARKUP.format(model["architecture"])
    (copy / "tradeoff.json").write_text(json.dumps(printed), encoding="utf-8")
    assert run(["watch", "copy", "--once"]) == 2  # it is no architecture
    assert not obeyed(capsys.readouterr().err)


def test_the_page_is_written_again(
    done: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(done / "curve", here / "copy")
    before = (copy / "tradeoff.html").read_bytes()
    (copy / "tradeoff.html").unlink()
    assert run(["report", "copy"]) == 0
    assert capsys.readouterr().out.strip() == str(Path("copy/tradeoff.html"))
    assert (copy / "tradeoff.html").read_bytes() == before
    (copy / "tradeoff.html").unlink()
    (copy / "tradeoff.html").symlink_to(here / "elsewhere")
    assert "it is a link" in run_refused(["report", "copy"], capsys)
    (copy / "tradeoff.json").write_text("{}", encoding="utf-8")
    assert "must hold the result of a trade-off" in run_refused(["report", "copy"], capsys)


def test_a_run_names_the_command_of_the_tradeoff(done: Path, here: Path) -> None:
    folder = done / "curve" / "limit-60"
    command = shlex.split(read_code(folder, "again-code").replace("\\\n", " "))
    assert command[:2] == ["tabnas", "tradeoff"]
    assert run([*command[1:], "--quiet"]) == 0
    again, before = load_tradeoff(here / "again"), load_tradeoff(done / "curve")
    assert again.models == before.models


@default_signals()
def test_a_stopped_tradeoff_is_resumed(
    done: Path, here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own, entries = RunCheckpoint.record, []

    def enter(self: RunCheckpoint, name: str, *given: object) -> None:
        own(self, name, *given)
        entries.append(name)
        if len(entries) == 2:  # the search and a candidate are done
            signal.raise_signal(signal.SIGINT)

    good = shutil.copy(done / "good.csv", here)
    with monkeypatch.context() as patched:
        patched.setattr(RunCheckpoint, "record", enter)
        assert run(["tradeoff", good, *KIND, *SMALL, *LIMITS, "--out", "curve", "--quiet"]) == 130
    assert "stopped; continue with: tabnas resume curve" in capsys.readouterr().err
    assert not (here / "curve" / "tradeoff.json").exists()

    config, table = here / "curve" / "config.toml", Path(good).read_text()
    config.write_text(config.read_text() + "# a remark of mine\n")
    before = config.read_bytes()
    Path(good).write_text("".join(table.splitlines(keepends=True)[:-1]))
    assert "only as it began, but the table was" in run_refused(["resume", "curve"], capsys)
    assert config.read_bytes() == before
    Path(good).write_text(table)
    assert run(["resume", "curve", "--quiet"]) == 0
    assert load_tradeoff("curve").models == load_tradeoff(done / "curve").models
    assert (here / "curve" / "tradeoff.html").exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--limits", "100"], "2 to 50 different limits, got 1"),
        (["--limits", "100,100"], "2 to 50 different limits, got 1"),
        (["--limits", "2,100"], "raise the limit"),
        (["--limits", "100,many"], "got 'many'"),
        (["--limits", "100,1e30"], "limits on parameters must be below 1e+30, got 1"),
        (["--limits", f"100,1{'0' * 300}"], "limits on parameters must be below 1e+30, got 1"),
        (
            ["--limits", "9,1e300", "--cost", "latency_us"],
            "limits on latency_us must be below 1e+30, got 1e+300; lower it",
        ),
        (["--limits", "100,-5"], "--limits must be positive numbers"),
        (["--limits", "100,200", "--cost", "flop"], "'flop'; did you mean 'flops'?"),
        (["--limits", "100,200", "--max-parameters", "50"], "must come from --limits alone"),
        (["--limits", "100,200", "--max-flops", "3"], "raise the limit"),
        ([], "--limits"),
    ],
)
def test_invalid_arguments_are_refused(
    options: list[str], sentence: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_csv(here / "good.csv", make_columns())
    assert sentence in run_refused(["tradeoff", "good.csv", *KIND, *options], capsys)


def test_a_damaged_tradeoff_folder_is_refused(
    done: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(done / "curve", here / "copy")
    printed = to_builtins(load_tradeoff(copy))
    (copy / "tradeoff.json").write_text(json.dumps(printed | {"format": 99}), encoding="utf-8")
    assert "written by a newer tabnas" in run_refused(["report", "copy"], capsys)
    good = str(done / "good.csv")
    asked = ["tradeoff", good, *KIND, *LIMITS, "--out", "copy"]
    assert "must be new or empty, but it holds files" in run_refused(asked, capsys)


def test_a_member_of_a_tradeoff_cannot_be_resumed(
    done: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    member = shutil.copytree(done / "curve" / "limit-60", tmp_path / "limit-60")
    (member / "result.json").unlink()
    assert run(["resume", str(member)]) == 2
    assert "part of a trade-off" in capsys.readouterr().err
