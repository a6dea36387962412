"""The reader of snapshots: takes one after another while others write."""

from __future__ import annotations

from workloads.roles.context import WorkerContext
from workloads.roles.reader import starts
from workloads.roles.snapshots import Snapshots

LIMIT = 10.0
"""Seconds until a snapshot is given up. The next one goes on where it ended."""


def take_snapshots(context: WorkerContext) -> None:
    """Take a snapshot every `interval` seconds until `context.stop` is set. Options: interval, and those of
    `LostPositions`."""
    snapshots = Snapshots(context, starts(context), leaders=context.leaders(), stop=context.stop)
    context.ready()
    while not context.stop.wait(context.options["interval"]):
        snapshots.take(LIMIT)
    snapshots.close()
