"""What the audit says of configurations with known answers."""

from __future__ import annotations

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


@pytest.mark.parametrize(("controllers", "effect"), [(1, "unavailable"), (2, "unavailable"), (3, "keeps")])
def test_fewer_than_three_controllers_have_no_majority_without_one(controllers: int, effect: str) -> None:
    one = Configuration(replication=3, min_isr=2, replicas_in_rack=1, controllers=controllers)
    assert outcome(one, "rack-lost").effect == effect
