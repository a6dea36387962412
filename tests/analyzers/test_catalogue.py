"""The catalogue: every check is declared completely, and the names that users rely on stay. No JVM."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from pathlib import Path

import pytest

from analyzers.catalogue.anomaly import Anomaly, Moment
from analyzers.catalogue.bounds import Bounds
from analyzers.catalogue.registry import (
    ANOMALIES,
    BOUND_CHECKS,
    CATALOGUE,
    CHECKS,
    bound_checks,
    in_order,
    require_known,
)
from analyzers.discovery import declared


@pytest.mark.parametrize("anomaly", CATALOGUE, ids=lambda anomaly: anomaly.name)
def test_an_entry_says_how_it_is_counted_and_reads_as_a_sentence(anomaly: Anomaly) -> None:
    assert "counted per" in anomaly.definition.lower()
    one, many = anomaly.summary(1), anomaly.summary(2)
    assert one != many
    assert "(s)" not in one + many
    assert all((anomaly.means, anomaly.promised, anomaly.causes, anomaly.look_further))


@pytest.mark.parametrize("anomaly", CATALOGUE, ids=lambda anomaly: anomaly.name)
def test_evidence_repeats_neither_the_subject_nor_what_every_example_has(anomaly: Anomaly) -> None:
    assert not anomaly.evidence.keys() & {*anomaly.subject.columns, "run", "time", "faults"}


@pytest.mark.parametrize(
    "anomaly", [each for each in CATALOGUE if each.since], ids=lambda anomaly: anomaly.name
)
def test_what_says_when_an_anomaly_may_have_begun_is_a_moment(anomaly: Anomaly) -> None:
    assert isinstance(anomaly.evidence[str(anomaly.since)], Moment)
    assert anomaly.until is None or isinstance(anomaly.evidence[anomaly.until], Moment)


STABLE = """
    lost-write lost-read unseen expired duplicate inconsistent-offsets offset-reuse phantom-read foreign-record
    corrupt-record read-above-watermark
    read-your-writes monotonic-reads monotonic-writes writes-follow-reads
    poll-skip nonmonotonic-poll int-poll-skip int-nonmonotonic-poll nonmonotonic-send int-nonmonotonic-send
    int-send-skip realtime-order overtaken-write
    G1a torn-transaction precommitted-read future-read G0 G0-realtime G1c-wr G1c G1c-realtime read-above-lso
    zombie-write
    double-ownership group-skip commit-regression unfenced-commit excess-duplicates orphaned-partition
    unavailable slow-recovery standstill
"""


def test_the_stable_names_are_declared_with_their_severity() -> None:
    assert set(STABLE.split()) <= ANOMALIES.keys()
    other = {
        name: ANOMALIES[name].severity for name in STABLE.split() if ANOMALIES[name].severity != "invalid"
    }
    notes = dict.fromkeys(("int-send-skip", "G0", "G0-realtime", "G1c"), "note")
    assert other == {"unseen": "unknown", "expired": "unknown"} | notes


def test_findings_are_listed_by_family_and_rank() -> None:
    names = list(ANOMALIES)
    for first, second in (
        ("lost-write", "G1a"),
        ("G1a", "read-your-writes"),
        ("zombie-write", "double-ownership"),
    ):
        assert names.index(first) < names.index(second)
    lost, unseen = ANOMALIES["lost-write"], ANOMALIES["unseen"]
    last = replace(lost, name="unranked", rank=Anomaly.rank)
    assert in_order([last, unseen, lost]) == (lost, unseen, last)


def test_two_anomalies_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="anomalies declared more than once: G1a"):
        in_order([ANOMALIES["G1a"], ANOMALIES["G1a"], ANOMALIES["G0"]])


def test_declarations_are_found_in_every_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "declarations_of_a_test"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "b.py").write_text("from declarations_of_a_test.a import ONE\nTWO = ONE + 'x'\nNOT = 3\n")
    (package / "a.py").write_text("ONE = 'one'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = [text for text in declared("declarations_of_a_test", str) if text.startswith("one")]
    assert found == ["one", "onex"]


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), True, "1"])
def test_a_bound_is_a_number_of_seconds(value: object) -> None:
    with pytest.raises(
        ValueError, match="recovery: expected seconds, a finite number from 0 on, or None; got "
    ):
        Bounds(recovery=value)  # type: ignore[arg-type]


def test_every_bound_has_its_check() -> None:
    assert {each.name for each in fields(Bounds)} == BOUND_CHECKS.keys()
    assert not {check.name for check in BOUND_CHECKS.values()} & {check.name for check in CHECKS}


def test_only_bounds_that_are_stated_are_checked() -> None:
    assert list(bound_checks(Bounds())) == []
    assert [check.name for check in bound_checks(Bounds(recovery=1.5))] == ["slow-recovery"]


def test_bounds_of_several_runs_are_one_check_for_each_kind() -> None:
    stated = {"a": Bounds(recovery=1), "it's": Bounds(recovery=1), "b": Bounds(recovery=2), "none": Bounds()}
    (check,) = bound_checks(stated)
    bound = r"case when run in ('a', 'it\'s') then 1000000000 when run in ('b') then 2000000000 end"
    assert (check.name, check.where) == ("slow-recovery", f"acked_before and lasted > {bound}")
    assert list(bound_checks({"none": Bounds()})) == []


def test_bounds_survive_json() -> None:
    stated = Bounds(unavailable=1.5, orphaned=0)
    assert stated.to_json() == {"unavailable": 1.5, "orphaned": 0}
    assert Bounds.from_json(stated.to_json()) == stated
    for data, message in (
        ({"unavailible": 1}, "no bound named unavailible; there are unavailable, recovery, orphaned"),
        ({"recovery": "1"}, "recovery: expected seconds"),
        ([1], "expected an object, got [1]"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            Bounds.from_json(data)


def test_names_are_checked() -> None:
    assert require_known(["duplicate"]) == {"duplicate"}
    with pytest.raises(ValueError, match="no anomaly named dup, lost; there are lost-write, "):
        require_known({"lost", "dup"})
