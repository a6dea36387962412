"""How many replicas are in sync where it is worst, for the progress of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from workloads.clients.protocol import Log


class Isr(NamedTuple):
    in_sync: int
    replicas: int


class SmallestIsr:
    """Kept from the samples of all brokers; several threads may call `see`.

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
