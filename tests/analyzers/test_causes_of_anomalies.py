"""Every anomaly has a cause that says what to change, or a reason why it has none. Every kind of cause is declared
once, and shown by a run whose story tests/spark/test_stories_golden.py compares.

Needs no JVM.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analyzers.catalogue.registry import ANOMALIES
from analyzers.causes.derive import derive
from analyzers.causes.evidence import Assignment, Extent
from analyzers.causes.explainer import CauseKind, first_kind
from analyzers.causes.explainers.clients_and_settings import BY_CLIENTS, REMOVALS
from analyzers.causes.registry import EXPLAINED, EXPLAINERS, KINDS, WITHOUT
from analyzers.history.fault_events import FaultEvent
from tests.support.cause_evidence import ISOLATED, LOG, S, evidence, extent, fault
from tests.support.stories.failing_applications import FAILING_APPLICATIONS
from tests.support.stories.failures import FAILURES
from tests.support.stories.unexplained_settings import UNEXPLAINED


def test_every_anomaly_has_a_cause_or_a_reason_why_it_has_none() -> None:
    assert ANOMALIES.keys() - EXPLAINED - WITHOUT.keys() == set(), "add a kind of cause, or a reason"
    assert EXPLAINED | WITHOUT.keys() <= ANOMALIES.keys(), "no such anomaly"
    assert all(WITHOUT.values())


def member(policy: str | None, process: int = 3) -> Assignment:
    return Assignment(time=0, process=process, log=LOG, group="g", generation=1, start=0, policy=policy)


def found(anomaly: str) -> Extent:
    return replace(extent(anomaly), processes=(3,))


UNTIMED = replace(extent("expired"), first=None, last=None)
LATEST = {"assignments": [member("latest"), member("earliest", 4)]}
SHOWN: tuple[tuple[str, Extent, list[FaultEvent], dict[str, Any], bool], ...] = (
    ("auto.offset.reset=latest", found("group-skip"), [], LATEST, True),
    ("auto.offset.reset=latest", found("group-skip"), [], {"assignments": [member("earliest")]}, False),
    ("auto.offset.reset=latest", found("group-skip"), [], {"assignments": [member("latest", 4)]}, False),
    (
        "auto.offset.reset=latest",
        found("group-skip"),
        [],
        {"assignments": [replace(member("latest"), log="u-0")]},
        False,
    ),
    ("commits out of order", found("commit-regression"), [], {"assignments": [member(None)]}, True),
    (
        "commits out of order",
        found("commit-regression"),
        [],
        {"assignments": [member(None), replace(member(None, 4), log="u-0")]},
        True,
    ),
    ("commits out of order", found("commit-regression"), [], LATEST, False),
    (
        "commits out of order",
        replace(found("commit-regression"), processes=(3, 4)),
        [],
        {"assignments": [member(None), member(None, 4)]},
        False,
    ),
    ("commits out of order", found("commit-regression"), [], {}, False),
    ("commits of what was not polled", found("commit-beyond-polls"), [], {}, True),
    ("commits before copies", found("lost-copy"), [], {}, True),
    ("commits before copies", found("lost-copy"), [], {"operations": frozenset({"txn"})}, False),
    ("retention", extent("expired"), [], {"settings": {"retention.ms": "7000"}}, True),
    ("retention", extent("expired"), [], {"settings": {"retention.ms": "7001"}}, False),
    (
        "retention",
        extent("expired"),
        [],
        {"settings": {"retention.ms": "-1", "retention.bytes": "100"}},
        True,
    ),
    ("retention", extent("expired"), [], {}, False),
    ("retention", replace(extent("expired"), last=None), [], {"settings": {"retention.ms": "5000"}}, True),
    ("retention", UNTIMED, [], {"settings": {"retention.ms": "0"}}, False),
    ("retention", extent("expired"), [], {"settings": {"retention.ms": "0"}, "began": None}, False),
    ("retention", extent("expired"), [], {"settings": {"retention.ms": "6001"}, "began": S}, False),
    (
        "deletion by a fault",
        extent("expired"),
        [fault("recreate-topic", 6, 7)],
        {"settings": {"retention.bytes": "100"}},
        True,
    ),
    ("deletion by a fault", extent("expired"), [fault("delete-records", 3, 5)], {}, True),
    ("deletion by a fault", extent("expired"), [replace(fault("delete-records", 3, 4), heal=None)], {}, True),
    ("deletion by a fault", UNTIMED, [fault("delete-records", 6, 7)], {}, False),
    ("deletion by a fault", extent("expired"), [fault("delete-records", 6, 7)], {}, True),
    ("deletion by a fault", extent("expired"), [fault("delete-records", 3, 4)], {}, False),
    ("delete.retention.ms", extent("risen-key"), [], {"settings": {"delete.retention.ms": "100"}}, True),
    (
        "delete.retention.ms",
        extent("risen-key"),
        [],
        {"settings": {"delete.retention.ms": "86400000"}},
        False,
    ),
)


@pytest.mark.parametrize(("name", "of", "events", "more", "is_shown"), SHOWN)
def test_what_clients_and_settings_do_is_established_by_the_history(
    name: str, of: Extent, events: list[FaultEvent], more: dict[str, Any], is_shown: bool
) -> None:
    """A broker was killed meanwhile, which explains none of them."""
    run = evidence(of, events=[*events, fault("kill", 4, 6)])
    (cause,) = derive(replace(run, **more))
    assert (cause.name or "not determined") == (name if is_shown else "not determined")
    assert cause.findings == {of.anomaly: of.count}
    assert [of.anomaly in step.text for step in cause.steps].count(True) == (of.first is not None)
    assert ("kill-0" in cause.faults) == (of.first is not None)


def test_each_of_these_kinds_is_shown_with_and_without_its_evidence() -> None:
    shown = {name for name, *_, is_shown in SHOWN if is_shown}
    assert shown == {kind.name for each in (BY_CLIENTS, REMOVALS) for kind in each.kinds}


def test_a_position_above_the_end_is_what_a_client_committed() -> None:
    (cause,) = derive(evidence(extent("commit-beyond-end"), events=[fault("kill", 4, 6)]))
    assert (cause.name, cause.faults) == ("committed positions that the log does not have", ("kill-0",))
    assert cause.findings == {"commit-beyond-end": 10}
    texts = [step.text for step in cause.steps]
    assert "the first of 10 commits that goes beyond the end of its log begins; the last at 7.0 s" in texts


def test_a_lost_copy_may_come_from_a_lost_write() -> None:
    """A copy that was acknowledged and lost is no fault of the copier."""
    for lost in ("lost-write", "lost-read"):
        causes = derive(evidence(found("lost-copy"), extent(lost)))
        assert [cause.kind for cause in causes] == ["unknown"]
    assert evidence(extent("lost-read")).anomalies == {"lost-read"}
    causes = derive(evidence(found("lost-copy"), extent("lost-write"), of=ISOLATED))
    assert [cause.kind for cause in causes] == ["truncation", "unknown"], "also one that is explained"


def test_writes_in_another_order_have_a_cause_where_retries_may_reorder_them() -> None:
    for setting, kind in (("false", "duplicate delivery"), ("true", "unknown")):
        run = evidence(extent("nonmonotonic-send"), events=[fault("kill", 4, 6)])
        (cause,) = derive(replace(run, settings={"enable.idempotence": setting}))
        assert (cause.kind, cause.faults) == (kind, ("kill-0",))


DATA = Path(__file__).parents[1] / "data"
STORIES = {each.stem: each.read_text().splitlines() for each in (DATA / "stories").glob("*.txt")}


ELSEWHERE = (BY_CLIENTS, REMOVALS)
"""Explainers whose kinds tests/analyzers/test_causes_of_anomalies.py shows."""


SHOWN_IN_STORIES = [kind for each in EXPLAINERS if each not in ELSEWHERE for kind in each.kinds]


@pytest.mark.parametrize("kind", SHOWN_IN_STORIES, ids=lambda kind: kind.name)
def test_some_run_shows_the_kind(kind: CauseKind) -> None:
    why, change = f"   why    {kind.why}", f"   try    {kind.change}"
    shown = [lines for lines in STORIES.values() if why in lines]
    assert shown, f"no story under tests/data/stories has the line {why!r}"
    assert all((change in lines) == bool(kind.change) for lines in shown)


def test_every_expected_story_is_that_of_a_run() -> None:
    """Otherwise a kind would count as shown because of a file that nothing compares."""
    recorded = {each.name for each in (DATA / "runs").iterdir() if each.is_dir()}
    made = {make.__name__ for make in (*FAILURES, *UNEXPLAINED, *FAILING_APPLICATIONS)}
    assert STORIES.keys() == recorded | made | {"torn_transfer_alone"}


def test_a_kind_says_what_to_change_or_that_nothing_has_to_be() -> None:
    declared = [kind for each in EXPLAINERS for kind in each.kinds]
    assert len(declared) == len(KINDS), "two kinds have one name"
    for kind in declared:
        assert kind.explains <= ANOMALIES.keys(), kind.name
        assert bool(kind.change) == (kind.changes in ("setting", "application")), kind.name
        assert kind.source, kind.name


@pytest.mark.parametrize("kind", SHOWN_IN_STORIES, ids=lambda kind: kind.name)
def test_every_kind_is_reachable(kind: CauseKind) -> None:
    (table,) = (each.kinds for each in EXPLAINERS if kind in each.kinds)
    circumstances = (kind.circumstance,) if kind.circumstance else ()
    assert first_kind(table, circumstances, dict([kind.setting]) if kind.setting else {}) is kind
