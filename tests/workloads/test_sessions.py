"""Sessions: its topic and workers, the values that it refuses, the anomalies that it allows."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from analyzers.catalogue.registry import ANOMALIES
from analyzers.verdict.promises import PROMISES
from workloads.conformance import check_workload
from workloads.sessions import SESSION, Sessions


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"partitions": 0}, "Sessions.partitions=0: expected a whole number, 1 to 1000"),
        ({"replication_factor": 0}, "Sessions.replication_factor=0"),
        ({"sessions": 0}, "Sessions.sessions=0: expected a whole number, 1 to 100"),
        ({"writes_per_client": 0}, "Sessions.writes_per_client=0: expected a whole number, 1 to"),
        ({"writes_per_client": 2.5}, "Sessions.writes_per_client=2.5"),
        ({"record_size": -1}, "Sessions.record_size=-1"),
        ({"read_from": "replica"}, "Sessions.read_from='replica': expected 'leader' or 'follower'"),
        ({"read_from": "follower", "replication_factor": 1},
         "Sessions.read_from='follower': with replication_factor=1 there are no followers"),
        ({"read_from": "follower", "library": "confluent-kafka"},
         "Sessions.read_from='follower': confluent-kafka does not expose the end of a log that a follower reported; "
         "use library='kafka-python'"),
        ({"acks": 0}, "Sessions.acks=0: expected 'all' or 1"),
        ({"acks": True}, "Sessions.acks=True"),
        ({"idempotence": "no"}, "Sessions.idempotence='no'"),
        ({"idempotence": True, "acks": 1}, "Sessions.idempotence=True needs acks='all', got acks=1"),
        ({"auto_offset_reset": "none"}, "Sessions.auto_offset_reset='none'"),
        ({"topic_config": {"min.insync.replicas": 4}}, "Sessions.topic_config['min.insync.replicas']=4"),
        ({"assignment": {0: [1]}}, "Sessions.assignment={0: [1]}: expected partitions 0 to 2"),
        ({"library": "none"}, "Sessions.library='none': expected one of"),
        ({"client": {"acks": 0}}, "Sessions.client['acks']: kafkacheck sets this itself"),
    ],
)  # fmt: skip
def test_values_that_are_not_allowed_are_named(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        Sessions(**values)


@pytest.mark.parametrize(
    ("values", "allowed"),
    [
        ({}, set()),
        ({"acks": 1}, {"read-your-writes", "duplicate", "nonmonotonic-send"}),
        ({"idempotence": False}, {"duplicate", "nonmonotonic-send"}),
        ({"read_from": "follower"}, {"read-your-writes", "monotonic-reads"}),
    ],
)
def test_only_what_kafka_does_not_promise_is_allowed(values: dict[str, Any], allowed: set[str]) -> None:
    workload = Sessions(**values)
    assert workload.allowed == allowed <= set(ANOMALIES)
    assert workload.requires <= set(PROMISES)


def test_each_session_has_a_process_and_begins_with_another_partition() -> None:
    *sessions, probe = Sessions(sessions=4, partitions=2).workers()
    assert [(each.process, each.session, each.options["first"]) for each in sessions] == [
        (number, number, number) for number in range(4)
    ]
    assert {each.role for each in sessions} == {SESSION}
    assert SESSION.reads_own
    assert (probe.role.name, probe.process) == ("probe", 4)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"read_from": "follower", "acks": 1, "client": {"linger_ms": 5}},
        {
            "partitions": 1,
            "assignment": {0: [1, 2, 3]},
            "topic_config": {"min.insync.replicas": 2},
            "library": "confluent-kafka",
        },
    ],
)
def test_it_conforms_and_survives_json(values: dict[str, Any]) -> None:
    workload = Sessions(**values)
    check_workload(workload)
    assert Sessions.from_json(json.loads(json.dumps(workload.to_json()))) == workload


def test_a_replay_can_use_the_same_nodes() -> None:
    layout = {0: (2, 1, 3)}
    assert Sessions(partitions=1).with_layout(layout).topics("r")[0].assignment == layout


def test_smaller_workloads_name_what_was_left_out() -> None:
    assert list(Sessions().smaller()) == [("one session", Sessions(sessions=1))]
    assert list(Sessions(sessions=1).smaller()) == []
