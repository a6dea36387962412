"""A program that changes topics which are not its own."""

from __future__ import annotations

from functools import partial

from workloads.clients import administration, requests
from workloads.clients.connection import ask
from workloads.roles.context import WorkerContext

PAUSE = 0.4
"""Seconds between two deletions."""

TIMEOUT = 5.0


def delete_topics_of_administrators(context: WorkerContext) -> None:
    """Delete the topics of the administrators one by one, behind their backs."""
    ask_broker = partial(ask, context.bootstrap[0], timeout=TIMEOUT)
    context.ready()
    while not context.stop.wait(PAUSE):
        known = {topic for topic, _ in requests.metadata(ask_broker, None)}
        mine = sorted(name for name in known if name.startswith("side-") and name.endswith(context.run))
        if mine and administration.delete(mine[:1])(ask_broker).type == "ok":
            context.counts["deletions"] += 1
