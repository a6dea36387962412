"""Traps for client libraries: a workload, a schedule that sets the trap, and what shows that a client fell into it.

To add one, append a `Trap` to `TRAPS`. What shows it are anomalies of the verdict (docs/anomalies.md), and signs that
no check reports, which are read from the history (`signs`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from analyzers.catalogue.bounds import Bounds
from nemesis.event import Event
from nemesis.faults.add_partitions import add_partitions
from nemesis.faults.cut_clients import cut_clients
from nemesis.faults.fence import fence
from nemesis.faults.isolate import isolate
from nemesis.faults.kill import kill
from nemesis.faults.kill_client import kill_client
from nemesis.faults.partition import partition
from nemesis.faults.pause import pause
from nemesis.faults.pause_client import pause_client
from nemesis.faults.rolling_restart import rolling_restart
from workloads.append_log import AppendLog
from workloads.groups import Groups
from workloads.roles.context import WorkerContext
from workloads.roles.producer import produce
from workloads.transactions import Transactions
from workloads.workload import WorkerSpec, Workload

WEDGED = "producer replaced"
"""kafkacheck replaces a producer that has a problem, so that the run goes on."""

UNFINISHED = "commits nothing more"
"""A transactional id has no commit in the last `QUIET` seconds of the load."""

LEFT_OUT = "records left out"
"""The group polled later records of a log, and never one that the final read found there. Other than group-skip, it
compares records and not offsets: after a truncation, another record may lie at an offset that was polled."""

STANDS_STILL = "stands still"
"""The group never polled the last records of a log, although they were there for `QUIET` seconds of the load."""

POLLED_LOST = "polled what is lost"
"""A member polled a record that the final read did not find."""

COMMITTED_LOST = "committed what is lost"
"""The group committed an offset above such a record, before it polled anything that was written there later."""

QUIET = 5.0
"""Seconds. Longer than a session timeout of these groups, and than three transactions in a row that stall."""

DELIVERY = 4000
"""ms. The Java client asks for at least its request timeout, which is 3 s here."""

SAFE: Mapping[str, Any] = {"min.insync.replicas": 2}

UNCLEAN: Mapping[str, Any] = {"min.insync.replicas": 1, "unclean.leader.election.enable": True}

SESSIONS: Mapping[str, Any] = {
    "group.consumer.min.session.timeout.ms": 3000,
    "group.consumer.session.timeout.ms": 3000,
    "group.consumer.min.heartbeat.interval.ms": 750,
    "group.consumer.heartbeat.interval.ms": 750,
}
"""Of brokers, which have the session timeout of KIP-848: 45 s by default."""

INVALID = "invalid"
"""In place of names: whatever makes the verdict invalid."""


@dataclass(frozen=True, kw_only=True)
class Trap:
    """A schedule that sets one or more traps.

    workload  with the clients of a library. Where the library cannot do it, this raises ValueError, or
              `Harness.check` raises UsageError.
    shown     by trap, what shows that the client fell into it.
    needs     by trap, a sign without which the schedule had no effect. The run is then no try.
    """

    workload: Callable[[str], Workload]
    events: tuple[Event, ...]
    shown: Mapping[str, frozenset[str]]
    needs: Mapping[str, str] = field(default_factory=dict)
    requires: frozenset[str] | None = None
    """As in `Experiment`."""
    bounds: Bounds = field(default_factory=Bounds)
    duration: float = 0
    """Seconds of load without events; with events, it goes on until `cooldown` after the last one."""
    cooldown: float = 5


def produce_counted(context: WorkerContext) -> None:
    """As a producer, and write down how many clients had to be replaced."""
    try:
        produce(context)
    finally:
        with dropped_file(context.home).open("a") as file:
            file.write(f"{context.counts['producers dropped']}\n")


def dropped_file(home: Path) -> Path:
    return home / "producers_dropped.txt"


@dataclass(frozen=True, kw_only=True)
class Counted(AppendLog):
    """Its producers count the clients that they replace."""

    rate: Any = 200
    topic_config: Mapping[str, Any] = field(default_factory=lambda: SAFE)

    def workers(self) -> tuple[WorkerSpec, ...]:
        return tuple(
            replace(each, role=replace(each.role, function=produce_counted))
            if each.role.name == "producer"
            else each
            for each in super().workers()
        )


def producer_setting(library: str, name: str, value: int) -> dict[str, int]:
    """A setting of a producer, by its name in Kafka's documentation."""
    return {name.replace(".", "_") if library == "kafka-python" else name: value}


