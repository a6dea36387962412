"""The benchmark of known defects: its table, and what it says of runs."""

from __future__ import annotations

import json
from contextlib import nullcontext
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from analyzers.catalogue.registry import ANOMALIES
from pytest_kafkacheck.claims.claim import all_scenarios
from pytest_kafkacheck.cli import main as cli
from pytest_kafkacheck.defects import showing
from pytest_kafkacheck.defects.showing import Shown, blind, blind_plan, directed, releases
from pytest_kafkacheck.defects.table import DEFECTS, Defect
from pytest_kafkacheck.errors import InfrastructureError
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.run import Run
from pytest_kafkacheck.soak.draw import candidate
from pytest_kafkacheck.soak.plan import Soak
from pytest_kafkacheck.soak.soak import soak
from tests.support.fake_lab import FakeLab, at_once, shows
from workloads.workload import client_library

BY_ID = {each.id: each for each in DEFECTS}


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda each: each.id)
def test_each_defect_is_shown_in_one_way_or_says_why_not(defect: Defect) -> None:
    assert [bool(defect.claim), defect.schedule is not None, bool(defect.missing)].count(True) == 1
    assert set(defect.anomalies) <= ANOMALIES.keys()
    assert defect.schedule is None or defect.anomalies, "what a run shows is compared with these"
    for release, is_control in releases(defect):
        if defect.schedule is not None:
            experiment = defect.schedule(release)
            assert experiment.schedule.events
            moves = {event.fault.moves_to for event in experiment.schedule.events}
            assert defect.of != "broker" or release in {experiment.cluster.version, *moves}
        if defect.claim:
            expected = showing.scenario_of(defect, release).case.expected
            assert expected == ("confirmed" if is_control else "refuted")


def test_claims_of_defects_name_their_issue() -> None:
    sources = {each.claim.id: each.claim.source for each in all_scenarios()}
    for defect in DEFECTS:
        assert not defect.claim or defect.id in sources[defect.claim]


class FakeHarness:
    """Each run shows the next of these verdicts; an error is raised."""

    def __init__(self, *verdicts: Any) -> None:
        self.verdicts = list(verdicts)

    def run(self, experiment: Experiment) -> Run:
        verdict = self.verdicts.pop(0)
        if isinstance(verdict, Exception):
            raise verdict
        return Run(Path(f"run-{experiment.name}"), verdict(experiment))


def lost(experiment: Experiment) -> Any:
    return shows(experiment, lost=True)


def unknown(experiment: Experiment) -> Any:
    return shows(experiment, unknown="no end")


def test_a_defect_is_tried_until_it_is_found_and_its_control_as_often() -> None:
    harness: Any = FakeHarness(unknown, shows, lost, shows, unknown, InfrastructureError("no broker"))
    affected, control = directed(harness, BY_ID["KAFKA-20115"], report=lambda _: None)
    assert (affected.outcome, affected.tries, affected.seen) == ("found", 3, "lost-write")
    assert (affected.release, affected.path) == ("4.1.1", "run-KAFKA-20115-4.1.1")
    assert (control.outcome, control.tries, control.release) == ("nothing", 3, "4.1.2")
    assert affected.is_as_expected
    assert control.is_as_expected
    harness = FakeHarness(*[unknown] * 3)
    (shown,) = directed(harness, BY_ID["KAFKA-20554"], report=lambda _: None)
    assert (shown.outcome, shown.seen, shown.is_as_expected) == ("unknown", "no end", False)


@pytest.mark.parametrize(
    ("defect", "outcome", "seen"),
    [("KAFKA-20539", "found", "added-partition-skip"), ("KAFKA-20554", "nothing", "")],
)
def test_a_note_is_a_finding_of_the_defect_that_shows_it(defect: str, outcome: str, seen: str) -> None:
    noted = partial(shows, noted="added-partition-skip")
    (shown,) = directed(FakeHarness(*[noted] * 3), BY_ID[defect], report=lambda _: None)  # type: ignore[arg-type]
    assert (shown.outcome, shown.seen) == (outcome, seen)


