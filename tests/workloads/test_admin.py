"""Admin: its topic and workers, the values that it refuses, and what an administrator records."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
)
from kafka.protocol.metadata import MetadataRequest

from analyzers.verdict.promises import PROMISES
from tests.support.worker_context import rows_on_disk, worker_context
from workloads.admin import Admin
from workloads.clients import administration
from workloads.clients.connection import Address
from workloads.conformance import check_workload
from workloads.roles import administrator as role
from workloads.roles.administrator import Administrator
from workloads.roles.context import WorkerContext


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"partitions": 0}, "Admin.partitions=0: expected a whole number, 1 to 1000"),
        ({"administrators": 0}, "Admin.administrators=0: expected a whole number, 1 to 100"),
        ({"side_topics": 0}, "Admin.side_topics=0: expected a whole number, 1 to 100"),
        ({"deleted_share": 2}, "Admin.deleted_share=2: expected a share, 0 to 1"),
        ({"inspect_every": 1.5}, "Admin.inspect_every=1.5: expected a whole number, 1 to 1000"),
        ({"interval": -1}, "Admin.interval=-1: expected seconds, 0 to 3600"),
        ({"rate": 0}, "Admin.rate=0: expected records per second above 0, or None"),
        ({"auto_offset_reset": "none"}, "Admin.auto_offset_reset='none': expected 'earliest' or 'latest'"),
        ({"topic_config": {"min.insync.replicas": 4}}, "Admin.topic_config['min.insync.replicas']=4"),
        ({"assignment": {0: [1]}}, "Admin.assignment={0: [1]}: expected partitions 0 to 1"),
        ({"library": "none"}, "Admin.library='none': expected one of"),
        ({"client": {"acks": 1}}, "Admin.client['acks']"),
    ],
)  # fmt: skip
def test_values_that_are_not_allowed_are_named(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        Admin(**values)


def test_it_conforms_and_survives_json() -> None:
    admin = Admin(assignment={0: [1, 2, 3], 1: [2, 3, 1]}, readers=0)
    check_workload(admin)
    assert Admin.from_json(json.loads(json.dumps(admin.to_json()))) == admin
    assert Admin().requires <= set(PROMISES)
    assert Admin().requires - admin.requires == {"polls-to-the-end"}
    assert (Admin().least_release, Admin().stop_order) == ((4, 0), (("producer",), ("administrator",)))


def test_one_administrator_owns_the_topic_of_the_others() -> None:
    options = [
        each.options for each in Admin(administrators=3).workers() if each.role.name == "administrator"
    ]
    assert [each["owns_main"] for each in options] == [True, False, False]
    smaller = dict(Admin().smaller())
    assert smaller["1 administrators"] == Admin(administrators=1)
    assert smaller["0 readers"] == Admin(readers=0)


class Broker:
    """One broker that is the whole cluster, and answers at once. `codes`: errors by the kind of request."""

    def __init__(self) -> None:
        self.topics: dict[str, int] = {"t": 2}
        self.retention: dict[str, str] = {}
        self.codes: dict[type, int] = {}
        self.asked: Counter[str] = Counter()
        self.hidden: set[str] = set()
        """Beginnings of names that it does not report."""

    def ask(self, address: Address, request: Any, *, timeout: float) -> Any:
        assert timeout > 0
        self.asked[type(request).__name__] += 1
        code = self.codes.get(type(request), 0)
        if code < 0:
            raise TimeoutError(f"no answer from {address}")
        return getattr(self, f"_{type(request).__name__}")(request, code)

    def _CreateTopicsRequest(self, request: Any, code: int) -> Any:
        (topic,) = request.topics
        if not code:
            self.topics[topic.name] = topic.num_partitions
            for each in topic.configs:
                self.retention[topic.name] = each.value
        return Answer(topics=[Answer(error_code=code)])

    def _DeleteTopicsRequest(self, request: Any, code: int) -> Any:
        if not code:
            self.topics = {name: of for name, of in self.topics.items() if name not in request.topic_names}
        return Answer(responses=[Answer(error_code=code) for _ in request.topic_names])

    def _CreatePartitionsRequest(self, request: Any, code: int) -> Any:
        (topic,) = request.topics
        if not code:
            self.topics[topic.name] = topic.count
        return Answer(results=[Answer(error_code=code)])

    def _IncrementalAlterConfigsRequest(self, request: Any, code: int) -> Any:
        (resource,) = request.resources
        if not code:
            self.retention[resource.resource_name] = resource.configs[0].value
        return Answer(responses=[Answer(error_code=code)])

    def _AlterPartitionReassignmentsRequest(self, request: Any, code: int) -> Any:  # noqa: ARG002
        return Answer(error_code=0, responses=[Answer(partitions=[Answer(error_code=code)])])

    def _MetadataRequest(self, request: Any, code: int) -> Any:  # noqa: ARG002
        names = [each.name for each in request.topics]
        known = {name: name in self.topics and not name.startswith(tuple(self.hidden)) for name in names}
        partitions = {
            name: [Answer(partition_index=number, replica_nodes=[1]) for number in range(self.topics[name])]
            if known[name]
            else []
            for name in names
        }
        return Answer(
            topics=[
                Answer(name=name, error_code=0 if known[name] else 3, partitions=partitions[name])
                for name in names
            ]
        )

    def _DescribeConfigsRequest(self, request: Any, code: int) -> Any:  # noqa: ARG002
        (resource,) = request.resources
        value = self.retention.get(resource.resource_name, "7")
        return Answer(results=[Answer(configs=[Answer(name="retention.ms", value=value)])])


class Answer:
    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    broker = Broker()
    monkeypatch.setattr(role, "ask", broker.ask)
    monkeypatch.setattr(role, "MARKER_LIMIT", 0.2)
    return broker


@pytest.fixture
def context(tmp_path: Path) -> Iterator[WorkerContext]:
    options = {
        "interval": 0,
        "side_topics": 2,
        "inspect_every": 2,
        "replication_factor": 1,
        "owns_main": False,
        "deleted_share": 0,
    }
    context = worker_context(
        tmp_path, "administrator", options, topics={"t": 2}, brokers=[Address("localhost", 9)]
    )
    yield context
    context.close()


def operations(context: WorkerContext) -> list[dict[str, Any]]:
    context.flush()
    return [row | {"value": json.loads(row["value"])} for row in rows_on_disk(context.home)]


def test_changes_are_recorded_and_the_broker_reports_them(context: WorkerContext, broker: Broker) -> None:
    context.options["owns_main"] = True
    administrator = Administrator(context)
    for _ in range(12):
        administrator.change()
    administrator.inspect()
    rows = operations(context)
    changes = Counter(row["value"]["change"] for row in rows if row["f"] == "alter")
    assert set(changes) == {"create", "delete", "partitions", "config", "replicas"}
    assert {row["type"] for row in rows} == {"ok"}
    for row in (row for row in rows if row["f"] == "inspect"):
        name, value = row["topic"], row["value"]
        assert value["exists"] == (name in broker.topics)
        assert value.get("partitions") == broker.topics.get(name)
        assert value["node"] == 1
    inspected = {row["topic"] for row in rows if row["f"] == "inspect"}
    assert len(inspected) == 3
    assert not any(name.startswith("marker") for name in broker.topics)
    administrator.close()
    assert set(broker.topics) == {"t"}


@pytest.mark.parametrize(
    ("code", "kind", "error"),
    [
        (38, "fail", "InvalidReplicationFactorError"),
        (36, "info", "TopicAlreadyExistsError"),
        (7, "info", "RequestTimedOutError"),
        (-1, "info", "TimeoutError"),
    ],
)
def test_only_a_refusal_says_that_nothing_happened(
    context: WorkerContext, broker: Broker, code: int, kind: str, error: str
) -> None:
    broker.codes[CreateTopicsRequest] = code
    administrator = Administrator(context)
    administrator.change()
    (row,) = operations(context)
    assert (row["type"], row["error"], row["value"]["change"]) == (kind, error, "create")


@pytest.mark.parametrize(
    "request_type", [DeleteTopicsRequest, CreatePartitionsRequest, IncrementalAlterConfigsRequest]
)
def test_a_topic_with_a_change_of_unknown_outcome_is_given_up(
    context: WorkerContext, broker: Broker, request_type: type
) -> None:
    administrator = Administrator(context)
    broker.codes[request_type] = -1
    for _ in range(60):
        administrator.change()
    rows = operations(context)
    for topic in {row["topic"] for row in rows}:
        kinds = [row["type"] for row in rows if row["topic"] == topic]
        assert "info" not in kinds[:-1], "no change of it follows"
    assert any(row["type"] == "info" for row in rows)
    broker.codes.clear()
    administrator.close()
    assert set(broker.topics) == {"t"}, "it is deleted at the end all the same"


def test_a_broker_that_does_not_report_the_marker_proves_nothing(
    context: WorkerContext, broker: Broker
) -> None:
    administrator = Administrator(context)
    administrator.change()
    broker.hidden = {"marker", "side"}
    administrator.inspect()
    (row,) = (row for row in operations(context) if row["f"] == "inspect")
    assert (row["type"], row["topic"], row["value"]) == ("info", None, {"node": 1})
    assert row["error"] == "the marker was not reported"


def test_a_topic_that_the_broker_forgot_is_recorded(context: WorkerContext, broker: Broker) -> None:
    administrator = Administrator(context)
    administrator.change()
    broker.hidden = {"side"}
    administrator.inspect()
    found = {row["topic"]: row["value"] for row in operations(context) if row["f"] == "inspect"}
    assert found["side-4-1-r"] == {"node": 1, "exists": False}
    assert found["t"] == {"node": 1, "exists": True, "partitions": 2, "retention_ms": 7}


def test_every_kind_of_request_is_sent(broker: Broker) -> None:
    ask = partial(broker.ask, Address("localhost", 9), timeout=1)
    assert administration.reassign(("t", 1), [2, 1])(ask) == ("ok", None)
    assert administration.describe(ask, ["t", "u"])["t"].replicas == {0: (1,), 1: (1,)}
    assert administration.setting(ask, "t", "other") is None
    broker.codes[AlterPartitionReassignmentsRequest] = 39
    assert administration.reassign(("t", 1), [9])(ask) == ("fail", "InvalidReplicationAssignmentError")
    assert {MetadataRequest.__name__, DescribeConfigsRequest.__name__} <= set(broker.asked)
