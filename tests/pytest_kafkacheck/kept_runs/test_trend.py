"""Verdicts of a test over its runs: flake rate, the first bad run, the first bad Kafka release; two runs compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_kafkacheck.kept_runs.figures import Trend, compare, of_test, trend
from pytest_kafkacheck.kept_runs.run_summary import RunSummary, runs_in
from tests.support.kept_run import kept_run


def runs(tmp_path: Path, *story: tuple[str, str | None]) -> Trend:
    """One run after the other: its release and its verdict."""
    for position, (version, result) in enumerate(story):
        kept_run(
            tmp_path, time=f"20261125-0600{position:02}", run=f"a{position}", version=version, result=result
        )
    return trend(runs_in(tmp_path))


GOOD, BAD = "valid", "invalid"


@pytest.mark.parametrize(
    ("story", "rate", "first_bad", "version"),
    [
        ([("4.1.1", GOOD), ("4.1.1", GOOD)], 0, None, None),
        ([("4.1.1", GOOD), ("4.1.1", BAD), ("4.1.1", GOOD), ("4.1.1", "unknown")], 0.5, "a3", None),
        # Broken from a release on is not flaky.
        ([("3.9.2", GOOD), ("4.1.1", BAD), ("4.1.1", BAD)], 0, "a1", "4.1.1"),
        # Releases are compared as numbers, and the order of the runs does not matter.
        ([("4.10.0", BAD), ("4.9.0", GOOD), ("4.2.0", GOOD)], 0, None, "4.10.0"),
        # Good above bad: no release from which on it is bad.
        ([("4.1.1", BAD), ("4.3.0", GOOD)], 0, None, None),
        # A release that is sometimes good is no boundary.
        ([("3.9.2", GOOD), ("4.1.1", GOOD), ("4.1.1", BAD), ("4.3.0", BAD)], 0.5, "a2", None),
        ([("4.1.1", BAD), ("4.1.1", BAD)], 0, None, None),
        ([("4.1.1", GOOD), ("4.1.1", BAD), ("4.1.1", None)], 0.5, "a1", None),
    ],
)
def test_since_when_a_test_is_bad(
    tmp_path: Path,
    story: list[tuple[str, str | None]],
    rate: float,
    first_bad: str | None,
    version: str | None,
) -> None:
    found = runs(tmp_path, *story)
    assert found.flake_rate == rate
    assert (found.first_bad.run if found.first_bad else None) == first_bad
    assert found.first_bad_version == version


def test_without_a_judged_run_there_is_no_rate(tmp_path: Path) -> None:
    assert runs(tmp_path, ("4.1.1", None)).flake_rate is None


def test_a_run_that_is_expected_to_be_invalid_is_good(tmp_path: Path) -> None:
    kept_run(tmp_path, result="invalid", expect="invalid")
    assert trend(runs_in(tmp_path)).bad == []


def test_runs_of_a_test_by_name_or_pattern(tmp_path: Path) -> None:
    for position, name in enumerate(("orders", "orders-2", "billing")):
        kept_run(tmp_path, time=f"20261125-06000{position}", name=name, run=f"a{position}")
    every = runs_in(tmp_path)
    assert [run.name for run in of_test(every, "orders")] == ["orders"]
    assert [run.name for run in of_test(every, "orders*")] == ["orders", "orders-2"]
    assert of_test(every, "order") == []


def test_two_runs_are_compared(tmp_path: Path) -> None:
    one = kept_run(tmp_path, run="a1", name="one")
    other = kept_run(
        tmp_path, run="a2", name="other", result="invalid", findings={"lost-write": 7}, workload={"acks": 1}
    )
    found = compare(RunSummary(one), RunSummary(other))
    assert dict(found.settings) == {"workload.acks": ("all", 1)}, "names differ between all runs"
    assert dict(found.findings) == {"lost-write": (0, 7)}
    assert found.figures["acks_per_second"] == (1000, 1000)


def test_faults_are_compared_by_their_id(tmp_path: Path) -> None:
    one, other = kept_run(tmp_path, run="a1"), kept_run(tmp_path, run="a2")
    text = (other / "experiment.json").read_text()
    (other / "experiment.json").write_text(text.replace('"lasting": 8', '"lasting": 9'))
    (name,) = compare(RunSummary(one), RunSummary(other)).settings
    assert name == "faults.isolate-0"
