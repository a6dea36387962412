"""`kafkacheck scenarios`: the selection, the table, and the exit status."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_kafkacheck import ClusterSpec
from pytest_kafkacheck.claims.claim import Answer, Case, Claim, Picture, Scenario, all_scenarios
from pytest_kafkacheck.claims.result import ScenarioResult, Try, figures, rate
from pytest_kafkacheck.claims.selection import selected
from pytest_kafkacheck.cli.main import main
from pytest_kafkacheck.cli.scenarios import write_results
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.report.lane import Group


def ids(expression: str) -> set[str]:
    return {each.claim.id for each in selected(all_scenarios(), expression)}


def test_an_id_selects_its_claim_only_and_a_letter_its_section() -> None:
    assert ids("B1") == {"B1"}
    assert ids("b1 or C2") == {"B1", "C2"}
    every = {each.claim.id for each in all_scenarios()}
    assert ids("E") == {id_ for id_ in every if id_[0] == "E"}


def test_words_match_parts_of_names() -> None:
    names = {each.name for each in selected(all_scenarios(), "(B7 or B8) and not 3.9.2")}
    assert names == {
        each.name
        for each in all_scenarios()
        if each.claim.id in ("B7", "B8") and "3.9.2" not in each.case.name
    }
    assert ids("UNCLEAN and 4.1.1") == {"B8", "B9"}


@pytest.mark.parametrize("expression", ["", "B1 or", "(B1", "B1 B2", "not", ")"])
def test_an_expression_that_cannot_be_read_is_refused(expression: str) -> None:
    with pytest.raises(UsageError, match="expected words with and, or, not"):
        selected(all_scenarios(), expression)


def test_unknown_names_and_no_tries_are_refused_before_anything_starts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["scenarios", "-k", "B99"]) == 2
    assert "-k 'B99' selects no scenario; claims are A1, " in capsys.readouterr().err
    assert main(["scenarios", "--tries", "0"]) == 2
    assert "--tries 0: expected 1 or more" in capsys.readouterr().err


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenarios", "--list", "-k", "B1 and 4.1.1"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("B1-only-the-leader-takes-writes-4.1.1: confirmed: Only the leader")
    assert main(["scenarios", "--list", "-k", "B1 and 4.1.1", "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert (listed["id"], listed["expected"]) == ("B1", "confirmed")


def attempt(outcome: Any, **figures: float) -> Try:
    return Try(outcome=outcome, seen=f"it was {outcome}", seconds=2.0, figures=figures)


def result(*tries: Try, expected: Any = "confirmed") -> ScenarioResult:
    case = Case(
        name="4.1.1",
        cluster=ClusterSpec(),
        expected=expected,
        why="a known defect" if expected == "refuted" else "",
    )
    claim = Claim(
        id="B3",
        title="reads",
        text="Reads.",
        source="https://example.org",
        cases=(case,),
        show=lambda _: Answer(holds=True, seen=""),
    )
    return ScenarioResult(Scenario(claim, case), tries)


CONFIRMED, REFUTED, MISSED = attempt("confirmed", lost=3), attempt("refuted"), attempt("not exercised")


@pytest.mark.parametrize(
    ("found", "state", "status"),
    [
        (result(CONFIRMED, CONFIRMED), "as documented", 0),
        (result(CONFIRMED, REFUTED), "not as documented", 1),
        (result(CONFIRMED, MISSED), "not exercised", 3),
        (result(MISSED, REFUTED), "not as documented", 1),
        (result(REFUTED, expected="refuted"), "as documented", 0),
        (result(CONFIRMED, expected="refuted"), "not as documented", 1),
    ],
)
def test_state_and_exit_status(
    found: ScenarioResult, state: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert found.state == state
    assert write_results(argparse.Namespace(json=None), [found]) == status
    text = capsys.readouterr().out
    assert "B3  reads" in text
    assert ("B3 4.1.1: " in text) == bool(status)


def test_the_worst_result_decides() -> None:
    results = [result(CONFIRMED), result(MISSED), result(REFUTED)]
    assert write_results(argparse.Namespace(json=None), results) == 1
    assert write_results(argparse.Namespace(json=None), results[:2]) == 3


def test_results_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert write_results(argparse.Namespace(json="-"), [result(CONFIRMED)]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["id"], found["case"], found["kafka"], found["state"]) == (
        "B3",
        "4.1.1",
        "4.1.1",
        "as documented",
    )
    assert found["tries"] == [
        {"outcome": "confirmed", "seen": "it was confirmed", "seconds": 2.0, "figures": {"lost": 3}}
    ]


def test_rates_and_figures() -> None:
    tries = [
        {"outcome": "confirmed", "figures": {"lost": lost, "of": "20 of 20"}} for lost in (3, 5, 1000)
    ] + [{"outcome": "not exercised", "figures": {}}]
    assert rate(tries) == "confirmed 3 of 4, not exercised 1"
    assert figures(tries) == {"lost": "5 (3–1,000)", "of": "20 of 20"}
    assert figures([{"figures": {"s": 0.123}}]) == {"s": "0.1"}


def test_an_interrupt_loses_no_result(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(*_: object, **__: object) -> Iterator[ScenarioResult]:
        yield result(CONFIRMED)
        raise KeyboardInterrupt

    monkeypatch.setattr("pytest_kafkacheck.claims.run.run_scenarios", interrupted)
    out = tmp_path / "results.json"
    assert main(["scenarios", "-k", "B3", "--json", str(out), "--dir", str(tmp_path)]) == 130
    assert [each["id"] for each in json.loads(out.read_text())] == ["B3"]


def test_the_picture_of_the_last_try_as_documented_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def shown(*_: object, **__: object) -> Iterator[ScenarioResult]:
        drawn = [
            Try(
                outcome=outcome,
                seen="",
                seconds=1,
                picture=Picture(groups=(Group(title=title, lanes=()),), span=1000),
            )
            for outcome, title in (("confirmed", "first"), ("confirmed", "second"), ("refuted", "third"))
        ]
        yield result(*drawn)  # type: ignore[arg-type]
        yield result(CONFIRMED)

    monkeypatch.setattr("pytest_kafkacheck.claims.run.run_scenarios", shown)
    main(["scenarios", "-k", "B3", "--pictures", str(tmp_path), "--dir", str(tmp_path)])
    (path,) = tmp_path.glob("*.svg")
    assert path.name == "B3-reads-4.1.1.svg"
    text = path.read_text()
    assert "second" in text
    assert "first" not in text
    assert "third" not in text


def test_a_folder_for_pictures_that_does_not_exist_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["scenarios", "--pictures", str(tmp_path / "none")]) == 2
    assert "expected a folder that exists" in capsys.readouterr().err