def test_a_soak_that_knows_nothing_of_it_has_that_release_only() -> None:
    plan = blind_plan(BY_ID["KAFKA-20634"], "4.3.0")
    assert {each.version for each in plan.clusters} == {"4.3.0"}
    for defect, release, client in (
        ("KAFKA-19012", "4.1.1", "java-4.1.1"), ("librdkafka-4953", "4.1.1", "confluent-kafka")
    ):  # fmt: skip
        drawn = [
            candidate(blind_plan(BY_ID[defect], release), 1, number, 0).workload for number in range(1, 30)
        ]
        assert {client_library(each) for each in drawn} == {client}
        assert len({type(each) for each in drawn}) == 9, "all but queues, which these clients do not have"


def test_a_blind_soak_ends_with_the_first_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Lab(FakeLab):
        def __init__(self, home: Path) -> None:
            # Found in the second round of the affected release.
            super().__init__(
                home, verdict=lambda each: shows(each, lost="4.3.0" in str(home) and len(self.ran) > 1)
            )

        def __enter__(self) -> Lab:
            return self

        def __exit__(self, *_: object) -> None: ...

        def fitted(self, plan: Soak) -> tuple[Soak, dict[str, str]]:
            return plan, {}

        def check(self, _: Soak) -> None: ...

    monkeypatch.setattr(showing, "Clusters", Lab)
    seconds = partial(next, count(0, 10))  # each look at the clock is 10 s later
    monkeypatch.setattr(showing, "soak", partial(soak, clock=seconds, start=at_once))
    affected, control = blind(tmp_path, BY_ID["KAFKA-20634"], minutes=5, report=lambda _: None)
    assert (affected.how, affected.outcome, affected.seen) == ("blind", "found", "lost-write")
    assert (affected.tries, control.tries > 2) == (2, True)
    assert (control.outcome, control.is_as_expected) == ("nothing", True)


def test_the_command_lists_them_and_refuses_what_it_cannot_show(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["defects", "--json", "-"]) == cli.AS_EXPECTED
    listed = json.loads(capsys.readouterr().out)
    assert [each["defect"] for each in listed] == [*BY_ID]
    for arguments, said in (
        (["KAFKA-1"], "no defect 'KAFKA-1'; allowed are KAFKA-20554, KAFKA-20634"),
        (["KAFKA-19294"], "KAFKA-19294: a broker that is fenced for some seconds is no anomaly"),
        (["--blind", "5"], "name the defects to look for, or 'all'"),
        (["all", "--blind", "0"], "--blind 0: expected a number of minutes above 0"),
        (["all", "--tries", "0"], "--tries 0: expected 1 or more"),
    ):
        assert cli.main(["defects", *arguments]) == cli.USAGE
        assert said in capsys.readouterr().err


def test_the_command_writes_what_was_shown_and_its_status_says_whether_it_is_as_expected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pytest_kafkacheck.experiment import harness as harnesses

    monkeypatch.chdir(tmp_path)
    for verdicts, status in (
        ([lost, *[shows] * 3], cli.AS_EXPECTED),
        ([*[shows] * 3, *[shows] * 3], cli.NOT_AS_EXPECTED),
        ([lost, lost], cli.NOT_AS_EXPECTED),
        ([*[unknown] * 3, *[shows] * 3], cli.UNKNOWN),
    ):
        harness = nullcontext(FakeHarness(*verdicts))
        monkeypatch.setattr(harnesses, "Harness", lambda *_, of=harness, **__: of)
        assert cli.main(["defects", "KAFKA-20634", "--json", "out.json"]) == status
        written = [Shown(**{k: v for k, v in each.items() if k != "as_expected"}) for each in read(tmp_path)]
        assert [each.is_control for each in written] == [False, True]
    assert "unknown after 3 tries" in capsys.readouterr().out


def read(folder: Path) -> Any:
    return json.loads((folder / "out.json").read_text())
