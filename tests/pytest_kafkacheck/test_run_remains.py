"""What an interrupted run left on brokers is found by the name of the run, and deleted once that is possible."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_kafkacheck.cluster.kafka import run_remains as module
from pytest_kafkacheck.cluster.kafka.run_remains import delete_remains
from workloads.clients.connection import Address

BROKERS = {1: Address("b1", 1), 2: Address("b2", 2)}
NON_EMPTY_GROUP = 68


class Brokers:
    """late     names of topics that appear with the next look.
    members  deletions of a group that are refused, because it has members.
    silent   broker that does not answer.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.topics = {"log-a1", "side-3-7-a1", "orders", "log-b2", "marker-3-8-a1", "a1orders"}
        self.groups = {"b1": {"group-0-a1", "billing"}, "b2": {"copiers-a1", "group-0-b2"}}
        self.late: list[str] = []
        self.members = {"copiers-a1": 2}
        self.silent = ""
        self.time = 0.0
        monkeypatch.setattr(module, "ask", self.ask)
        monkeypatch.setattr(module.metadata_views, "metadata", self.metadata)
        monkeypatch.setattr(module.topics, "delete", lambda _, name: self.topics.discard(name))
        monkeypatch.setattr(module.time, "monotonic", lambda: self.time)
        monkeypatch.setattr(module.time, "sleep", self.sleep)

    def sleep(self, seconds: float) -> None:
        self.time += seconds
        self.topics.update(self.late)
        self.late.clear()

    def metadata(self, address: Address, topics: None) -> dict[tuple[str, int], None]:  # noqa: ARG002
        if address.host == self.silent:
            raise TimeoutError("no answer")
        return {(name, partition): None for name in self.topics for partition in (0, 1)}

    def ask(self, address: Address, request: Any, *, timeout: float) -> Any:  # noqa: ARG002
        if address.host == self.silent:
            raise TimeoutError("no answer")
        own = self.groups[address.host]
        if type(request).__name__ == "ListGroupsRequest":
            return SimpleNamespace(groups=[SimpleNamespace(group_id=name) for name in sorted(own)])
        return SimpleNamespace(results=[self.delete(own, name) for name in request.groups_names])

    def delete(self, own: set[str], name: str) -> Any:
        if self.members.get(name, 0):
            self.members[name] -= 1
            return SimpleNamespace(group_id=name, error_code=NON_EMPTY_GROUP)
        own.remove(name)
        return SimpleNamespace(group_id=name, error_code=0)


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> Brokers:
    return Brokers(monkeypatch)


def test_what_is_named_after_the_run_is_deleted_and_nothing_else(brokers: Brokers) -> None:
    brokers.late = ["side-3-9-a1"]  # A killed client had requested it.
    assert delete_remains(BROKERS, "a1", limit=10) == []
    assert brokers.topics == {"orders", "log-b2", "a1orders"}
    assert brokers.groups == {"b1": {"billing"}, "b2": {"group-0-b2"}}


def test_what_cannot_be_deleted_in_time_is_named(brokers: Brokers) -> None:
    brokers.members["copiers-a1"] = 1000
    assert delete_remains(BROKERS, "a1", limit=10) == ["group copiers-a1 (NonEmptyGroupError)"]
    assert 10 <= brokers.time < 11
    brokers.silent = "b2"
    assert delete_remains(BROKERS, "a1", limit=1) == ["what broker b2:2 knows (no answer)"] * 2
