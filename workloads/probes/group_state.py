"""The groups of the run, each as its coordinator reports it: state, epoch, members and their partitions, positions.

One row per group of which the broker is the coordinator. The value is ``{"group": text, "type": "classic"|"consumer"|
"share", "state": text, "protocol": text or null, "epoch": int or null, "assigned_epoch": int or null, "members":
{member id: ["topic-0", ...]}, "positions": {"topic-0": int}}``. The epoch of a group of the classic protocol is its
generation, as the coordinator wrote it to its log; it is null while the group is not Stable, and if it changed during
the sample. `protocol` is the assignor; `positions` are those of the workload's topics that the group has committed,
none for a share group.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from kafka.protocol.admin import ListGroupsRequest

from workloads.clients.coordination import highest_version
from workloads.clients.described_groups import CLASSIC, groups, state_of
from workloads.clients.group_log import GroupLog
from workloads.clients.protocol import Log
from workloads.probes.probe import IDLE, Ask, Row, Source

STABLE = "Stable"


class GroupStateProbe:
    kind = "group_state"
    interval = 0.2
    asks: Source = "every broker"

    def __init__(self, topics: Mapping[str, int], run: str) -> None:
        self._run = run
        self._logs = tuple((topic, number) for topic, count in topics.items() for number in range(count))
        self._version: int | None = None
        self._idle_until = 0.0
        self._log = GroupLog()

    def sample(self, ask: Ask) -> Iterator[Row]:
        if time.monotonic() < self._idle_until:
            return
        self._log.begin(ask)
        if self._version is None:
            self._version = highest_version(ask, ListGroupsRequest.API_KEY)
        of_run = {group: kind for group, kind in groups(ask, self._version).items() if self._run in group}
        if not of_run:
            self._idle_until = time.monotonic() + IDLE
        for group, kind in of_run.items():
            before = self._log.generation(ask, group) if kind == CLASSIC else None
            found = state_of(ask, group, kind, self._logs)
            if found is None:
                continue
            epoch = found.epoch
            if before is not None and found.state == STABLE and self._log.generation(ask, group) == before:
                epoch = before
            yield {
                "value": {
                    "group": group,
                    "type": kind,
                    "state": found.state,
                    "protocol": found.protocol,
                    "epoch": epoch,
                    "assigned_epoch": found.assigned_epoch,
                    "members": {member: _names(logs) for member, logs in found.members.items()},
                    "positions": {f"{topic}-{number}": at for (topic, number), at in found.positions.items()},
                }
            }


def _names(logs: tuple[Log, ...]) -> list[str]:
    return [f"{topic}-{number}" for topic, number in sorted(logs)]


PROBE = GroupStateProbe
