"""Which findings a cause of an application explains, and which records say so. Needs no JVM.

Unless a test says otherwise, instance 0 committed position 15 at 5 s, although the inputs at 10 to 14 have no output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from analyzers.causes.application import Application, Commit, Turn
from analyzers.causes.derive import derive
from analyzers.causes.evidence import Extent
from analyzers.history.fault_events import FaultEvent
from tests.support.application_evidence import (
    NS,
    SINK,
    commit,
    each_sent,
    exited,
    fault,
    finding,
    inputs,
    ns,
    only_cause,
    run_of,
    sent,
    story,
    turn,
)
from tests.support.cause_evidence import LOG, changes, sample

UNFLUSHED = "commits before the outputs are acknowledged"
IGNORED = "ignores the results of sends"

LOST = Application(
    sink=SINK,
    inputs=inputs(20, each_sent(range(10), 1.3)),
    commits={LOG: [commit(1.35, 10), commit(5, 15)]},
    turns={LOG: [turn(0.5, 0)]},
)
FOUND = finding("missing-output", 10, 14, 5)


@pytest.mark.parametrize(
    ("extent", "is_explained"),
    [
        (FOUND, True),
        (replace(FOUND, low=14), True),
        (replace(FOUND, low=15, high=20), False),
        (replace(FOUND, low=5, high=10), True),
        (replace(FOUND, low=5, high=9), False),
        (replace(FOUND, low=None, high=9), False),
        (replace(FOUND, low=15, high=None), False),
        (replace(FOUND, low=None, high=None), True),
        (replace(FOUND, first=ns(5) + 1, last=ns(6)), False),
        (replace(FOUND, first=ns(4), last=ns(5) - 1), False),
        (replace(FOUND, first=None, last=ns(5) - 1), False),
        (replace(FOUND, first=ns(5) + 1, last=None), False),
        (replace(FOUND, first=None, last=None), True),
        (replace(FOUND, topic="u"), False),
        (replace(FOUND, topic=None), False),
        (replace(FOUND, anomaly="duplicate-output"), False),
    ],
    ids=str,
)
def test_findings_of_the_same_inputs_and_time_are_explained(extent: Extent, is_explained: bool) -> None:
    assert only_cause(run_of(LOST, extent)).is_determined == is_explained


def test_findings_that_are_not_explained_come_before_those_that_are() -> None:
    others = finding("missing-output", 15, 19, 9), finding("reordered-output", 10, 14, 5)
    found = derive(run_of(LOST, *others, FOUND))
    assert [(each.name, each.findings) for each in found] == [
        (UNFLUSHED, {"missing-output": 5}),
        ("", {"missing-output": 5, "reordered-output": 5}),
    ]


@pytest.mark.parametrize(("first", "name"), [(1, UNFLUSHED), (4, IGNORED)])
def test_findings_of_two_causes_have_that_of_most(first: int, name: str) -> None:
    """So many of the five outputs belong to partition 0 of the sink, where the instance wrote later."""
    outputs = {**each_sent(range(10), 1.3), 0: [sent(1.3, place=1)], 15: [sent(7)]}
    one = replace(LOST, inputs=inputs(20, outputs))
    keyed = [
        replace(each, key=1 + (each.offset >= 10 + first or each.offset == 0)) for each in one.inputs[LOG]
    ]
    found = only_cause(run_of(replace(one, inputs={LOG: keyed}), FOUND))
    assert (found.name, found.findings) == (name, {"missing-output": 5})


@pytest.mark.parametrize(
    ("commits", "turns", "why"),
    [
        ([], [], "not recorded: commits of the application's group, owners of its partitions"),
        ([commit(5, 2)], [], "examined: commits of the application's group; not recorded: owners of its partitions"),
        ([], [turn(5, 0)], "examined: owners of its partitions; not recorded: commits of the application's group"),
        ([commit(5, 2)], [turn(5, 0)], "examined: commits of the application's group, owners of its partitions"),
    ],
)  # fmt: skip
def test_records_that_are_there(commits: Sequence[Commit], turns: Sequence[Turn], why: str) -> None:
    """Of one partition of two."""
    one = Application(
        sink=SINK, inputs=LOST.inputs, commits={"t-1": [], LOG: commits}, turns={"t-1": [], LOG: turns}
    )
    assert only_cause(run_of(one, FOUND)).why == f"not determined; no fault is recorded; {why}"


def test_without_an_application_no_records_are_there() -> None:
    found = only_cause(replace(run_of(LOST, FOUND), application=None))
    assert found.why.endswith("; not recorded: commits of the application's group, owners of its partitions")


@pytest.mark.parametrize(
    ("event", "is_end"),
    [
        (fault("kill-client", 4.8, 7), True),
        (fault("kill-client", 4.8 - NS, 7), False),
        (fault("kill-client", 5.1, 7, instance=1), False),
        (fault("kill-client", 5.1, 7, effective=False), False),
        (fault("stop-client", 5.1, 7), True),
        (fault("pause-client", 5.1, 7), False),
    ],
    ids=str,
)
def test_a_fault_that_ends_an_instance(event: FaultEvent, is_end: bool) -> None:
    found = only_cause(run_of(LOST, FOUND, events=[event]))
    assert ("nothing is known to have ended app:0" not in story(found)[-1][1]) == is_end


@pytest.mark.parametrize(
    ("exit_", "kill", "is_kill"), [(5.2, 5.1, True), (5.1, 5.1, True), (5.1, 5.2, False)]
)
def test_the_first_end_of_an_instance_counts(exit_: float, kill: float, is_kill: bool) -> None:
    """Of two at the same time, the fault."""
    one = replace(LOST, events=[exited(exit_)])
    found = only_cause(run_of(one, FOUND, events=[fault("kill-client", kill, 7)]))
    assert bool(found.faults) == is_kill


@pytest.mark.parametrize(("node", "is_explained"), [(1, False), (2, True)])
def test_a_follower_of_the_sink_that_cut_its_log_lost_nothing(node: int, is_explained: bool) -> None:
    """Broker 1 leads."""
    cut = changes(sample(4, node, 1, 0, 30), sample(5, node, 2, 1, 20))[LOG]
    found = only_cause(replace(run_of(LOST, FOUND), changes={"o-0": cut}))
    assert found.is_determined == is_explained
