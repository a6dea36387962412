"""``kafkacheck ls | show | compare | trend | pack`` on planted runs, and names of runs for other commands."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from pytest_kafkacheck.cli import main as cli
from pytest_kafkacheck.kept_runs.archive import REMOVED
from tests.support.kept_run import kept_run


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two runs of one test: a valid one, and an invalid one of a later release."""
    folder = tmp_path / "runs"
    kept_run(folder, time="20261125-060000", run="aa01", version="3.9.2")
    kept_run(
        folder,
        time="20261125-070000",
        run="bb02",
        result="invalid",
        causes=["truncation"],
        findings={"lost-write": 1234},
        workload={"acks": 1},
    )
    return folder


def call(capsys: pytest.CaptureFixture[str], runs: Path, *arguments: str, status: int = 0) -> str:
    assert cli.main([*arguments, "--dir", str(runs)]) == status
    captured = capsys.readouterr()
    return captured.err if status else captured.out


def test_runs_are_listed(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = call(capsys, runs, "ls").splitlines()[1:]
    assert first.split()[:5] == ["2026-11-25", "06:00:00", "orders", "aa01", "valid"]
    assert second.split()[:6] == ["2026-11-25", "07:00:00", "orders", "bb02", "invalid", "truncation"]
    listed = call(capsys, runs, "ls", "--failed")
    assert "bb02" in listed
    assert "aa01" not in listed
    (only,) = json.loads(call(capsys, runs, "ls", "--failed", "--json"))
    assert (only["run"], only["result"], only["cause"]) == ("bb02", "invalid", "truncation")
    assert call(capsys, runs / "none", "ls").startswith("no runs in")


def test_folders_of_soaks_are_named_with_the_command_that_lists_them(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    soak = runs / "soak-safe-1"
    kept_run(soak, time="20261125-080000", run="dd04")
    assert "soak" not in call(capsys, runs, "ls"), "only a folder with the state of a soak is one"
    (soak / "soak.json").write_text("{}")
    line = call(capsys, runs, "ls").splitlines()[-1]
    assert line == f"a soak, 1 run kept: kafkacheck ls --dir {soak}"
    assert "dd04" in call(capsys, soak, "ls")


def test_a_narrow_terminal_cuts_only_the_cause(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept_run(tmp_path, run="cc03", result="unknown", unknowns=["nothing was acknowledged " * 20])
    monkeypatch.setattr("pytest_kafkacheck.cli.common.console.WIDTH", 80)
    row = call(capsys, tmp_path, "ls").splitlines()[1]
    assert len(row.rstrip()) <= 80
    assert row.split()[:5] == ["2026-11-25", "06:00:00", "orders", "cc03", "unknown"]
    assert row.split()[-1] == "0.0"


def test_a_run_is_shown(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = call(capsys, runs, "show", "latest")
    for said in (
        "invalid, expected valid",
        "lost-write ×1,234",
        "isolate leader at 3 s for 8 s",
        "acks/s 1,000",
    ):
        assert said in text
    shown = json.loads(call(capsys, runs, "show", "aa", "--json"))
    assert (shown["run"], shown["figures"]["acks"], shown["anomalies"]) == ("aa01", 10_500, {})
    assert "no such run" in call(capsys, runs, "show", "cc", status=cli.USAGE)


def test_runs_are_compared(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = call(capsys, runs, "compare", "latest~1", "latest")
    for said in ("workload.acks", "cluster.version", "lost-write", "1,234"):
        assert said in text
    found = json.loads(call(capsys, runs, "compare", "aa", "bb", "--json"))
    assert found["settings"] == {"cluster.version": ["3.9.2", "4.1.1"], "workload.acks": ["all", 1]}
    same = call(capsys, runs, "compare", "aa", "aa")
    assert "All settings are the same." in same


def test_the_trend_of_a_test(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = call(capsys, runs, "trend", "orders")
    for said in ("bad 1 of 2", "first bad run after the last good one", "first bad Kafka release: 4.1.1"):
        assert said in text
    found = json.loads(call(capsys, runs, "trend", "ord*", "--json"))
    assert [each["acks_per_second"] for each in found["runs"]] == [1000, 1000]
    assert (found["flake_rate"], found["first_bad"], found["first_bad_version"]) == (0, "bb02", "4.1.1")
    assert "did you mean orders?" in call(capsys, runs, "trend", "oders", status=cli.USAGE)


def test_a_packed_run_is_whole_and_has_no_secrets(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = kept_run(runs, time="20261125-080000", run="cc03")
    experiment = json.loads((home / "experiment.json").read_text())
    experiment["workload"]["client"] = {"sasl_plain_password": 'hunter2"x', "ssl": {"key_password": "4711"}}
    (home / "experiment.json").write_text(json.dumps(experiment))
    (home / "logs").mkdir()
    (home / "logs" / "client-0.log").write_text('connecting with hunter2"x\nrecord 4711\n')
    (home / "shrink" / "runs").mkdir(parents=True)
    (home / "shrink" / "log.jsonl").write_text("{}")
    file = tmp_path / "run.tar.gz"

    said = call(capsys, runs, "pack", "latest", "-o", str(file))
    assert "history" in said
    with tarfile.open(file) as archive:
        archive.extractall(tmp_path / "there", filter="data")
    there = tmp_path / "there" / home.name
    assert {each.name for each in there.iterdir()} == {"experiment.json", "verdict.json", "history", "logs"}
    packed = json.loads((there / "experiment.json").read_text())
    assert packed["workload"]["client"] == {"sasl_plain_password": REMOVED, "ssl": {"key_password": REMOVED}}
    assert packed["faults"] == experiment["faults"]
    assert (there / "logs" / "client-0.log").read_text() == f"connecting with {REMOVED}\nrecord 4711\n"
    part = "history/operations/part-0.parquet"
    assert (there / part).read_bytes() == (home / part).read_bytes()
    assert call(capsys, tmp_path / "there", "show", "latest").startswith("orders (run cc03")

    before = file.read_bytes()
    assert "exists" in call(capsys, runs, "pack", "latest", "-o", str(file), status=cli.USAGE)
    assert file.read_bytes() == before
    assert "cannot be written" in call(
        capsys, runs, "pack", "latest", "-o", str(tmp_path / "no" / "x.tar.gz"), status=cli.USAGE
    )


def test_parts_of_a_run_are_named_as_such_by_every_command(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history = str(next(iter(runs.iterdir())) / "history")
    for arguments in (["analyze", history], ["explain", history], ["replay", history], ["show", history]):
        assert "is a part of a run; name the run's folder" in call(capsys, runs, *arguments, status=cli.USAGE)


def test_latest_is_taken_by_commands_that_run_or_judge(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each goes as far as to read the run's folder."""
    (runs / "20261125-090000-broken-dd04").mkdir()
    (runs / "20261125-090000-broken-dd04" / "experiment.json").write_text('{"format": 0}')
    for arguments in (["replay", "latest"], ["shrink", "dd"], ["analyze", "latest"], ["explain", "dd0"]):
        assert "broken-dd04" in call(capsys, runs, *arguments, status=cli.USAGE)


def test_json_is_not_written_over_a_folder(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "is a folder" in call(capsys, runs, "ls", "--json", str(runs), status=cli.USAGE)


@pytest.mark.parametrize(
    "arguments", [["ls"], ["show", "latest"], ["trend", "orders"], ["compare", "aa", "bb"]]
)
def test_these_commands_load_neither_spark_nor_docker(runs: Path, arguments: list[str]) -> None:
    program = (
        "import sys\n"
        "from pytest_kafkacheck.cli.main import main\n"
        f"main({[*arguments, '--dir', str(runs)]!r})\n"
        "print([name for name in ('pyspark', 'docker', 'kafka', 'nemesis', 'analyzers') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
