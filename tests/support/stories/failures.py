"""One small history for each class of failure, as a cluster records it: what a verdict's story is made of.

Times in s. Brokers are 1, 2 and 3; producer 0 is process 1, producer 1 process 2.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from analyzers.history.run_progress import PHASES
from tests.support.stories.groups import S, member

ONE, TWO = 1 << 40, 2 << 40
SAFE = {"min.insync.replicas": "2", "unclean.leader.election.enable": "false"}
ROLES = {1: "producer", 2: "producer", 5: "reader", 6: "member", 7: "member", 99: "final"}


def at(began: float, ended: float) -> tuple[int, int]:
    return round(began * S), round(ended * S)


def began(s: Any, config: Mapping[str, str]) -> Any:
    """The topic and its settings, the phases, and the clients with their roles."""
    for phase in PHASES:
        time = at(25, 25) if phase == "end" else at(0, 0)
        s.operation(
            "phase", at=time, process=-2, value=json.dumps({"phase": phase}), topic=None, partition=None
        )
    created = {
        "event": "created",
        "id": None,
        "partitions": 1,
        "replication_factor": 3,
        "config": dict(config),
    }
    s.operation("topic", at=at(0, 0), process=-2, partition=None, value=json.dumps(created))
    for process, role in ROLES.items():
        for event, time in (("started", 0.0), ("stopped", 30.0)):
            value = json.dumps({"role": role, "process": process, "event": event})
            s.operation(
                "worker", at=at(time, time), process=-2, type="info", value=value, topic=None, partition=None
            )
    return s


def seen(
    s: Any,
    time: float,
    node: int,
    leader: int,
    epoch: int,
    end: int,
    *,
    isr: Sequence[int] = (1, 2, 3),
    mark: int = 0,
) -> Any:
    row = {"process": 50, "node": node, "kind": "partition", "topic": "t", "partition": 0, "leader": leader}
    row |= {
        "time": round(time * S),
        "leader_epoch": epoch,
        "isr": list(isr),
        "high_watermark": mark,
        "log_end": end,
    }
    s.observations.append(row)
    return s


def fault(
    s: Any, name: str, first: float, last: float, *, nodes: Sequence[int] = (), processes: Sequence[int] = (),
    target: str = "leader", **more: Any,
) -> Any:  # fmt: skip
    """more: of the nemesis operations' values, such as `options`."""
    for stage, time in (("inject", first), ("heal", last)):
        value = {
            "event": f"{name}-0",
            "stage": stage,
            "target": target,
            "nodes": nodes,
            "effective": True,
            **more,
        }
        if processes:
            value |= {"processes": processes}
        s.operation(
            name,
            at=at(time, time + 0.1),
            process=-1,
            type="info",
            value=json.dumps(value),
            topic=None,
            partition=None,
        )
    return s


def writes(s: Any, writer: int, offsets: range, first: float) -> Any:
    """One acknowledged write in each tenth of a second."""
    for number, offset in enumerate(offsets):
        s.send(writer + offset, offset, at=at(first + number / 10, first + number / 10 + 0.05))
    return s


def read_at_the_end(s: Any, log: Mapping[int, int]) -> Any:
    """The final read; epoch 0 below the first write of the second producer."""
    s.now = 20 * S
    for offset, value in log.items():
        s.poll(value, offset, process=99, final=True, leader_epoch=int(value >= TWO))
    return s.operation("final-read", process=99, at=at(20, 21), start_offset=0, end_offset=max(log) + 1)


def replaced(s: Any, cut: int, size: int) -> Any:
    """The first producer's writes up to `cut` are there at the end; those of the second one follow."""
    return read_at_the_end(s, {n: ONE + n for n in range(cut)} | {n: TWO + n for n in range(cut, size)})


def isolated_leader(s: Any) -> Any:
    """acks=1: a leader that is cut off goes on acknowledging."""
    began(s, SAFE | {"acks": "1"})
    fault(s, "isolate", 2.0, 8.0, nodes=[1])
    for node in (1, 2, 3):
        seen(s, 1.0, node, 1, 0, 10)
    writes(writes(s, ONE, range(20), 1.0), TWO, range(10, 15), 6.0)
    seen(s, 5.0, 2, 2, 1, 10, isr=(2, 3), mark=10)
    seen(s, 7.5, 1, 1, 0, 20, mark=10)
    seen(s, 9.0, 1, 2, 1, 10, isr=(2, 3))
    return replaced(s, 10, 15)


