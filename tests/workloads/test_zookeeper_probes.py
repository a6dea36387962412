"""The controller in ZooKeeper mode: what ZooKeeper has, and what each broker reports."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.protocol.metadata import MetadataRequest
from kazoo.exceptions import ConnectionLoss, NoNodeError

from tests.workloads.test_probes import Answers
from workloads.clients import zookeeper_session
from workloads.clients.connection import Address, Ensemble
from workloads.clients.zookeeper_session import PATHS, Controller, Znode, ZooKeeperSession, controller
from workloads.probes.controller import ControllerProbe
from workloads.probes.controller_view import ControllerViewProbe
from workloads.roles import probe as role

ENSEMBLE = Ensemble((Address("a", 1), Address("b", 2)), "/kafka")


def test_an_ensemble_is_a_list_of_servers_and_a_root() -> None:
    assert ENSEMBLE.hosts == "a:1,b:2/kafka"
    assert Ensemble.from_json(json.loads(json.dumps(ENSEMBLE.to_json()))) == ENSEMBLE


def znode(value: Any, zxid: int) -> Znode:
    return Znode(json.dumps(value).encode(), zxid)


def test_the_controller_and_the_epoch_are_of_one_moment() -> None:
    elected = znode({"version": 1, "brokerid": 3, "timestamp": "0"}, 70)

    def found(*nodes: Znode | None) -> Controller | None:
        def read(paths: Sequence[str]) -> Sequence[Znode | None]:
            assert paths == PATHS
            return nodes

        return controller(read)

    assert found(znode(4, 70), elected, znode(4, 70)) == Controller(3, 4)
    assert found(znode(4, 70), None, znode(4, 70)) == Controller(-1, 4)
    assert found(znode(4, 60), elected, znode(5, 70)) is None, "an election came between"
    assert found(znode(4, 60), elected, znode(4, 70)) is None, "it was written again"
    assert found(None, None, None) is None, "there has been no election"
    assert found(None, elected, znode(1, 70)) is None
    assert found(znode(4, 60), elected, None) is None


class Server:
    """What ZooKeeper returns next, in place of the client library."""

    def __init__(self) -> None:
        self.nodes: dict[str, Any] = {
            "/controller_epoch": (b"4", 70),
            "/controller": (b'{"brokerid": 3}', 70),
        }
        self.client_id: tuple[int, bytes] | None = (1000, b"")
        self.connected = True
        self.silent = False
        self.requests: list[str] = []
        self.asked: list[Any] = []
        self.hosts = ""

    def __call__(self, *, hosts: str, **_: Any) -> Server:
        self.hosts = hosts
        return self

    def start_async(self) -> Any:
        return SimpleNamespace(wait=lambda _: True)

    def sync_async(self, path: str) -> Any:
        self.requests.append(f"sync {path}")
        return self.answer(path)

    def get_async(self, path: str) -> Any:
        self.requests.append(path)
        found = self.nodes.get(path, NoNodeError())
        return self.answer(
            found if isinstance(found, Exception) else (found[0], SimpleNamespace(mzxid=found[1]))
        )

    def answer(self, value: Any) -> Any:
        def get(timeout: float) -> Any:
            assert timeout == 0
            if isinstance(value, Exception):
                raise value
            return value

        result = SimpleNamespace(get=get, ready=lambda: not self.silent, wait=lambda _: not self.silent)
        self.asked.append(result)
        return result


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    server = Server()
    monkeypatch.setattr(zookeeper_session, "KazooClient", server)
    return server


@pytest.fixture
def session() -> Iterator[ZooKeeperSession]:
    return ZooKeeperSession(lambda: ENSEMBLE, patience=0.1)


def test_a_read_follows_a_sync(server: Server, session: ZooKeeperSession) -> None:
    assert session.ask(PATHS) == [Znode(b"4", 70), Znode(b'{"brokerid": 3}', 70), Znode(b"4", 70)]
    assert server.requests == ["sync /controller_epoch", *PATHS]
    assert (server.hosts, session.connection) == ("a:1,b:2/kafka", 0)


def test_the_connection_is_the_number_of_the_session(server: Server, session: ZooKeeperSession) -> None:
    found = []
    for client_id in ((1000, b""), (2000, b""), None, (2000, b"")):
        server.client_id = client_id
        session.ask(PATHS)
        found.append(session.connection)
    assert found == [0, 1, None, 1]


def test_an_answer_that_is_late_counts_for_nothing(server: Server, session: ZooKeeperSession) -> None:
    server.silent = True
    for _ in range(2):
        with pytest.raises(TimeoutError, match=r"a:1,b:2/kafka: no answer within 0\.1 s"):
            session.ask(PATHS)
    assert len(server.requests) == 4, "a silent server is not asked again"
    assert session.connection is None
    server.silent = False
    server.nodes["/controller_epoch"] = (b"5", 80)
    assert session.ask(PATHS)[0] == Znode(b"5", 80)


def test_errors_of_zookeeper_are_oserrors(server: Server, session: ZooKeeperSession) -> None:
    server.nodes["/controller"] = ConnectionLoss()
    with pytest.raises(ConnectionError, match="ConnectionLoss"):
        session.ask(PATHS)
    server.connected = False
    with pytest.raises(ConnectionError, match="no server of ZooKeeper at a:1,b:2/kafka answers"):
        session.ask(PATHS)


def test_zookeeper_is_asked_for_the_controller(server: Server, session: ZooKeeperSession) -> None:
    answers = Answers(1, 2)
    writer, isr, haste = answers.writer, role.SmallestIsr(), role.Haste(1.0)
    (sample,) = role.samplers(ControllerProbe, answers.context, writer, isr, haste, zookeeper=session)
    sample()
    assert haste.interval == 1.0
    del server.nodes["/controller"]
    sample()
    assert haste.interval < 1.0, "after a change it is asked more often"
    server.connected = False
    sample()
    columns = ("kind", "node", "leader", "leader_epoch", "connection")
    rows = [tuple(row.get(name) for name in columns) for row in answers.rows]
    assert rows == [
        ("controller", None, 3, 4, 0), ("controller", None, -1, 4, 0), ("unanswered", None, None, None, None),
    ]  # fmt: skip
    assert json.loads(answers.rows[-1]["value"]) == {"probe": "controller", "error": "ConnectionError"}


def test_nobody_is_asked_where_there_is_no_zookeeper() -> None:
    assert Answers(1, 2).samplers(ControllerProbe) == []


@pytest.mark.parametrize("apis", [[3], [3, 55]], ids=["zookeeper", "kraft"])
def test_a_broker_names_the_controller_in_zookeeper_mode_only(
    monkeypatch: pytest.MonkeyPatch, apis: list[int]
) -> None:
    """In KRaft mode it names any broker."""
    requests: list[Any] = []

    def ask(request: Any) -> Any:
        requests.append(request)
        if isinstance(request, MetadataRequest):
            assert request.topics == [], "none, rather than all"
            return SimpleNamespace(controller_id=2)
        return SimpleNamespace(api_keys=[SimpleNamespace(api_key=api, max_version=0) for api in apis])

    monkeypatch.setattr(role, "Connection", lambda *_, **__: SimpleNamespace(ask=ask))
    answers = Answers(7)
    (sample,) = answers.samplers(ControllerViewProbe)
    for _ in range(2):
        sample()
    rows = [(row["kind"], row["node"], row["leader"], row["connection"]) for row in answers.rows]
    assert rows == ([] if 55 in apis else [("controller_view", 7, 2, 0)] * 2)
    assert len(requests) == (1 if 55 in apis else 3), "it is asked for its mode once"
