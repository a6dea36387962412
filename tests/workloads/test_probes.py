"""Probes record what brokers report; what a broker does not report is null."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from workloads import probes
from workloads.clients import requests
from workloads.clients.protocol import Log
from workloads.clients.requests import Leadership, Quorum, Watermarks
from workloads.history.schema import OBSERVATIONS
from workloads.history.segments import read, segment
from workloads.history.writer import Writer
from workloads.probes import quorum
from workloads.probes.partition import PartitionProbe
from workloads.probes.probe import Source, all_probes
from workloads.probes.quorum import QuorumProbe
from workloads.roles import probe as role
from workloads.roles.probe import Haste, Isr, SmallestIsr, samplers

LOG, OTHER, ADDED = ("t", 0), ("t", 1), ("t", 2)

KINDS = [
    "controller", "controller_view", "eligible", "group_state", "partition", "quorum", "settings", "transaction",
]  # fmt: skip


def answer(**partitions: dict[str, int]) -> Any:
    fields = {"error_code": 0, "high_watermark": 9, "log_start_offset": 2, "last_stable_offset": 7}
    some = [
        SimpleNamespace(partition_index=int(name[1:]), **(fields | wrong))
        for name, wrong in partitions.items()
    ]
    return SimpleNamespace(responses=[SimpleNamespace(topic="t", partitions=some)])


def test_the_last_stable_offset_is_requested_with_read_committed() -> None:
    asked: list[Any] = []

    def ask(request: Any) -> Any:
        asked.append(request)
        return answer(p0={}, p1={"last_stable_offset": -1}, p2={"error_code": 6})

    marks = requests.watermarks(ask, {LOG: 8, OTHER: 8, ("t", 2): 8})
    assert asked[0].isolation_level == 1
    assert marks == {
        LOG: Watermarks(high_watermark=9, log_start=2, last_stable=7),
        OTHER: Watermarks(high_watermark=9, log_start=2, last_stable=None),
    }


def test_kafka_python_decodes_the_last_stable_offset() -> None:
    from kafka.protocol.consumer import FetchResponse

    part = FetchResponse.FetchableTopicResponse.PartitionData(
        partition_index=0, error_code=0, high_watermark=9, last_stable_offset=7, log_start_offset=2,
        preferred_read_replica=-1, aborted_transactions=None, records=None,
    )  # fmt: skip
    topic = FetchResponse.FetchableTopicResponse(topic="t", partitions=[part])
    wire = FetchResponse(
        version=11, throttle_time_ms=0, error_code=0, session_id=0, responses=[topic]
    ).encode()
    again = FetchResponse.decode(wire, version=11)
    assert requests.watermarks(lambda _: again, {LOG: 8}) == {LOG: Watermarks(9, 2, 7)}


class Answers:
    """A worker context and a writer that keep what is recorded."""

    def __init__(self, *brokers: int) -> None:
        self.rows: list[dict[str, Any]] = []
        self.context: Any = SimpleNamespace(
            run="r", process=50, topics={"t": 2}, counts=Counter(), brokers=dict.fromkeys(brokers)
        )
        self.writer: Any = SimpleNamespace(append=lambda **columns: self.rows.append(columns))

    def samplers(self, kind: Any) -> list[Callable[[], None]]:
        return samplers(kind, self.context, self.writer, SmallestIsr(), Haste(1.0))


def test_an_observation_of_a_partition_holds_what_its_broker_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a log whose offsets the broker refuses, it holds the metadata only. The last one was added since."""
    view = Leadership(1, 5, (1, 2), replicas=(2, 1, 3))
    ends: dict[Log, tuple[int, int]] = {LOG: (0, 12), OTHER: (6, -1), ADDED: (0, 3)}
    monkeypatch.setattr(
        requests, "metadata", lambda *_: {LOG: view, OTHER: view, ADDED: view, ("other", 0): view}
    )
    monkeypatch.setattr(requests, "watermarks", lambda *_: {LOG: Watermarks(9, 2, 7)})
    monkeypatch.setattr(requests, "offsets", lambda *_, **__: ends)
    answers = Answers(1, 2)
    samples = answers.samplers(PartitionProbe)
    assert len(samples) == 2
    samples[1]()
    first, second, added = answers.rows
    assert (added["partition"], added["log_end"]) == (2, 3)
    assert first.keys() == second.keys() == set(OBSERVATIONS.names) - {"value"}
    offsets = ("log_start", "high_watermark", "log_end", "last_stable")
    assert [first[name] for name in offsets] == [2, 9, 12, 7]
    assert [second[name] for name in offsets] == [None] * 4
    assert [first[name] for name in ("run", "process", "node", "kind", "topic", "leader", "leader_epoch")] == [
        "r", 50, 2, "partition", "t", 1, 5,
    ]  # fmt: skip
    assert (first["isr"], first["replicas"]) == ([1, 2], [2, 1, 3])
    assert first["asked"] <= first["time"]
    assert answers.context.counts["samples"] == 1
    assert "isr" not in answers.context.counts, "node 2 is not the leader"
    samples[0]()
    assert (answers.context.counts["isr"], answers.context.counts["replicas"]) == (2, 3)


