"""The catalogue is complete. No JVM."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from analyzers.anomalies.catalogue import ANOMALIES, CATALOGUE, Anomaly, require_known
from analyzers.checks import CHECKS, Check, bounds
from analyzers.checks.bounds import Bounds
from analyzers.judge.cycles import CYCLES

ALL = (*CHECKS, *Bounds(unavailable=1, recovery=1, orphaned=1).checks())


def test_every_check_has_its_entry_and_every_entry_its_check() -> None:
    found = [check.anomaly for check in ALL] + list(CYCLES)
    assert sorted(found) == sorted(anomaly.name for anomaly in CATALOGUE)
    assert len(ANOMALIES) == len(CATALOGUE)


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.anomaly)
def test_the_evidence_shown_is_the_evidence_explained(check: Check) -> None:
    assert set(check.shows) == set(ANOMALIES[check.anomaly].evidence)


@pytest.mark.parametrize("anomaly", CATALOGUE, ids=lambda anomaly: anomaly.name)
def test_an_entry_says_how_it_is_counted_and_reads_as_a_sentence(anomaly: Anomaly) -> None:
    assert "counted per" in anomaly.definition
    one, many = anomaly.summary(1), anomaly.summary(2)
    assert one != many
    assert "(s)" not in one + many


def test_only_what_cannot_be_told_is_unknown() -> None:
    assert {a.name for a in CATALOGUE if a.severity == "unknown"} == {"unseen", "expired"}


DOCUMENT = (Path(__file__).parents[2] / "docs" / "anomalies.md").read_text()


@pytest.mark.parametrize("anomaly", CATALOGUE, ids=lambda anomaly: anomaly.name)
def test_every_anomaly_is_explained_where_its_link_points(anomaly: Anomaly) -> None:
    _, _, target = anomaly.link.partition("docs/anomalies.md#")
    assert f'<a id="{target}"></a>\n## {anomaly.name}\n' in DOCUMENT
    section = DOCUMENT.partition(f"\n## {anomaly.name}\n")[2].partition("\n## ")[0]
    for part in ("**Means.**", "**Promised.**", "**Causes.**", "**Look further.**"):
        assert part in section


STABLE = """
    lost-write unseen duplicate inconsistent-offsets offset-reuse phantom-read foreign-record corrupt-record
    read-your-writes monotonic-reads monotonic-writes writes-follow-reads
    poll-skip nonmonotonic-poll int-poll-skip int-nonmonotonic-poll nonmonotonic-send int-nonmonotonic-send
    int-send-skip realtime-order
    G1a torn-transaction precommitted-read future-read G0 G0-realtime G1c-wr G1c G1c-realtime read-above-lso
    zombie-write
    double-ownership group-skip commit-regression fenced-commit excess-duplicates orphaned-partition
    unavailable slow-recovery
"""


def test_the_stable_identifiers_are_there() -> None:
    assert set(STABLE.split()) <= ANOMALIES.keys()


def test_only_what_kafka_does_not_promise_is_a_note() -> None:
    assert {a.name for a in CATALOGUE if a.severity == "note"} == {
        "int-send-skip",
        "G0",
        "G0-realtime",
        "G1c",
    }


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), True, "1"])
def test_a_bound_is_a_number_of_seconds(value: object) -> None:
    with pytest.raises(
        ValueError, match="recovery: expected seconds, a finite number from 0 on, or None; got "
    ):
        Bounds(recovery=value)  # type: ignore[arg-type]


def test_only_bounds_that_are_stated_are_checked() -> None:
    assert list(Bounds().checks()) == []
    assert [check.anomaly for check in Bounds(recovery=1.5).checks()] == ["slow-recovery"]


def test_bounds_of_several_runs_are_one_check_for_each_kind() -> None:
    stated = {"a": Bounds(recovery=1), "it's": Bounds(recovery=1), "b": Bounds(recovery=2), "none": Bounds()}
    (check,) = bounds.checks(stated)
    bound = r"case when run in ('a', 'it\'s') then 1000000000 when run in ('b') then 2000000000 end"
    assert (check.anomaly, check.where) == ("slow-recovery", f"acked_before and lasted > {bound}")
    assert list(bounds.checks({"none": Bounds()})) == []


def test_bounds_survive_json() -> None:
    stated = Bounds(unavailable=1.5, orphaned=0)
    assert stated.to_json() == {"unavailable": 1.5, "orphaned": 0}
    assert Bounds.from_json(stated.to_json()) == stated
    for data, said in (
        ({"unavailible": 1}, "no bound named unavailible; there are unavailable, recovery, orphaned"),
        ({"recovery": "1"}, "recovery: expected seconds"),
        ([1], "expected an object, got [1]"),
    ):
        with pytest.raises(ValueError, match=re.escape(said)):
            Bounds.from_json(data)


def test_names_are_checked() -> None:
    assert require_known(["duplicate"]) == {"duplicate"}
    with pytest.raises(ValueError, match="no anomaly named dup, lost; there are lost-write, "):
        require_known({"lost", "dup"})
