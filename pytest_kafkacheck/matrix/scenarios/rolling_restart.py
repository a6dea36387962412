"""Brokers are stopped and started one after another, the leader first.

A second before its stop, the followers get no records from it, and by Kafka's rules they are in sync. Without that,
the next leader would lack the records of less than a millisecond.
"""

from __future__ import annotations

from nemesis.event import Event
from nemesis.faults.stop import stop
from pytest_kafkacheck.matrix.scenario import LEADER, Layout, Scenario
from pytest_kafkacheck.matrix.steps import lag

STOPPED = 4.0
"""Seconds for which a broker is down."""

APART = 11.0
"""Seconds from one stop to the next. A broker is up 3 s after its start, and its replicas are in sync 1 s later."""


def _faults(layout: Layout) -> list[Event]:
    others = range(LEADER + 1, LEADER + layout.brokers)
    # The leader's stop is the last event of the list, and the first in time: that is the window.
    later = [stop(node, at=2.0 + APART * (node - LEADER), lasting=STOPPED) for node in others]
    return [*lag(layout, at=1.0), *later, stop(LEADER, at=2.0, lasting=STOPPED)]


SCENARIO = Scenario(name="rolling-restart", faults=_faults, window=-1)