def append_log(library: str) -> Workload:
    return Counted(library=library)


def expiring(library: str) -> Workload:
    """Batches expire after `DELIVERY`. librdkafka accepts both names of Kafka's documentation."""
    return Counted(library=library, client=producer_setting(library, "delivery.timeout.ms", DELIVERY))


def retrying(library: str) -> Workload:
    """Without idempotence. A request is repeated after a second without an answer."""
    name = "socket.timeout.ms" if library == "confluent-kafka" else "request.timeout.ms"
    client = producer_setting(library, name, 1000)
    return Counted(
        library=library, partitions=1, producers=1, readers=1, sessions=0, idempotence=False, client=client
    )


def rivals(library: str) -> Workload:
    return Transactions(library=library, transactors=2, rivals=1, uncommitted_readers=0, topic_config=SAFE)


def stalling(library: str) -> Workload:
    return Transactions(library=library, stalls=0.1, timeout=1, uncommitted_readers=0, topic_config=SAFE)


def truncated(library: str) -> Workload:
    """Two groups of one member each: that of group-0 is there while the log is truncated, and that of group-1 starts
    again when the log has been written anew beyond the position that its group committed."""
    return Groups(
        library=library, partitions=1, groups=2, members=1, commit="periodic", session_timeout=3, rate=150,
        topic_config=UNCLEAN,
    )  # fmt: skip


def rebalancing(**protocol: Any) -> Callable[[str], Workload]:
    return lambda library: Groups(
        library=library,
        rejoin=7,
        commit="periodic",
        session_timeout=3,
        rate=200,
        topic_config=SAFE,
        **protocol,
    )


def growing(library: str) -> Workload:
    return Groups(
        library=library, partitions=2, members=1, auto_offset_reset="latest", rate=50, topic_config=SAFE
    )


REBALANCES = (
    kill_client("client:3", at=5, lasting=2),
    pause_client("client:2", at=8.5, lasting=6),
)
"""The three members are the processes 1 to 3, and leave in turn for 7 s, the first one after 7 s: at these times the
members 2 and 3 own partitions. One that is paused for longer than its session timeout is replaced, and does not know
it when it goes on."""

GROUP = frozenset({INVALID, f"group-0: {LEFT_OUT}", f"group-0: {STANDS_STILL}"})

GROUP_PROMISES = frozenset({"acks-after-faults", "group-commits"})
"""Not work-at-faults: a member may find nothing to poll while its partition has no leader."""

TRAPS = (
    Trap(
        workload=append_log,
        events=(rolling_restart(at=3),),
        shown={"stall": frozenset({"stalled-reader", "slow-recovery"})},
        bounds=Bounds(recovery=15),
    ),
    Trap(
        workload=append_log,
        events=(cut_clients("leader", one_way="out", at=3, lasting=4),),
        shown={
            "duplicate": frozenset({"duplicate"}),
            "reorder": frozenset({"nonmonotonic-send", "int-nonmonotonic-send"}),
        },
        bounds=Bounds(recovery=15),
    ),
    Trap(
        workload=expiring,
        events=(pause("leader", at=3, lasting=10),),
        shown={"wedge": frozenset({WEDGED, "slow-recovery"})},
        bounds=Bounds(recovery=15),
    ),
    Trap(
        workload=append_log,
        events=(isolate("leader", at=3, lasting=20),),
        shown={
            "wrong position": frozenset(
                {"poll-skip", "nonmonotonic-poll", "int-poll-skip", "int-nonmonotonic-poll"}
            )
        },
        bounds=Bounds(recovery=15),
    ),
    Trap(
        workload=retrying,
        events=(cut_clients("leader", one_way="out", at=3, lasting=4),),
        shown={"retries": frozenset({"duplicate", "nonmonotonic-send", INVALID})},
    ),
    Trap(
        workload=rivals,
        events=tuple(fence(f"transaction:transactor-{id}", at=at) for at, id in ((2, 1), (4, 0), (6, 1))),
        shown={"fenced": frozenset({INVALID, UNFINISHED})},
        cooldown=QUIET + 2,
    ),
    Trap(
        workload=stalling,
        events=(),
        duration=12,
        shown={"timed out": frozenset({INVALID, UNFINISHED})},
    ),
    Trap(
        workload=truncated,
        events=(
            partition("leader", plane="replication", at=3, lasting=6),
            kill("leader", at=8, lasting=6),
            kill_client("member:group-1", at=9.8, lasting=8),
        ),
        # What the broker causes by losing records says nothing of the client.
        shown={
            "truncated": frozenset(
                {"poll-skip", "int-poll-skip", f"group-0: {LEFT_OUT}", f"group-0: {STANDS_STILL}"}
            ),
            "truncated before": frozenset({"group-skip", f"group-1: {LEFT_OUT}", f"group-1: {STANDS_STILL}"}),
        },
        needs={"truncated": f"group-0: {POLLED_LOST}", "truncated before": f"group-1: {COMMITTED_LOST}"},
        requires=GROUP_PROMISES,
        cooldown=7,
    ),
    Trap(
        workload=rebalancing(assignor="cooperative-sticky"),
        events=REBALANCES,
        shown={"cooperative": GROUP},
        bounds=Bounds(orphaned=15),
        cooldown=7,
    ),
    Trap(
        workload=rebalancing(protocol="consumer"),
        events=REBALANCES,
        shown={"KIP-848": GROUP},
        bounds=Bounds(orphaned=15),
        cooldown=7,
    ),
    Trap(
        workload=growing,
        # A group learns of a partition within metadata.max.age.ms: 5 min by default, and 1 s in these clients.
        events=(pause_client("role:member", at=6, lasting=4), add_partitions(at=7)),
        shown={"added": frozenset({"added-partition-skip", "group-skip", f"group-0: {STANDS_STILL}"})},
        cooldown=8,
    ),
)


