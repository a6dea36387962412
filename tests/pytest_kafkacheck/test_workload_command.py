"""What `kafkacheck workload` takes, and what it refuses before anything starts."""

from __future__ import annotations

import inspect

import pytest

import pytest_kafkacheck
from pytest_kafkacheck.cli.workload import make
from pytest_kafkacheck.cluster.kafka.served_cluster import find, parse_bootstrap
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from pytest_kafkacheck.workload_names import WORKLOAD_NAMES
from workloads.append_log import AppendLog
from workloads.workload import Workload


def test_every_public_workload_has_a_name() -> None:
    public = (getattr(pytest_kafkacheck, name) for name in pytest_kafkacheck.HOMES)
    kinds = {each.__name__ for each in public if inspect.isclass(each) and Workload in each.__mro__}
    assert kinds - {"Workload"} == set(WORKLOAD_NAMES.values())


def test_fields_are_json_or_text() -> None:
    made = make(
        "append-log",
        ["partitions=5", "rate=null", "auto_offset_reset=latest", 'topic_config={"min.insync.replicas": 2}'],
    )
    assert made == AppendLog(
        partitions=5, rate=None, auto_offset_reset="latest", topic_config={"min.insync.replicas": 2}
    )


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        (
            "log",
            [],
            "no workload 'log'; allowed are admin, append-log, bank, compacted, copy, groups, pipeline, queue, "
            "rewind, sessions, transactions",
        ),
        ("groups", ["x=1"], "--set x=1: groups has no field 'x'; allowed are partitions,"),
        ("groups", ["members"], "--set members: expected FIELD=VALUE"),
        ("groups", ["members=0"], "Groups.members=0: expected a whole number, 1 to 100"),
        ("transactions", ["aborts=many"], "Transactions.aborts='many': expected a share, 0 to 1"),
    ],
)
def test_wrong_fields_are_refused(name: str, settings: list[str], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        make(name, settings)
    assert said in str(refused.value)


@pytest.mark.parametrize("text", ["", "localhost", "localhost:", ":9092", "h:9092,", "h:99999", "h:x"])
def test_wrong_addresses_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no address; expected HOST:PORT"):
        parse_bootstrap(text)


def test_addresses() -> None:
    found = parse_bootstrap("a:9092, b.example:9093,[::1]:9094")
    assert [(each.host, each.port) for each in found] == [("a", 9092), ("b.example", 9093), ("::1", 9094)]


def test_every_address_is_tried_and_named() -> None:
    with pytest.raises(InfrastructureError, match=r"127\.0\.0\.1:1: .*; 127\.0\.0\.1:2: "):
        find(parse_bootstrap("127.0.0.1:1,127.0.0.1:2"))
