"""Leadership of a partition moves to a broker, once while that broker is idle, and once while its only I/O thread has
a backlog of large writes that it has to compress.

The brokers' logs say when each of them applied the change; the other replica has no backlog.

In ZooKeeper mode both halves of the claim are shown on one cluster, one after the other: brokers have a listener for
control requests, and the broker is then restarted without the setting that gives this listener a queue of its own.
The controller goes on using the listener, and its requests wait in the same queue as the writes. In KRaft mode there
is no such setting: brokers always fetch the change from the controller.

Exercised: during the changes under load a small write to that broker waited in the queue for a second.
"""

from __future__ import annotations

import random
import re
import string
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import NamedTuple

from kafka.protocol.admin import ElectLeadersRequest

from pytest_kafkacheck.claims.callers import calling
from pytest_kafkacheck.claims.claim import Answer, Case, Claim, Picture
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.produce import GZIP, request
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.report.lane import Group, Row, Span, Strip

CONNECTIONS = 40
BLOCK, REPEATED = 20_000, 400
"""A write is a block of random letters, repeated: 8 MB for the broker, and little for its client, which compresses it
once."""

OTHER_CODEC = {"compression.type": "zstd", "compression.zstd.level": 15}
"""So that the broker has to compress again what it gets."""

BACKLOG = 1.0
"""Seconds for which a small write has to wait at least."""

PROPERTIES = "/k/server.properties"

SETTINGS = {
    "num.io.threads": "1",
    # The controller must not give up a request that waits in the queue.
    "controller.socket.timeout.ms": "30000",
}


SEPARATE, SHARED = "with a listener of its own", "without"
"""How control requests reach the broker."""

TITLES = {
    SEPARATE: "Control requests have a listener of their own",
    SHARED: "Control requests wait in the queue of the writes",
}


class Delays(NamedTuple):
    """Seconds from the change at the other replica to that at the new leader, and those that a small write waited."""

    idle: float
    loaded: float
    write: float


def show(context: ScenarioContext) -> Answer:
    # In ZooKeeper mode the controller has no backlog: it sends the request.
    controller = context.cluster.controller()
    other, third, busy = sorted(context.brokers, key=lambda node: (node != controller, node))
    topic = context.topic((other, busy, third))
    load = context.topic((busy,), config=OTHER_CODEC)

    def measured() -> Delays:
        return _delays(context, topic, load, other=other, busy=busy, third=third)

    found = {SEPARATE: measured()}
    if not context.cluster.spec.kraft:
        with _shared_queue(context, busy):
            found[SHARED] = measured()
    separate, shared = found[SEPARATE], found.get(SHARED)
    is_delayed = shared is None or (shared.loaded > shared.write / 4 and shared.loaded > 4 * shared.idle)
    return Answer(
        holds=separate.loaded < separate.write / 4 and is_delayed,
        seen="; ".join(
            f"{name}, the new leader applied the change {each.idle * 1000:.0f} ms after the other replica while it "
            f"was idle, and {each.loaded:.1f} s after it while a small write waited for {each.write:.1f} s"
            for name, each in found.items()
        ),
        figures={
            f"{name}: {what}": value
            for name, each in found.items()
            for what, value in (
                ("delay with a backlog (ms)", round(each.loaded * 1000)),
                ("a write waits (s)", round(each.write, 1)),
            )
        },
        picture=_picture(found),
    )


@contextmanager
def _shared_queue(context: ScenarioContext, node: int) -> Iterator[None]:
    """The broker restarts without the setting that separates control requests, and at the end again with it."""
    before = context.cluster.nodes[node].get(PROPERTIES).decode()
    kept = [line for line in before.splitlines() if not line.startswith("control.plane.listener.name=")]
    exercised(len(kept) == len(before.splitlines()) - 1, "the broker had a listener for control requests")
    try:
        _restart_with(context, node, "\n".join(kept))
        yield
    finally:
        _restart_with(context, node, before)


def _restart_with(context: ScenarioContext, node: int, properties: str) -> None:
    context.cluster.nodes[node].put({PROPERTIES: properties.encode()})
    context.cluster.nodes[node].restart()
    context.cluster.wait_settled()


