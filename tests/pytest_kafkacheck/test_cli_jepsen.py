"""``kafkacheck analyze --profile jepsen`` and ``kafkacheck export``: options, output and exit status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzers.jepsen.analyze import Judged, Options
from pytest_kafkacheck.cli import main as cli

VALID = Judged(file="a", errors={})
INVALID = Judged(file="b", errors={"duplicate": [{"key": 1}]}, counts={"duplicate": 40}, bad=("duplicate",))
UNKNOWN = Judged(file="c", errors={}, error="c: holds no operation")


class NoSpark:
    def __init__(self, **_: Any) -> None:
        pass

    def session(self) -> None:
        return None

    def stop(self) -> None:
        pass


@pytest.fixture
def analysis(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A fake analysis: records its arguments, and returns `answers`."""
    calls: dict[str, Any] = {"answers": [VALID]}

    def analyze(_: None, files: list[Path], *, options: Options) -> list[Judged]:
        calls.update(files=files, options=options)
        return list(calls["answers"])

    monkeypatch.setattr("pytest_kafkacheck.spark.Spark", NoSpark)
    monkeypatch.setattr("analyzers.jepsen.analyze.analyze", analyze)
    return calls


@pytest.mark.parametrize(
    ("options", "ww_deps", "sub_via"),
    [
        ([], True, "subscribe"),
        (["--no-ww-deps"], False, "subscribe"),
        (["--ww-deps", "--sub-via", "assign"], True, "assign"),
    ],
)
def test_options(analysis: dict[str, Any], options: list[str], ww_deps: bool, sub_via: Any) -> None:
    assert cli.main(["analyze", "--profile", "jepsen", *options, "a", "b"]) == cli.AS_EXPECTED
    assert analysis["options"] == Options(ww_deps=ww_deps, sub_via=sub_via)
    assert analysis["files"] == [Path("a"), Path("b")]


@pytest.mark.parametrize(
    ("answers", "status"),
    [([VALID], 0), ([VALID, INVALID, UNKNOWN], 1), ([UNKNOWN, VALID], 3)],
)
def test_exit_status(analysis: dict[str, Any], answers: list[Judged], status: int) -> None:
    analysis["answers"] = answers
    assert cli.main(["analyze", "--profile", "jepsen", "a"]) == status


def test_answers_are_written_and_printed(
    analysis: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    analysis["answers"] = [INVALID, UNKNOWN]
    cli.main(["analyze", "--profile", "jepsen", "--json", str(tmp_path / "out.json"), "b", "c"])
    empty: dict[str, Any] = {"error-types": [], "bad-error-types": [], "errors": {}, "counts": {}}
    assert json.loads((tmp_path / "out.json").read_text()) == [
        {
            "file": "b",
            "valid": False,
            "error-types": ["duplicate"],
            "bad-error-types": ["duplicate"],
            "errors": {"duplicate": [{"key": 1}]},
            "counts": {"duplicate": 40},
        },
        {"file": "c", "valid": "unknown", **empty, "error": "c: holds no operation"},
    ]
    output = capsys.readouterr().out
    assert "b: invalid\n  duplicate: 40\n" in output
    assert "c: unknown\n  c: holds no operation\n" in output


@pytest.mark.parametrize("option", [["--ww-deps"], ["--sub-via", "assign"]])
def test_options_of_the_other_profile_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: list[str]
) -> None:
    assert cli.main(["analyze", str(tmp_path), *option]) == cli.USAGE
    assert f"{option[0]} requires --profile jepsen" in capsys.readouterr().err


def test_a_folder_without_a_history_is_not_exported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["export", str(tmp_path), "--edn", str(tmp_path / "out.edn")]) == cli.USAGE
    assert "has no history" in capsys.readouterr().err
