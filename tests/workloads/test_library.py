"""A client library is one module, which roles get by its name."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.worker_context import worker_context
from workloads.append_log import AppendLog
from workloads.clients import libraries
from workloads.clients.connection import Address
from workloads.clients.library import library, library_names
from workloads.conformance import check_workload

SOURCE = """
class Recorder:
    def producer(self, **arguments): return ("producer", arguments)
    def consumer(self, **arguments): return ("consumer", arguments)
    def member(self, **arguments): return ("member", arguments)
    def check_producer_setting(self, name):
        if name != "speed": raise ValueError("Recorder has no setting of that name")
    def version(self): return "1.0"
LIBRARY = Recorder()
"""


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a second library."""
    (tmp_path / "my_recorder.py").write_text(SOURCE)
    monkeypatch.setattr(libraries, "__path__", [*libraries.__path__, str(tmp_path)])
    library_names.cache_clear()
    yield "my-recorder"
    library_names.cache_clear()
    sys.modules.pop("workloads.clients.libraries.my_recorder", None)


def test_each_is_found_by_its_name() -> None:
    assert library_names() == ("confluent-kafka", "java", "kafka-python")
    assert all(library(name).version() for name in library_names() if name != "java")


def test_an_unknown_name_lists_those_there_are() -> None:
    with pytest.raises(
        ValueError, match="no client library 'jafka'; there are confluent-kafka, java, kafka-python"
    ):
        library("jafka")
    with pytest.raises(
        ValueError, match=r"AppendLog\.library='jafka': expected one of confluent-kafka, java, kafka-"
    ):
        AppendLog(library="jafka")


def test_one_that_is_not_installed_is_listed_and_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = AppendLog(library="confluent-kafka")
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    monkeypatch.delitem(sys.modules, "workloads.clients.libraries.confluent_kafka", raising=False)
    assert "confluent-kafka" in library_names()
    command = r"pip install 'pytest-kafkacheck\[confluent\]'"
    for use in (
        lambda: AppendLog(library="confluent-kafka"),
        lambda: check_workload(there),
        lambda: library("confluent-kafka"),
    ):
        with pytest.raises(ValueError, match=f"'confluent-kafka' is not installed; run {command}"):
            use()


def test_a_workload_names_its_library_and_its_workers_get_it(other: str) -> None:
    log = AppendLog(library=other, client={"speed": 3})
    check_workload(log)
    assert {worker.library for worker in log.workers()} == {log.library} == {other}
    assert AppendLog.from_json(json.loads(json.dumps(log.to_json()))) == log
    with pytest.raises(ValueError, match=r"client\['linger_ms'\]: Recorder has no setting of that name"):
        AppendLog(library=other, client={"linger_ms": 5})


def test_roles_get_their_clients_from_it(other: str, tmp_path: Path) -> None:
    context = worker_context(
        tmp_path, "producer", {}, topics={"t": 1}, brokers=[Address("localhost", 9092)], library=other
    )
    kind, arguments = context.producer(acks="all", idempotence=True, settings={"speed": 3})  # type: ignore[misc]
    assert (kind, arguments["topics"], arguments["settings"]) == ("producer", ("t",), {"speed": 3})
    kind, arguments = context.consumer({("t", 0): 5})  # type: ignore[misc]
    assert (kind, arguments["start"], arguments["assignment"]) == ("consumer", {("t", 0): 5}, 0)
    kind, arguments = context.member(group="g", topics=("t",), settings={"instance": None})  # type: ignore[misc]
    assert (kind, arguments["topics"], arguments["group"]) == ("member", ("t",), "g")
    assert arguments["settings"] == {"instance": None}