def unclean_election(s: Any) -> Any:
    began(s, {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"})
    fault(s, "kill", 4.0, 9.0, nodes=[1])
    for node in (1, 2):
        seen(s, 1.0, node, 1, 0, 10)
        seen(s, 3.5, node, 1, 0, 20 if node == 1 else 10, isr=(1,), mark=20)
    writes(writes(s, ONE, range(20), 1.0), TWO, range(10, 15), 6.0)
    seen(s, 5.0, 2, 2, 1, 10, isr=(2,), mark=10)
    seen(s, 10.0, 1, 2, 1, 10, isr=(2,))
    return replaced(s, 10, 15)


def last_replica_standing(s: Any) -> Any:
    """The only in-sync replica loses its disk, and is elected again without its records."""
    began(s, SAFE | {"min.insync.replicas": "1"})
    fault(s, "wipe", 4.0, 9.0, nodes=[1])
    seen(s, 1.0, 1, 1, 0, 10)
    seen(s, 3.5, 1, 1, 0, 20, isr=(1,), mark=20)
    seen(s, 3.5, 2, 1, 0, 10, isr=(1,), mark=10)
    writes(writes(s, ONE, range(20), 1.0), TWO, range(5), 12.0)
    seen(s, 10.0, 1, 1, 1, 0, isr=(1,))
    return replaced(s, 0, 5)


def written_twice(s: Any) -> Any:
    began(s, SAFE | {"enable.idempotence": "false"})
    fault(s, "isolate", 1.0, 3.0, nodes=[1])
    s.send(ONE, 0, at=at(1, 1.1)).send(ONE + 1, 2, at=at(1.2, 1.4), error="RequestTimedOutError")
    return read_at_the_end(s, {0: ONE, 1: ONE + 1, 2: ONE + 1})


def stale_reads(s: Any) -> Any:
    """A session writes to the new leader and reads from the old one, which does not know of it."""
    began(s, SAFE)
    fault(s, "isolate", 2.0, 8.0, nodes=[1])
    for node in (1, 2):
        seen(s, 1.0, node, 1, 0, 1)
    seen(s, 5.0, 2, 2, 1, 1, isr=(2, 3), mark=1)
    seen(s, 7.5, 1, 1, 0, 1, mark=1)
    seen(s, 9.0, 1, 2, 1, 2, isr=(2, 3), mark=2)
    s.send(ONE, 0, at=at(1, 1.1), session=7).send(ONE + 1, 1, at=at(5.5, 5.6), session=7)
    s.operation("read", process=5, session=7, at=at(6, 6.5), start_offset=0, end_offset=1, op=77)
    s.poll(ONE, 0, process=5, session=7, at=at(6, 6.4), op=77)
    return read_at_the_end(s, {0: ONE, 1: ONE + 1})


def torn_transaction(s: Any) -> Any:
    began(s, SAFE)
    s.send(ONE, 0, at=at(1, 3), transaction=101).send(ONE + 1, 1, at=at(1.5, 3), transaction=101)
    value = {"transactional_id": "x", "epoch": 0, "outcome": "commit", "ending": round(2.5 * S)}
    s.operation("txn", op=101, process=1, at=at(0.5, 3), value=json.dumps(value), topic=None, partition=None)
    s.send(TWO, 2, at=at(4, 4.1)).poll(ONE, 0, at=at(5, 5.1), process=5, committed=True)
    s.poll(TWO, 2, at=at(5.2, 5.3), process=5, committed=True)
    s.now = 20 * S
    return s.final({0: ONE, 1: ONE + 1, 2: TWO}, end=3, committed=True)


def transactions_in_a_cycle(s: Any) -> Any:
    """Each of two transactions reads what the other one writes."""
    began(s, SAFE)
    for op, process, own, other in ((101, 1, 0, 1), (102, 2, 1, 0)):
        written = (ONE, TWO)
        s.send(written[own], own, transaction=op, at=at(1, 4))
        s.poll(written[other], other, process=process, transaction=op, at=at(2, 3), committed=True)
        value = {"transactional_id": f"x{op}", "epoch": 0, "outcome": "commit", "ending": 3 * S}
        s.operation(
            "txn",
            op=op,
            process=process,
            at=at(0.5 + own / 10, 4),
            value=json.dumps(value),
            topic=None,
            partition=None,
        )
    s.now = 20 * S
    return s.final({0: ONE, 1: TWO}, end=2, committed=True)


def two_owners(s: Any) -> Any:
    """A member is paused, the group gives its partition to another one, and it goes on when it wakes up."""
    began(s, SAFE)
    fault(s, "pause-client", 2.0, 12.0, processes=[6])
    s.send(ONE, 0, at=at(0.2, 0.3))
    member(s, 6, "assigned", at(1, 1.1), start=0)
    member(s, 7, "assigned", at(9, 9.1), start=0)
    value = json.dumps({"member": "m6"})
    s.operation("commit", process=6, at=at(10, 10.1), end_offset=1, value=value, group="g", generation=1)
    member(s, 6, "lost", at(13, 13.1))
    return read_at_the_end(s, {0: ONE})


FAILURES: tuple[Callable[[Any], Any], ...] = (
    isolated_leader,
    unclean_election,
    last_replica_standing,
    written_twice,
    stale_reads,
    torn_transaction,
    transactions_in_a_cycle,
    two_owners,
)
