"""Which faults an attached cluster refuses: those whose heal could not restore what its owner had set."""

from __future__ import annotations

from collections.abc import Iterable

from nemesis.event import Event
from pytest_kafkacheck.errors import UsageError


def refuse_changes(events: Iterable[Event]) -> None:
    """Raises UsageError for the first event that changes containers, data or members.

    The engine has no record of the limits that a container had before, so the heal of `cpu` would leave none.
    """
    for event in events:
        if event.fault.changes_cluster:
            what = f"event {event.id!r}: {event.fault.name}" if event.id else event.fault.name
            raise UsageError(
                f"{what} changes settings, data or members of a cluster, which is not done to a cluster that "
                f"somebody else runs; leave it out, or use a cluster that kafkacheck starts (run without --attach)"
            )
