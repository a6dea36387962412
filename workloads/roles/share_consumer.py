"""The consumer of a share group: acquires records, accepts most, releases some, rejects a few, is late at times."""

from __future__ import annotations

import random

from workloads.clients.protocol import AcknowledgementType
from workloads.roles.context import WorkerContext
from workloads.roles.sharing import Sharing, Taken

POLL = 0.2
"""Seconds of one poll."""

CAREFUL = 2
"""Deliveries of a record after which it is accepted in any case: none is to reach the limit of its deliveries."""

LATENESS = 1.5
"""How long a late consumer keeps its records, in durations of the lock."""


def consume(context: WorkerContext) -> None:
    """Poll and acknowledge until `context.stop` is set. Options: release and reject (shares of the records), expire
    (the share of polls after which it lets the locks time out), and those of `Sharing`."""
    options, sharing = context.options, Sharing(context)
    draw = random.Random(f"{context.run}/{context.process}/share")
    context.ready()
    while not context.stop.is_set():
        taken = sharing.poll(POLL)
        if not taken:
            continue
        is_new = all((each.record.deliveries or 0) < CAREFUL for each in taken)
        if is_new and draw.random() < options["expire"]:
            context.counts["late"] += 1
            context.stop.wait(options["share"]["lock"] * LATENESS)
        sharing.acknowledge(
            taken, [_type(each, draw, options["release"], options["reject"]) for each in taken]
        )
    sharing.close()


def _type(of: Taken, draw: random.Random, release: float, reject: float) -> AcknowledgementType:
    drawn = draw.random()
    if (of.record.deliveries or 0) < CAREFUL and drawn < release:
        return "release"
    return "reject" if drawn > 1 - reject else "accept"
