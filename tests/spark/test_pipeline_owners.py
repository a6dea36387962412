"""Findings about an application's inputs name the instance that had their partition, and the faults of that time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from analyzers.verdict.finding import Finding
from analyzers.verdict.verdict import Verdict
from tests.support.stories import pipelines

pytestmark = pytest.mark.spark

OWNERS: Mapping[Callable[[Any], Any], dict[str, list[tuple[Any, ...]]]] = {
    pipelines.missing_before_and_after_a_handover: {"missing-output": [(1, "app:0"), (2, "app:1")]},
    pipelines.missing_and_nothing_after_it: {"missing-output": [(3, "app:1")]},
    pipelines.missing_without_a_position_in_time: {"missing-output": [(2, "app:0"), (3, "app:1")]},
    pipelines.missing_and_watched_too_late: {"missing-output": [(1, None)]},
    pipelines.one_without_an_output: {"missing-output": [(1, None), (3, None)]},
    pipelines.not_reached_after_a_handover: {"missing-output": [(3, "app:1")], "unprocessed-input": [(4, "app:1")]},
    pipelines.made_by_two_owners: {"duplicate-output": [(1, "app:0", "app:1")]},
    pipelines.made_twice_in_a_rebalance: {"duplicate-output": [(1, None, "app:0")]},
    pipelines.overtaken_after_a_handover: {"reordered-output": [(1, "app:0"), (2, "app:1")]},
    pipelines.missing_with_commits_of_the_log: {"missing-output": [(1, "app:2"), (2, "app:2"), (3, "app:2")]},
    pipelines.missing_with_owners_of_the_log: {"missing-output": [(1, "app:1"), (2, "app:1"), (3, "app:1")]},
    pipelines.several_logs_that_have_owners: {"missing-output": [(0, "app:7"), (2, "app:1")]},
}  # fmt: skip


def struck(s: Any, began: int, ended: int) -> Any:
    s.now = began
    s.fault("inject")
    s.now = ended
    return s.fault("heal")


def missing_of_a_fault(s: Any) -> Any:
    """Fed at 2; the next output is one of 101. The fault is at work from 41 to 89."""
    return struck(pipelines.application(pipelines.made(pipelines.fed(s), 0, 2), position=3), 40, 80)


def missing_before_a_fault(s: Any) -> Any:
    return struck(pipelines.application(pipelines.made(pipelines.fed(s), 0, 2), position=3), 140, 180)


def repeated_of_a_fault(s: Any) -> Any:
    """The outputs are of 30 and 95."""
    pipelines.output(pipelines.output(pipelines.fed(s, 1), 0, 0, written=30), 1, 0, written=95)
    return struck(pipelines.application(s, "exactly-once", position=1), 40, 80)


def repeated_after_a_fault(s: Any) -> Any:
    pipelines.output(pipelines.output(pipelines.fed(s, 1), 0, 0, written=130), 1, 0, written=195)
    return struck(pipelines.application(s, "exactly-once", position=1), 40, 80)


TIMES: Mapping[Callable[[Any], Any], tuple[int, ...]] = {
    pipelines.missing_with_commits_of_the_log: (14, 14, 14),
    pipelines.missing_with_owners_of_the_log: (40, 40, 40),
    pipelines.one_without_an_output: (4, 101),
}
"""When the inputs were passed, ns: by the log, by the watch, by the next output. Without all of these: when fed."""

STRUCK: Mapping[Callable[[Any], Any], tuple[str, tuple[str, ...]]] = {
    missing_of_a_fault: ("missing-output", ("isolate leader (nodes 2)",)),
    missing_before_a_fault: ("missing-output", ()),
    repeated_of_a_fault: ("duplicate-output", ("isolate leader (nodes 2)",)),
    repeated_after_a_fault: ("duplicate-output", ()),
}


def owners(finding: Finding) -> list[tuple[Any, ...]]:
    """Offset and owners of each example."""
    named = ("offset", "owner", *(("second_owner",) if finding.anomaly == "duplicate-output" else ()))
    return sorted(tuple(example[name] for name in named) for example in finding.examples)


@pytest.fixture(scope="module")
def verdicts(story: Any, judged: Callable[..., dict[str, Verdict]]) -> dict[str, Verdict]:
    stories = {make.__name__: make(story()) for make in OWNERS}
    return judged(stories | {make.__name__: make(story()) for make in STRUCK})


@pytest.mark.parametrize("make", OWNERS, ids=lambda make: make.__name__)
def test_the_owner_is_the_one_that_had_the_partition_then(
    verdicts: dict[str, Verdict], make: Callable[[Any], Any]
) -> None:
    findings = verdicts[make.__name__].findings
    assert {each.anomaly: owners(each) for each in findings} == OWNERS[make]


@pytest.mark.parametrize("make", TIMES, ids=lambda make: make.__name__)
def test_the_time_is_that_of_the_commit_that_passed_the_input(
    verdicts: dict[str, Verdict], make: Callable[[Any], Any]
) -> None:
    (finding,) = verdicts[make.__name__].findings
    began = verdicts[make.__name__].began or 0
    assert tuple(round(each["time"] * 1e9) + began for each in finding.examples) == TIMES[make]


@pytest.mark.parametrize("make", STRUCK, ids=lambda make: make.__name__)
def test_faults_are_those_between_the_beginning_and_the_end(
    verdicts: dict[str, Verdict], make: Callable[[Any], Any]
) -> None:
    anomaly, faults = STRUCK[make]
    (finding,) = verdicts[make.__name__].findings
    assert finding.anomaly == anomaly
    assert [tuple(each["faults"]) for each in finding.examples] == [faults]
