"""The probe role: runs all probes for as long as the run lasts, and records their rows as observations."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import cycle
from typing import Any, NamedTuple

from workloads.clients.connection import Address, Connection, ask
from workloads.clients.protocol import Log
from workloads.clients.zookeeper_session import ZooKeeperSession
from workloads.history.writer import Writer
from workloads.probes.probe import UNANSWERED, Probe, Row, all_probes
from workloads.roles.context import WorkerContext

TIMEOUT = 1.0
"""Seconds for one answer."""

JOIN_LIMIT = 3 * TIMEOUT

FAST = 0.05
"""Seconds between samples in haste."""

LASTING = 3.0
"""Seconds of haste after the last change."""

CHANGES = ("leader", "leader_epoch", "isr")


def probe(context: WorkerContext) -> None:
    """Observe until `context.stop` is set. A broker that does not answer delays its own rows only."""
    writer = context.writer("observations")
    isr = SmallestIsr()
    zookeeper = (
        ZooKeeperSession(lambda: context.ensemble, patience=TIMEOUT) if context.ensemble.servers else None
    )
    threads = [
        threading.Thread(target=_repeat, args=(context, haste, sample), daemon=True)
        for kind in all_probes()
        for haste in [Haste(kind.interval)]
        for sample in samplers(kind, context, writer, isr, haste, zookeeper=zookeeper)
    ]
    context.ready()
    for thread in threads:
        thread.start()
    context.stop.wait()
    deadline = time.monotonic() + JOIN_LIMIT
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    if zookeeper is not None:
        zookeeper.close()


def samplers(
    kind: type[Probe],
    context: WorkerContext,
    writer: Writer,
    isr: SmallestIsr,
    haste: Haste,
    *,
    zookeeper: ZooKeeperSession | None = None,
) -> list[Callable[[], None]]:
    """Functions that take one sample each: one for each broker, one for all of them, or one for ZooKeeper."""
    if kind.asks == "every broker":
        return [
            partial(
                _record, kind(context.topics, context.run), context, writer, isr, haste, node, _Kept(address)
            )
            for node, address in context.brokers.items()
        ]
    one = kind(context.topics, context.run)
    if kind.asks == "ZooKeeper":
        asked = [] if zookeeper is None else [zookeeper]
        return [partial(_record, one, context, writer, isr, haste, None, session) for session in asked]
    nodes = cycle(context.brokers)

    def sample() -> None:
        node = next(nodes)
        _record(one, context, writer, isr, None, node, _Single(context.brokers[node]))

    return [sample]


def _record(
    one: Probe,
    context: WorkerContext,
    writer: Writer,
    isr: SmallestIsr,
    haste: Haste | None,
    node: int | None,
    request: _Kept | _Single | ZooKeeperSession,
) -> None:
    """haste: None for a probe that asks another broker each time, and that keeps its interval. node: None for
    ZooKeeper."""
    asked = time.monotonic_ns()
    kind = one.kind
    rows: list[Row]
    try:
        rows = list(one.sample(request.ask))
        context.counts["samples"] += bool(rows)
        if haste:
            haste.tell(node, rows)
    except OSError as error:
        context.counts["unanswered"] += 1
        if haste:
            haste.tell(node, None)
        kind, rows = UNANSWERED, [{"value": {"probe": one.kind, "error": type(error).__name__}}]
    now = time.monotonic_ns()
    for row in rows:
        writer.append(
            run=context.run,
            process=context.process,
            time=now,
            node=node,
            kind=kind,
            asked=asked,
            connection=request.connection,
            **_with_json(row),
        )
        isr.see(node, row)
    if isr.now is not None:
        context.counts["isr"], context.counts["replicas"] = isr.now


def _with_json(row: Row) -> dict[str, Any]:
    """The columns of a row, with `value` as JSON."""
    columns = dict(row)
    if "value" in columns:
        columns["value"] = json.dumps(columns["value"], sort_keys=True)
    return columns


class _Kept:
    """Asks one broker over one connection, and over a new one after an error.

    connection  the number of the one over which the last response came; null after an error.
    """

    def __init__(self, address: Address) -> None:
        self.connection: int | None = None
        self._address = address
        self._open: Connection | None = None
        self._opened = 0

    def ask(self, request: Any) -> Any:
        try:
            if self._open is None:
                self._open = Connection(self._address, timeout=TIMEOUT)
                self.connection = self._opened
                self._opened += 1
            return self._open.ask(request)
        except OSError:
            if self._open is not None:
                self._open.close()
            self._open = self.connection = None
            raise


class _Single:
    """Asks one broker over a new connection each time, of which nothing follows about the broker's process."""

    connection = None

    def __init__(self, address: Address) -> None:
        self.ask = partial(ask, address, timeout=TIMEOUT)


def _repeat(context: WorkerContext, haste: Haste, sample: Callable[[], None]) -> None:
    while not context.stop.is_set():
        begun = time.monotonic()
        sample()
        context.stop.wait(max(0.0, haste.interval - (time.monotonic() - begun)))


class Haste:
    """Probes sample more often for a while after a broker reported a change, or stopped to answer.

    An unclean election may follow within half a second after an ISR has shrunk, and the ISR explains the records that
    it costs. At 5 Hz there is often no sample between. All samplers of a kind share one, and tell it what they got.
    Safe to use from several threads.
    """

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._until = 0.0
        self._last: dict[int | None, Any] = {}
        """By node, None for ZooKeeper: what it reported, None where it did not answer."""

    @property
    def interval(self) -> float:
        return min(self._interval, FAST) if time.monotonic() < self._until else self._interval

    def tell(self, node: int | None, rows: Iterable[Mapping[str, Any]] | None) -> None:
        """rows: of a sample; None: the broker did not answer."""
        found = None if rows is None else [tuple(str(row.get(name)) for name in CHANGES) for row in rows]
        if self._last.setdefault(node, found) != found:
            self._last[node] = found
            self._until = time.monotonic() + LASTING


class Isr(NamedTuple):
    in_sync: int
    replicas: int


class SmallestIsr:
    """How many replicas are in sync where it is worst, for the progress of a run. Kept from the samples of all
    brokers; several threads may call `see`.

    Of each partition, the view of the leader with the highest epoch counts: a leader that is cut off goes on with the
    ISR of before.
    """

    def __init__(self) -> None:
        self._views: dict[Log, tuple[int, Isr]] = {}

    def see(self, node: int | None, row: Mapping[str, Any]) -> None:
        """A row of the probe of partitions, from that broker. Other rows are ignored."""
        if "isr" not in row or row["leader"] != node:
            return
        log, epoch = (row["topic"], row["partition"]), row["leader_epoch"]
        if epoch >= self._views.get(log, (epoch, None))[0]:
            self._views[log] = epoch, Isr(len(row["isr"]), len(row["replicas"]))

    @property
    def now(self) -> Isr | None:
        """Of the partition that lacks the most replicas; None before the first sample."""
        views = [isr for _, isr in tuple(self._views.values())]
        return min(views, key=lambda isr: (isr.in_sync - isr.replicas, isr.in_sync), default=None)
