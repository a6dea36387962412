"""Brokers are stopped and started one after another, while packets take a while, as in a network across racks.

Without the delay, the next leader lacks the records of less than a millisecond at the moment of a stop.
"""

from __future__ import annotations

from nemesis.event import Event
from nemesis.faults.delay import delay
from nemesis.faults.stop import stop
from pytest_kafkacheck.matrix.scenario import LEADER, Layout, Scenario

DELAY = 100
"""Milliseconds that a packet takes from each broker."""

STOPPED = 4.0
"""Seconds for which a broker is down."""

APART = 11.0
"""Seconds from one stop to the next. A broker is up 3 s after its start, and its replicas are in sync 1 s later."""


def _faults(layout: Layout) -> list[Event]:
    nodes = range(LEADER, LEADER + layout.brokers)
    stops = [stop(node, at=2.0 + APART * number, lasting=STOPPED) for number, node in enumerate(nodes)]
    return [delay("all", ms=DELAY, at=0.5, lasting=APART * len(stops)), *stops]


SCENARIO = Scenario(name="rolling-restart", faults=_faults, window=1)
