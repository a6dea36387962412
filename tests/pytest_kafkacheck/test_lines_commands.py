"""The commands for histories as JSON lines, as far as they need no Spark."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from analyzers.catalogue.registry import ANOMALIES, BOUND_CHECKS, CHECKS
from analyzers.facts.registry import FACTS, inputs
from pytest_kafkacheck.cli import main as cli
from pytest_kafkacheck.experiment.imported_lines import ImportedLines, import_run
from pytest_kafkacheck.experiment.stored_runs import stored_runs
from tests.support.json_lines import send, write_lines
from workloads.history.lines.kinds import KINDS, RECORD

RUN = Path(__file__).parents[1] / "data" / "runs" / "acks_one"


def test_the_schema_lists_every_field_and_every_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["analyze", "--explain-schema"]) == cli.AS_EXPECTED
    text = capsys.readouterr().out
    words = {word.rstrip("*:,") for word in text.split()}
    assert words >= {each.name for kind in KINDS.values() for each in kind.fields} | {
        each.name for each in RECORD
    }
    assert words >= KINDS.keys()
    assert words >= ANOMALIES.keys() - {check.name for check in BOUND_CHECKS.values()}
    (line,) = (line.split() for line in text.splitlines() if line.split()[:1] == ["lost-write"])
    assert line[:6] == ["lost-write", "every", "history", "alter,", "deletion,", "final-read,"]
    examples = [json.loads(line) for line in text.splitlines() if line.strip().startswith("{")]
    assert [each.get("f") for each in examples] == [None, "send", "final-read", "poll"]


def test_the_inputs_of_every_fact_are_known() -> None:
    """If not: ``python -m tests.support.fact_inputs``. A nightly test compares them with the plans."""
    assert inputs().keys() == FACTS.keys()


def test_the_plan_lists_every_check_with_what_its_first_look_asks(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["analyze", "--show-plan"]) == cli.AS_EXPECTED
    text = capsys.readouterr().out
    assert all(f"-- {check.name}: rows of {check.over} where {check.where}" in text for check in CHECKS)
    assert "\n--   first look, each value: first_offset < last_offset\n" in text
    assert "\n-- by_value: " in text
    assert "\n-- epochs: " in text


def test_wrong_calls(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for arguments, message in (
        (["analyze"], "PATH: expected at least one run to judge, --explain-schema or --show-plan"),
        (["export", str(RUN)], "expected --edn FILE or --jsonl FILE, or both"),
        (["export", str(RUN), "--jsonl", str(tmp_path / "x.json")], "expected a name that ends with .jsonl"),
        (["analyze", str(tmp_path / "none.jsonl")], "none.jsonl: cannot be read (No such file or directory)"),
    ):
        assert cli.main(arguments) == cli.USAGE
        assert message in capsys.readouterr().err


def test_an_exported_run_says_by_which_rules_it_is_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(RUN, tmp_path / "run")
    file = tmp_path / "run.jsonl"
    assert cli.main(["export", str(tmp_path / "run"), "--jsonl", str(file)]) == cli.AS_EXPECTED
    lines = file.read_text().splitlines()
    assert f"{file}: {len(lines)} rows" in capsys.readouterr().out
    header = json.loads(lines[0])
    assert header["requires"] == ["acks-after-faults", "polls-to-the-end", "session-reads", "work-at-faults"]
    assert (header["kafkacheck_history"], header["unit"], header["run"]) == (1, "ns", "ce5c4ffd")


def test_a_folder_into_which_lines_were_imported_keeps_their_rules(tmp_path: Path) -> None:
    """Also if it is moved with its file."""
    home = tmp_path / "home"
    home.mkdir()
    header = {"kafkacheck_history": 1, "unit": "ms", "requires": ["transactions"]}
    file = write_lines(home / "history.jsonl", send("a", 1, 0), header=header)
    made = import_run(file, home, requires=["copies"], allow=["lost-write"])
    home.rename(tmp_path / "moved")
    (run,) = stored_runs([str(tmp_path / "moved")])
    assert run.lines is not None
    assert run.lines == replace(made, home=tmp_path / "moved", path=tmp_path / "moved" / "history.jsonl")
    assert (run.lines.requires, run.lines.allow) == ({"transactions", "copies"}, {"lost-write"})
    assert run.lines.clients == {1: "writer"}
    (tmp_path / "moved" / "imported.json").write_text("{}")
    (run,) = stored_runs([str(tmp_path / "moved")])
    assert run.problem is not None
    assert "imported.json: not what an import has written: the field 'requires' is missing" in run.problem


def test_a_file_outside_keeps_its_place(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "history.jsonl", send("a", 1, 0))
    made = import_run(file, tmp_path / "home")
    assert ImportedLines.read(tmp_path / "home") == made
    assert ImportedLines.read(tmp_path) is None
