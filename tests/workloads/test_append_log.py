"""AppendLog: its topics and workers, the values that it refuses, and the anomalies that it allows."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from analyzers.catalogue.registry import ANOMALIES
from analyzers.verdict.promises import PROMISES
from workloads.append_log import AppendLog
from workloads.workload import short_topics


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"partitions": 0}, "AppendLog.partitions=0: expected a whole number, 1 to 1000"),
        ({"partitions": True}, "AppendLog.partitions=True"),
        ({"partitions": 1.0}, "AppendLog.partitions=1.0"),
        ({"topics_written": 0}, "AppendLog.topics_written=0: expected a whole number, 1 to 100"),
        ({"producers": 0}, "AppendLog.producers=0: expected a whole number, 1 to"),
        ({"readers": -1}, "AppendLog.readers=-1"),
        ({"acks": "2"}, "AppendLog.acks='2': expected 'all', 1 or 0"),
        ({"acks": -2}, "AppendLog.acks=-2"),
        ({"acks": True}, "AppendLog.acks=True"),
        ({"rate": 0}, "AppendLog.rate=0"),
        ({"rate": float("nan")}, "AppendLog.rate=nan"),
        ({"rate": float("inf")}, "AppendLog.rate=inf: expected records per second above 0, or None"),
        ({"idempotence": "yes"}, "AppendLog.idempotence='yes'"),
        ({"idempotence": True, "acks": 1}, "needs acks='all', got acks=1"),
        ({"auto_offset_reset": "none"}, "AppendLog.auto_offset_reset='none': expected 'earliest' or 'latest'"),
        ({"record_size": 10**9}, "AppendLog.record_size=1000000000"),
        ({"topic_config": {"min.insync.replicas": 4}},
         "['min.insync.replicas']=4 with replication_factor=3: expected 1 to 3"),
        ({"topic_config": {"min.insync.replicas": "two"}}, "['min.insync.replicas']='two'"),
        ({"topic_config": {"retention.ms": float("nan")}}, "['retention.ms']=nan"),
        ({"topic_config": {"retention.ms": None}}, "['retention.ms']=None"),
        ({"topic_config": None}, "AppendLog.topic_config=None: expected settings by name"),
        ({"topic_config": ["a"]}, "AppendLog.topic_config=['a']"),
        ({"rate": 10**400}, "100000 at most"),
        ({"idempotence": 1}, "AppendLog.idempotence=1: expected True, False or None"),
        ({"client": 3}, "AppendLog.client=3: expected settings of the library's producer"),
        ({"client": []}, "AppendLog.client=[]"),
        ({"client": {1: 2}}, "AppendLog.client={1: 2}"),
        ({"client": {"key_serializer": str}}, "AppendLog.client['key_serializer']=<class 'str'>"),
        ({"client": {"linger_ms": float("nan")}}, "AppendLog.client['linger_ms']=nan"),
        ({"client": {"acks": 0}}, "client['acks']: kafkacheck sets this itself"),
        ({"client": {"linger": 0}}, "client['linger']: KafkaProducer has no setting of that name"),
    ],
)  # fmt: skip
def test_values_that_are_not_allowed_are_named(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        AppendLog(**values)


@pytest.mark.parametrize(
    ("written", "meant"), [("1", 1), ("0", 0), ("-1", "all"), (-1, "all"), (1, 1), ("all", "all")], ids=repr
)
def test_acks_are_taken_as_kafka_writes_them(written: Any, meant: object) -> None:
    workload = AppendLog(acks=written)
    assert (workload.acks, type(workload.acks)) == (meant, type(meant))
    assert workload == AppendLog(acks=meant)  # type: ignore[arg-type]


def test_the_topic_of_a_run() -> None:
    log = AppendLog(topic_config={"min.insync.replicas": 2, "unclean.leader.election.enable": True})
    (topic,) = log.topics("a1")
    assert (topic.name, topic.partitions, topic.replication_factor) == ("log-a1", 3, 3)
    assert topic.config == {"min.insync.replicas": "2", "unclean.leader.election.enable": "true"}
    assert log.topics("b2")[0].name != topic.name


def test_several_topics_are_alike_and_the_first_one_keeps_its_name() -> None:
    """So a schedule that names it stays possible when shrink leaves out the others."""
    log = AppendLog(
        topics_written=3, partitions=1, assignment={0: [2, 3, 1]}, topic_config={"retention.ms": 9}
    )
    assert list(short_topics(log, "a1").items()) == [
        ("log", "log-a1"), ("log-1", "log-1-a1"), ("log-2", "log-2-a1")
    ]  # fmt: skip
    shapes = {
        (topic.partitions, topic.config["retention.ms"], *topic.assignment[0]) for topic in log.topics("a1")
    }
    assert shapes == {(1, "9", 2, 3, 1)}
    assert dict(log.smaller())["one topic"] == replace(log, topics_written=1)
    assert "one topic" not in dict(AppendLog().smaller())


def test_processes_are_numbered_from_0() -> None:
    workers = AppendLog(producers=2, readers=1, sessions=2).workers()
    assert [worker.process for worker in workers] == list(range(6))
    assert [worker.role.name for worker in workers] == [
        "producer", "producer", "reader", "session", "session", "probe",
    ]  # fmt: skip
    assert [worker.session for worker in workers] == [None, None, None, 0, 1, None]


@pytest.mark.parametrize(
    ("values", "idempotent", "allowed"),
    [
        ({}, True, set()),
        ({"idempotence": False}, False, {"duplicate", "nonmonotonic-send"}),
        ({"acks": 1}, False, {"duplicate", "nonmonotonic-send", "read-your-writes"}),
        ({"acks": 0}, False, {"duplicate", "nonmonotonic-send", "read-your-writes"}),
    ],
)
def test_allowed_anomalies_follow_from_settings(
    values: dict[str, Any], idempotent: bool, allowed: set[str]
) -> None:
    log = AppendLog(**values)
    assert (log.idempotent, log.allowed) == (idempotent, allowed)
    assert allowed <= set(ANOMALIES)


@pytest.mark.parametrize(
    ("values", "requires"),
    [
        ({}, {"acks-after-faults", "session-reads", "polls-to-the-end"}),
        ({"acks": 0}, {"session-reads", "polls-to-the-end"}),
        ({"sessions": 0}, {"acks-after-faults", "polls-to-the-end"}),
        ({"readers": 0}, {"acks-after-faults", "session-reads"}),
    ],
)
def test_required_promises_follow_from_settings(values: dict[str, Any], requires: set[str]) -> None:
    assert AppendLog(**values).requires == requires
    assert requires <= set(PROMISES)


def test_it_survives_json() -> None:
    log = AppendLog(
        acks=1, topics_written=2, rate=None, topic_config={"min.insync.replicas": 2}, client={"linger_ms": 5}
    )
    assert AppendLog.from_json(json.loads(json.dumps(log.to_json()))) == log
    with pytest.raises(TypeError, match="partition_count"):
        AppendLog.from_json({"partition_count": 3})