def signs(home: Path) -> Iterator[str]:
    """What the history of a run shows that is no anomaly."""
    dropped = dropped_file(home)
    if dropped.exists() and sum(map(int, dropped.read_text().split())):
        yield WEDGED
    operations = _rows(
        home,
        "operations",
        [
            "process",
            "f",
            "type",
            "invoked",
            "completed",
            "topic",
            "partition",
            "end_offset",
            "value",
            "group",
        ],
    )
    if {each["f"] for each in operations} & {"txn"}:
        yield from signs_of_transactions(operations)
    groups = {each["group"] for each in operations if each["f"] == "member"}
    if groups:
        columns = ["process", "f", "invoked", "completed", "topic", "partition", "offset", "value", "final"]
        records = _rows(home, "records", columns)
        for group in sorted(groups):
            of_group = [each for each in operations if each["group"] == group]
            yield from (f"{group.rpartition('-')[0]}: {sign}" for sign in signs_of_group(records, of_group))


def signs_of_transactions(operations: list[dict[str, Any]]) -> set[str]:
    transactions = [each | json.loads(each["value"]) for each in operations if each["f"] == "txn"]
    late = max(each["invoked"] for each in transactions) - QUIET * 1e9
    committed = {
        each["transactional_id"]
        for each in transactions
        if each["type"] == "ok" and each["outcome"] == "commit" and each["ending"] >= late
    }
    return {UNFINISHED} if {each["transactional_id"] for each in transactions} - committed else set()


def signs_of_group(records: list[dict[str, Any]], operations: list[dict[str, Any]]) -> set[str]:
    members = {each["process"] for each in operations if each["f"] == "member"}
    sends = {each["value"]: each for each in records if each["f"] == "send"}
    late = max(each["invoked"] for each in sends.values()) - QUIET * 1e9
    polls = [each for each in records if each["f"] == "poll" and each["value"] in sends]
    found = set()
    for log in {(each["topic"], each["partition"]) for each in polls}:
        of_log = [each for each in polls if (each["topic"], each["partition"]) == log]
        final = [each for each in of_log if each["final"]]
        polled = [each for each in of_log if each["process"] in members]
        values, kept = {each["value"] for each in polled}, {each["value"] for each in final}
        reached = max((each["offset"] for each in final if each["value"] in values), default=-1)
        for each in final:
            if each["value"] not in values:
                if each["offset"] < reached:
                    found.add(LEFT_OUT)
                elif (sends[each["value"]]["completed"] or late) < late:
                    found.add(STANDS_STILL)
        if final and (lost := [each["offset"] for each in polled if each["value"] not in kept]):
            found.add(POLLED_LOST)
            anew = min(
                (
                    each["completed"]
                    for each in polled
                    if each["value"] in kept and each["offset"] >= min(lost)
                ),
                default=late,
            )
            if any(
                each["f"] == "commit"
                and each["type"] == "ok"
                and (each["topic"], each["partition"]) == log
                and each["end_offset"] > min(lost)
                and each["completed"] < anew
                for each in operations
            ):
                found.add(COMMITTED_LOST)
    return found


def _rows(home: Path, table: str, columns: list[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(home / "history" / table, columns=columns).to_pylist()
    return found
