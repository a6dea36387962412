"""What the audit says of configurations with known answers."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_kafkacheck.audit.assess import outcome
from pytest_kafkacheck.audit.configuration import Configuration
from tests.support.known_configurations import DOCUMENTED_OTHERWISE, KNOWN, Known


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.name)
def test_the_audit_says_what_is_known(known: Known) -> None:
    assert known.expected, "its source says nothing"
    said = {event: outcome(known.configuration, event).effect for event in known.expected}
    assert said == known.expected, known.source


def test_there_are_thirty_of_them() -> None:
    assert len({known.name for known in KNOWN}) == len(KNOWN) >= 30
    assert all(known.source for known in KNOWN)


@pytest.mark.parametrize(
    ("known", "documented"),
    DOCUMENTED_OTHERWISE,
    ids=lambda each: each.name if isinstance(each, Known) else "",
)
def test_where_documentation_and_reality_differ_reality_counts(known: Known, documented: str) -> None:
    said = {event: outcome(known.configuration, event).effect for event in known.expected}
    assert said == known.expected, f"documented: {documented}; {known.source}"


def test_eligible_replicas_and_acks_1_are_named_as_the_reason() -> None:
    found = outcome(Configuration(replication=3, min_isr=2, acks=1, unclean=False), "isr-of-one-killed")
    assert [rule.name for rule in found.rules] == ["acknowledged-below-minimum"]
    assert "also with unclean.leader.election.enable=false" in found.why[0]
    without = outcome(
        Configuration(replication=3, min_isr=2, acks=1, unclean=False, elr=False), "isr-of-one-killed"
    )
    assert without.effect == "unavailable"


def test_a_minimum_above_the_replication_factor_is_capped_since_3_7() -> None:
    settings = {"replication": 2, "min_isr": 3, "acks": "all"}
    old, new = (Configuration(version=version, **settings) for version in ("3.6.2", "3.7.0"))  # type: ignore[arg-type]
    assert "minimum-above-replication" in {rule.name for rule in outcome(old, "leader-killed").rules}
    assert [rule.name for rule in outcome(new, "leader-killed").rules] == ["no-spare-replica"]
    assert "refuses all writes" in old.problems()[0]
    assert "applies 2" in new.problems()[0]


STOPS = (
    "leader-killed", "leader-isolated", "isr-of-one-killed", "leader-wiped", "power-loss-one", "rolling-restart",
)  # fmt: skip
"""One node at a time."""


@pytest.mark.parametrize(
    ("controllers", "one", "two"),
    [(1, "unavailable", "unavailable"), (2, "unavailable", "unavailable"), (3, "keeps", "unavailable"),
     (5, "keeps", "keeps")],
)  # fmt: skip
def test_a_broker_that_is_a_voter_stops_as_one(controllers: int, one: str, two: str) -> None:
    settings: dict[str, Any] = {"replication": 4, "min_isr": 2, "acks": "all"}
    combined = Configuration(**settings, controllers=controllers, roles="combined")
    separate = Configuration(**settings, controllers=controllers)
    lost = {"leader-wiped"} if controllers == 1 else set()
    assert {event: outcome(combined, event).effect for event in STOPS if event != "isr-of-one-killed"} == {
        event: "loses" if event in lost else one for event in STOPS if event != "isr-of-one-killed"
    }
    assert outcome(combined, "two-killed").effect == two
    assert all(outcome(separate, event).effect == "keeps" for event in STOPS if event != "isr-of-one-killed")
    assert outcome(separate, "two-killed").effect == "keeps"


@pytest.mark.parametrize(
    ("settings", "effect"),
    [
        ({"replication": 1}, "loses"),
        ({"replication": 3, "min_isr": 2}, "keeps"),
        ({"replication": 3, "min_isr": 2, "roles": "combined", "controllers": 1}, "loses"),
    ],
)
def test_a_disk_that_goes_with_its_pod_is_lost_in_a_rolling_restart(
    settings: dict[str, Any], effect: str
) -> None:
    found = outcome(Configuration(**settings, storage="ephemeral"), "rolling-restart")
    assert found.effect == effect
    assert effect == "keeps" or found.mends[0].setting.startswith("a volume for log.dirs")
    assert effect == "loses" or "each restart deletes a replica" in found.also[0]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"flush_messages": 100}, "at most 99 records"),
        ({"flush_ms": 1000}, "flush.ms=1000 has no effect"),
        ({"flush_ms": 1000, "flush_check_ms": 500}, "at most the records of the last 1500 ms"),
    ],
)
def test_flushes_bound_what_a_power_loss_takes(settings: dict[str, Any], said: str) -> None:
    found = outcome(Configuration(replication=3, min_isr=2, **settings), "power-loss")
    assert found.effect == "loses"
    assert said in found.also[0]


def test_a_group_that_is_away_begins_by_its_reset() -> None:
    said = {
        reset: outcome(Configuration(auto_offset_reset=reset, offsets_retention_minutes=1440), "group-away")
        for reset in ("latest", "none", "earliest", None)
    }
    assert [each.effect for each in said.values()] == ["loses", "unavailable", "keeps", "unknown"]
    assert all("1440 (1 day)" in [*each.why, *each.also][-1] for each in said.values())
    assert Configuration(version="1.1.0").offsets_retention_minutes == 1440


@pytest.mark.parametrize(("zookeepers", "effect"), [(1, "unavailable"), (3, "keeps")])
def test_one_node_of_zookeeper_has_no_majority_in_another_rack(zookeepers: int, effect: str) -> None:
    one = Configuration(
        replication=3, min_isr=2, replicas_in_rack=1, version="3.9.2", mode="zookeeper", zookeepers=zookeepers
    )
    assert outcome(one, "rack-lost").effect == effect


@pytest.mark.parametrize(("controllers", "effect"), [(1, "unavailable"), (2, "unavailable"), (3, "keeps")])
def test_fewer_than_three_controllers_have_no_majority_without_one(controllers: int, effect: str) -> None:
    one = Configuration(replication=3, min_isr=2, replicas_in_rack=1, controllers=controllers)
    assert outcome(one, "rack-lost").effect == effect