def _delays(context: ScenarioContext, topic: str, load: str, *, other: int, busy: int, third: int) -> Delays:
    """Leadership of `topic` moves from `other` to `busy`, idle and with a backlog of writes to `load`."""
    _arrange(context, topic, (other, busy, third))
    if context.view(topic, at=other).leader != other:
        _elected(context, topic, other)
    _arrange(context, topic, (busy, other, third))
    idle = _elected(context, topic, busy)
    _arrange(context, topic, (other, busy, third))
    _elected(context, topic, other)
    _arrange(context, topic, (busy, other, third))
    block = "".join(random.Random(1).choices(string.ascii_letters, k=BLOCK))
    heavy = request(load, block * REPEATED, acks=1, limit=30, compression=GZIP)
    written = context.ask(busy)(heavy).responses[0].partition_responses[0].error_code
    exercised(written == 0, f"a large write was refused with error {written}")
    # The first caller sends small writes, which wait only for the others.
    writes = [request(load, "small", acks=1, limit=30), *[heavy] * CONNECTIONS]
    with calling(context.cluster.brokers[busy], writes) as (probe, *callers):
        context.require(
            lambda: (
                all(caller.is_waiting or caller.answers for caller in callers)
                and sum(len(caller.answers) for caller in callers) > CONNECTIONS // 2
            ),
            40,
            f"the writes of {CONNECTIONS} connections wait in the queue",
        )
        began = time.monotonic()
        delayed = _elected(context, topic, busy)
        ended = time.monotonic()
    errors = [repr(caller.error) for caller in (probe, *callers) if caller.error]
    exercised(not errors, f"{len(errors)} of {CONNECTIONS} connections ended: {', '.join(errors[:1])}")
    waits = [after - before for before, after in probe.answers if before <= ended and after >= began]
    backlog = max(waits, default=0.0)
    exercised(backlog > BACKLOG, f"a small write waited for {backlog:.2f} s")
    return Delays(idle, delayed, backlog)


def _picture(found: Mapping[str, Delays]) -> Picture:
    def row(name: str, seconds: float, look: str) -> Row:
        return Row(name=name, spans=(Span(begin=0, end=round(seconds * 1000), look=look),))

    groups = []
    for name, each in found.items():
        rows = (
            row("idle", each.idle, "out"),
            row("with a backlog", each.loaded, "out"),
            row("a write", each.write, "in-sync"),
        )
        title = f"{TITLES[name]}: from the change at the other replica to that at the new leader"
        groups.append(Group(title=title, lanes=(Strip(title="", about="", rows=rows),)))
    return Picture(groups=tuple(groups), span=round(max(map(max, found.values())) * 1100))


def _arrange(context: ScenarioContext, topic: str, replicas: tuple[int, ...]) -> None:
    """Give the replicas this order. The leader stays."""
    context.cluster.kafka.reassign(topic, 0, replicas)

    def is_known() -> bool:
        return all(context.view(topic, at=node).replicas == replicas for node in context.brokers)

    context.require(is_known, 15, f"the replicas are {replicas}")


def _elected(context: ScenarioContext, topic: str, leader: int) -> float:
    """Elect the preferred leader. Returns the seconds between the other replicas' change and the leader's own."""
    printed = {node: len(context.cluster.nodes[node].logs()) for node in context.brokers}
    epoch = context.view(topic, at=context.cluster.controller()).leader_epoch + 1

    def applied(node: int, role: str) -> float | None:
        text = context.cluster.nodes[node].logs()[printed[node] :].decode(errors="replace")
        pattern = rf"^([\d-]+[ T][\d:]+[.,]\d+) .*{role} {topic}-0 .*starts at leader epoch {epoch} "
        found = re.search(pattern, text, re.MULTILINE)
        return datetime.fromisoformat(found[1].replace(",", ".")).timestamp() if found else None

    # To the controller: a client would ask any broker first, also one that has a backlog.
    wanted = ElectLeadersRequest.TopicPartitions(topic=topic, partitions=[0])
    election = ElectLeadersRequest(version=1, election_type=0, topic_partitions=[wanted], timeout_ms=1000)
    code = context.ask(context.cluster.controller() or 0)(election).error_code
    exercised(code == 0, f"the election was refused with error {code}")
    context.require(
        lambda: applied(leader, "Leader") is not None, 40, f"broker {leader} leads in epoch {epoch}"
    )
    others = [applied(node, "Follower") for node in context.brokers if node != leader]
    exercised(None not in others, "the log of a follower does not have the change")
    return max(0.0, (applied(leader, "Leader") or 0) - max(each or 0 for each in others))


CLAIM = Claim(
    id="E2",
    title="a backlog delays control requests",
    text="A backlog of writes delays a change of the leader by as long as a write waits, unless control requests "
    "have a listener of their own. In KRaft brokers fetch the change from the controller, so there is no delay.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-291%3A+Separating+controller+connections+and+requests+from+the+data+plane",
    cases=(
        Case(name="4.1.1", cluster=ClusterSpec(config=SETTINGS)),
        Case(
            name="3.9.2 ZooKeeper",
            cluster=ClusterSpec(version="3.9.2", zookeepers=1, control_plane=True, config=SETTINGS),
        ),
    ),
    show=show,
)
