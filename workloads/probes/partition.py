"""Each broker's own view of the workload's partitions: leader, epoch, replicas, ISR, and offsets of what it holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from workloads.clients import requests
from workloads.clients.protocol import Log
from workloads.probes.probe import Ask, Row, Source


class PartitionProbe:
    kind = "partition"
    interval = 0.2
    asks: Source = "every broker"

    def __init__(self, topics: Mapping[str, int], run: str) -> None:  # noqa: ARG002
        self._topics = topics
        self._ends: dict[Log, int] = {}
        """Ends of the broker's replicas at the last sample."""

    def sample(self, ask: Ask) -> Iterator[Row]:
        views = requests.metadata(ask, self._topics)
        seen = {log: view for log, view in views.items() if log[0] in self._topics}
        if not seen:
            return
        # The high watermark first: asked later, it could be above the end of the log.
        marks = requests.watermarks(ask, {log: self._ends.get(log, 0) for log in seen})
        ends = requests.offsets(ask, dict.fromkeys(seen, -1), asker=requests.REPLICA)
        # A fetch from an end that was truncated since is refused once; the next sample fetches from 0.
        self._ends = {log: end for log, (code, end) in ends.items() if not code and log in marks}
        for log, view in seen.items():
            mark, (code, end) = marks.get(log), ends.get(log, (-1, -1))
            yield {
                "topic": log[0],
                "partition": log[1],
                "leader": view.leader,
                "leader_epoch": view.leader_epoch,
                "isr": list(view.isr),
                "replicas": list(view.replicas),
                "log_start": mark.log_start if mark else None,
                "high_watermark": mark.high_watermark if mark else None,
                "log_end": end if not code else None,
                "last_stable": mark.last_stable if mark else None,
            }


PROBE = PartitionProbe
