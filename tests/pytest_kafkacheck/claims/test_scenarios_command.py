"""`kafkacheck scenarios`: the selection, the table, and the exit status."""

from __future__ import annotations

import argparse
import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_kafkacheck import ClusterSpec
from pytest_kafkacheck.claims import run
from pytest_kafkacheck.claims.claim import Answer, Case, Claim, Picture, Scenario, all_scenarios
from pytest_kafkacheck.claims.exercising import NotExercised
from pytest_kafkacheck.claims.result import ScenarioResult, Try, figures, junit_xml, rate
from pytest_kafkacheck.claims.selection import selected
from pytest_kafkacheck.cli.main import main
from pytest_kafkacheck.cli.scenarios import write_results
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.harness import Harness
from pytest_kafkacheck.report.lane import Group

OPTIONS = argparse.Namespace(json=None, junitxml=None)


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
    assert ids("UNCLEAN and 4.1.1") == {"B8", "B9", "B15"}


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
FAILED = attempt("error")


@pytest.mark.parametrize(
    ("found", "state", "status"),
    [
        (result(CONFIRMED, CONFIRMED), "as documented", 0),
        (result(CONFIRMED, REFUTED), "not as documented", 1),
        (result(CONFIRMED, MISSED), "not exercised", 3),
        (result(MISSED, REFUTED), "not as documented", 1),
        (result(MISSED, FAILED, CONFIRMED), "error", 1),
        (result(FAILED, REFUTED), "not as documented", 1),
        (result(REFUTED, expected="refuted"), "as documented", 0),
        (result(CONFIRMED, expected="refuted"), "not as documented", 1),
    ],
)
def test_state_and_exit_status(
    found: ScenarioResult, state: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert found.state == state
    assert write_results(OPTIONS, [found]) == status
    text = capsys.readouterr().out
    assert "B3  reads" in text
    assert ("B3 4.1.1: " in text) == bool(status)


def test_the_worst_result_decides() -> None:
    results = [result(CONFIRMED), result(MISSED), result(REFUTED)]
    assert write_results(OPTIONS, results) == 1
    assert write_results(OPTIONS, results[:2]) == 3


def test_results_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert write_results(argparse.Namespace(json="-", junitxml=None), [result(CONFIRMED)]) == 0
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


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the specs for which the command asked for a cluster. There is none, so claims get nothing."""
    specs: list[str] = []

    @contextmanager
    def cluster(_: Harness, spec: ClusterSpec, **__: object) -> Iterator[None]:
        specs.append(spec.describe())
        yield

    @contextmanager
    def context(_: object, **__: object) -> Iterator[None]:
        yield

    monkeypatch.setattr(Harness, "cluster", cluster)
    monkeypatch.setattr(run, "ScenarioContext", context)
    return specs


def raising(error: BaseException) -> Callable[[object], Answer]:
    def show(_: object) -> Answer:
        raise error

    return show


def offer(monkeypatch: pytest.MonkeyPatch, *shows: Callable[[Any], Answer]) -> None:
    """Let the command have these claims, B1 and so on."""
    case = Case(name="4.1.1", cluster=ClusterSpec())
    scenarios = tuple(
        Scenario(Claim(id=f"B{number}", title="t", text="T.", source="s", cases=(case,), show=show), case)
        for number, show in enumerate(shows, 1)
    )
    monkeypatch.setattr("pytest_kafkacheck.claims.claim.all_scenarios", lambda: scenarios)


def holds(_: object) -> Answer:
    return Answer(holds=True, seen="so")


def test_a_claim_that_raises_does_not_end_the_others(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    offer(monkeypatch, holds, raising(KeyError("leader")), raising(NotExercised("no election")), holds)
    files = ["--json", str(tmp_path / "results.json"), "--junitxml", str(tmp_path / "results.xml")]
    assert main(["scenarios", "--tries", "2", "--dir", str(tmp_path), *files]) == 1
    assert len(asked) == 8, "each showing asks for a cluster, which is replaced where it is not healthy"

    results = json.loads((tmp_path / "results.json").read_text())
    assert [each["state"] for each in results] == ["as documented", "error", "not exercised", "as documented"]
    traceback = tmp_path / "scenarios" / "B2-t-4.1.1" / "error.txt"
    assert traceback.read_text().count("KeyError: 'leader'") == 2
    assert ", in show\n" in traceback.read_text()
    for each in results[1]["tries"]:
        assert (each["outcome"], each["seen"]) == ("error", f"KeyError('leader'); traceback: {traceback}")

    suite = ElementTree.fromstring((tmp_path / "results.xml").read_text())[0]
    counts = [suite.get(name) for name in ("tests", "failures", "errors", "skipped")]
    assert counts == ["4", "0", "1", "1"]
    (error,) = suite.findall("./testcase/error")
    assert "KeyError('leader')" in error.get("message", "")
    assert "B2 4.1.1: error: KeyError('leader')" in capsys.readouterr().out.replace("\n", "")


def test_an_interrupt_in_a_claim_ends_all_of_them(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    offer(monkeypatch, holds, raising(KeyboardInterrupt()), holds)
    out = tmp_path / "results.json"
    assert main(["scenarios", "--json", str(out), "--dir", str(tmp_path)]) == 130
    assert len(asked) == 2
    assert [each["id"] for each in json.loads(out.read_text())] == ["B1"]


def test_an_error_outside_of_the_claims_loses_no_result(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def unreachable(_: Harness, __: ClusterSpec, **___: object) -> Any:
        if len(asked) == 1:
            raise ConnectionError("the engine is gone")
        return cluster(_, __)

    cluster = Harness.cluster
    monkeypatch.setattr(Harness, "cluster", unreachable)
    offer(monkeypatch, holds, holds)
    out = tmp_path / "results.json"
    with pytest.raises(ConnectionError):
        main(["scenarios", "--json", str(out), "--dir", str(tmp_path)])
    assert [each["id"] for each in json.loads(out.read_text())] == ["B1"]


def test_junit_has_a_case_for_each_scenario() -> None:
    results = [result(CONFIRMED, REFUTED), result(MISSED), result(CONFIRMED)]
    suite = ElementTree.fromstring(junit_xml(results))[0]
    assert [[child.tag for child in case] for case in suite] == [["failure"], ["skipped"], []]
    assert [suite[0].get("classname"), suite[0].get("name"), suite[0].get("time")] == [
        "B3 reads",
        "4.1.1",
        "4.0",
    ]
    assert suite[0][0].text == "refuted, expected confirmed: it was refuted"