def test_one_broker_at_a_time_is_asked_for_the_quorum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quorum, "highest_version", lambda *_: 0)
    monkeypatch.setattr(requests, "quorum", lambda *_: Quorum(3, 8, 100, {3: 100}))
    answers = Answers(1, 2)
    (sample,) = answers.samplers(QuorumProbe)
    for _ in range(3):
        sample()
    assert [row["node"] for row in answers.rows] == [1, 2, 1]
    assert {(row["kind"], row["leader"], row["leader_epoch"]) for row in answers.rows} == {("quorum", 3, 8)}
    assert {(row["high_watermark"], row["value"]) for row in answers.rows} == {(100, '{"ends": {"3": 100}}')}
    assert {row["connection"] for row in answers.rows} == {None}


class Uptime:
    """A probe of each broker."""

    kind, interval, asks = "uptime", 1.0, "every broker"

    def __init__(self, topics: Any, run: str) -> None: ...

    def sample(self, ask: Any) -> Any:
        yield {"leader": ask("the leader")}


def test_a_sample_tells_its_connection_and_whether_the_broker_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A new process of a broker cannot answer over a connection to the old one."""
    replies: list[Any] = [1, 1, TimeoutError(), ConnectionRefusedError(), 2]

    class Scripted:
        def __init__(self, *_: Any, **__: Any) -> None:
            if isinstance(replies[0], ConnectionRefusedError):
                raise replies.pop(0)

        def ask(self, _: Any) -> Any:
            if isinstance(reply := replies.pop(0), OSError):
                raise reply
            return reply

        def close(self) -> None: ...

    monkeypatch.setattr(role, "Connection", Scripted)
    answers = Answers(7)
    (sample,) = answers.samplers(Uptime)
    for _ in range(5):
        sample()
    rows = [(row["kind"], row.get("leader"), row["connection"]) for row in answers.rows]
    lost = ("unanswered", None, None)
    assert rows == [("uptime", 1, 0), ("uptime", 1, 0), lost, lost, ("uptime", 2, 1)]
    assert [json.loads(row["value"]) for row in answers.rows if "value" in row] == [
        {"probe": "uptime", "error": "TimeoutError"},
        {"probe": "uptime", "error": "ConnectionRefusedError"},
    ]
    assert all(row["node"] == 7 and row["asked"] <= row["time"] for row in answers.rows)
    assert answers.context.counts == {"samples": 3, "unanswered": 2}


class GroupProbe:
    """A kind that has no columns of its own."""

    kind, interval, asks = "group", 1.0, "any broker"

    def __init__(self, topics: Any, run: str) -> None: ...

    def sample(self, ask: Any) -> Any:
        yield {"value": {"state": ask("the state of the group"), "members": 2}}


def test_a_probe_records_what_no_column_has_a_place_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(role, "ask", lambda *_, **__: "Stable")
    writer = Writer(tmp_path, "observations", 50)
    (sample,) = samplers(GroupProbe, Answers(1).context, writer, SmallestIsr(), Haste(1.0))
    sample()
    writer.close()
    (row,) = read(segment(tmp_path, "observations", 50), OBSERVATIONS).to_pylist()
    assert (row["kind"], row["node"], row["leader"]) == ("group", 1, None)
    assert json.loads(row["value"]) == {"state": "Stable", "members": 2}


def test_a_new_leader_of_the_quorum_does_not_know_its_high_watermark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quorum, "highest_version", lambda *_: 0)
    monkeypatch.setattr(requests, "quorum", lambda *_: Quorum(3, 8, -1, {3: 100}))
    (row,) = QuorumProbe({}, "r").sample(lambda *_: None)
    assert row["high_watermark"] is None


def test_an_unknown_quorum_gives_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quorum, "highest_version", lambda *_: 0)
    monkeypatch.setattr(requests, "quorum", lambda *_: None)
    answers = Answers(1)
    answers.samplers(QuorumProbe)[0]()
    assert (answers.rows, answers.context.counts["samples"]) == ([], 0)


def test_brokers_of_zookeeper_mode_are_not_asked_for_a_quorum(monkeypatch: pytest.MonkeyPatch) -> None:
    versions: list[int] = []
    monkeypatch.setattr(quorum, "highest_version", lambda _, api: versions.append(api) or -1)
    monkeypatch.setattr(requests, "quorum", lambda *_: pytest.fail("the request closes the connection"))
    answers = Answers(1, 2)
    (sample,) = answers.samplers(QuorumProbe)
    for _ in range(3):
        sample()
    assert answers.rows == []
    assert versions == [55], "it is asked once"


def test_a_probe_is_one_module_that_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [probe.kind for probe in all_probes()] == KINDS
    (tmp_path / "uptime.py").write_text(
        "class Uptime:\n    kind, interval, asks = 'uptime', 1.0, 'any broker'\n"
        "    def __init__(self, topics, run): ...\n"
        "    def sample(self, ask): yield {'leader': ask('who leads?')}\n"
        "PROBE = Uptime\n"
    )
    monkeypatch.setattr(probes, "__path__", [*probes.__path__, str(tmp_path)])
    all_probes.cache_clear()
    try:
        assert [probe.kind for probe in all_probes()] == [*KINDS, "uptime"]
        assert list(all_probes()[-1]({}, "r").sample(len)) == [{"leader": 10}]
    finally:
        all_probes.cache_clear()
        sys.modules.pop("workloads.probes.uptime", None)


def test_every_probe_declares_what_the_role_needs() -> None:
    for kind in all_probes():
        assert kind.interval > 0
        assert kind.asks in get_args(Source)
        assert kind.kind == kind.__module__.rpartition(".")[2], "a kind is named after its module"


def test_the_smallest_isr_is_that_of_the_newest_leader() -> None:
    """Node 1 is cut off, and regards itself as leader with a full ISR for some time."""

    def view(partition: int, leader: int, epoch: int, *isr: int) -> dict[str, Any]:
        about = {"topic": "t", "partition": partition, "leader": leader, "leader_epoch": epoch}
        return {**about, "isr": list(isr), "replicas": [1, 2, 3]}

    smallest = SmallestIsr()
    smallest.see(1, {"leader": 1})
    assert smallest.now is None
    for partition in (0, 1):
        smallest.see(1, view(partition, 1, 4, 1, 2, 3))
    smallest.see(2, view(0, 1, 4, 1, 2))  # a follower's view does not count
    assert smallest.now == Isr(3, 3)
    smallest.see(2, view(0, 2, 5, 2, 3))
    smallest.see(1, view(0, 1, 4, 1, 2, 3))
    assert smallest.now == Isr(2, 3)
    smallest.see(2, view(0, 2, 5, 1, 2, 3))
    assert smallest.now == Isr(3, 3)
