"""Partitions that are added during a run: how many the clients of a worker process know.

An application writes to them once its client library has refreshed its metadata. Few libraries give their metadata
without a request, so the process asks the brokers itself, one after another. It counts a partition with the second
answer that has it: by then the library, which refreshes more often, knows it as well and does not refuse its records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from itertools import cycle

from workloads.clients import requests
from workloads.clients.connection import ask
from workloads.roles.context import WorkerContext

INTERVAL = 1.25
"""Seconds between two requests. The metadata of our clients becomes 1 s old."""

TIMEOUT = 1.0
"""Seconds for the answer of one broker."""


def follow_partitions(context: WorkerContext) -> None:
    """Keep the numbers in `context.topics` up to date until `context.stop` is set."""
    brokers, before = cycle(context.brokers.values()), Counter[str]()
    while not context.stop.wait(INTERVAL):
        try:
            found = requests.metadata(partial(ask, next(brokers), timeout=TIMEOUT), context.topics)
        except OSError:
            continue
        reported = Counter(topic for topic, _ in found)
        context.topics.update(known(context.topics, before, reported))
        before = reported


def known(
    topics: Mapping[str, int], before: Mapping[str, int], reported: Mapping[str, int]
) -> dict[str, int]:
    """The numbers of partitions that clients know, from those so far, and those that brokers reported before and now.

    A number never falls: a broker that lags behind reports fewer.
    """
    return {
        topic: max(count, min(before.get(topic, 0), reported.get(topic, 0)))
        for topic, count in topics.items()
    }
