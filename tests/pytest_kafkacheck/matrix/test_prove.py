"""Which cells show what an audit says."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_kafkacheck.audit.events import BROKER_EVENTS, EVENTS
from pytest_kafkacheck.audit.report import Subject
from pytest_kafkacheck.claims.claim import all_scenarios as all_claims
from pytest_kafkacheck.matrix.batch import batches
from pytest_kafkacheck.matrix.matrix import Proof, cells_of
from pytest_kafkacheck.matrix.scenarios import all_scenarios


def proof(*events: str, **settings: Any) -> Proof:
    return cells_of(Subject(name="topic orders", settings=settings), events or BROKER_EVENTS)


def test_a_cell_has_the_audited_settings_and_the_audited_outcome() -> None:
    (cell,), left_out = proof(
        "power-loss", replication=2, min_isr=2, acks="all", unclean=True, flush_messages=1, version="4.1"
    )
    assert not left_out
    assert cell.expected == "keeps"
    assert cell.cluster.version == "4.1.1"
    assert cell.workload.topic_config == {
        "min.insync.replicas": "2",
        "unclean.leader.election.enable": "true",
        "flush.messages": "1",
    }
    assert cell.workload.replication_factor == 2


def test_every_known_outcome_of_brokers_has_a_cell() -> None:
    cells, left_out = proof(replication=3, min_isr=2, replicas_in_rack=2)
    assert [cell.scenario.name for cell in cells] == list(BROKER_EVENTS)
    assert not left_out
    assert all(batch.experiment for batch in batches(cells))
    rack = next(cell for cell in cells if cell.scenario.name == "rack-lost")
    assert rack.expected == "unavailable"
    assert str(batches([rack])[0].faults[-1].target) == "1,2"


def test_zookeeper_mode_is_shown_in_zookeeper_mode() -> None:
    (cell,), _ = proof("isr-of-one-killed", replication=3, version="3.9.1", mode="zookeeper")
    assert (cell.cluster.version, cell.cluster.zookeepers) == ("3.9.1", 1)


@pytest.mark.parametrize(
    ("asked", "shown", "elsewhere"),
    [
        ("3.8.0", "3.8.0", None),
        ("5.0.1", "5.0.1", None),
        ("3.7", "3.7.2", "3.7.2"),
        ("4.1", "4.1.1", "4.1.1"),
        ("2.4.1", "2.8.2", "2.8.2"),
    ],
)
def test_an_outcome_is_shown_on_the_release_that_was_asked_for(
    asked: str, shown: str, elsewhere: str | None
) -> None:
    """A defect may be one of a patch release. Where only the line is known, it is one of that line."""
    (cell,), _ = proof("leader-killed", replication=3, min_isr=2, version=asked)
    assert (cell.version, cell.elsewhere) == (shown, elsewhere)


def test_each_event_is_shown_by_a_scenario_or_by_a_claim() -> None:
    claims = {each.claim.id for each in all_claims()}
    for event in EVENTS.values():
        if event.claim is None:
            assert event.name in all_scenarios()
        else:
            assert event.claim in claims
            assert event.claim in event.shown_by


@pytest.mark.parametrize(
    ("event", "settings", "said"),
    [
        ("rack-lost", {"replication": 3}, "rack-lost is unknown, so there is nothing to show"),
        (
            "consumer-crash",
            {"commit": "auto", "auto_offset_reset": "latest"},
            "consumer-crash is shown by kafkacheck scenarios -k A10",
        ),
        ("leader-killed", {"replication": 12}, "kafkacheck starts 9 brokers at most, and it has 12 replicas"),
        (
            "leader-killed",
            {"replication": 3, "version": "3.9.2", "mode": "zookeeper", "protocol": "0.10.2"},
            "kafkacheck's clients do not write with protocol 0.10.2",
        ),
        (
            "leader-killed",
            {"replication": 3, "min_isr": 2, "acks": "all", "unclean": False, "version": "0.9.0"},
            "kafkacheck runs Kafka 2.8.2, which differs from 0.9.0 in this event",
        ),
        (
            "leader-killed",
            {"replication": 2, "controllers": 2, "roles": "combined"},
            "have a majority of voters at all times, and disks that are kept",
        ),
        ("leader-killed", {"replication": 1, "min_isr": 2}, "a topic with this minimum is not created"),
        ("leader-killed", {"acks": 1, "idempotence": True}, "such a producer does not start"),
    ],
)
def test_what_no_cluster_here_can_show_is_named(event: str, settings: dict[str, Any], said: str) -> None:
    cells, (sentence,) = proof(event, **settings)
    assert not cells
    assert sentence.endswith(said)
