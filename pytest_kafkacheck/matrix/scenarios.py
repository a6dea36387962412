"""The scenarios of the matrix: the faults that bring about an event of the audit on a real cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

from nemesis.event import Event
from nemesis.faults.isolate import isolate
from nemesis.faults.kill import kill
from nemesis.faults.leader_storm import leader_storm
from nemesis.faults.partition import partition
from nemesis.faults.power_loss import power_loss
from nemesis.faults.reassign import reassign
from nemesis.faults.stop import stop
from nemesis.faults.wipe import wipe
from pytest_kafkacheck.audit.events import EVENTS

LEADER = 1
"""The node that leads every partition at first: replicas are assigned to nodes 1, 2, 3 and so on."""


@dataclass(frozen=True)
class Layout:
    """replication: the most replicas of a topic of the run. brokers: of the cluster. in_rack: replicas, and brokers,
    that are lost together with the leader's rack."""

    replication: int
    brokers: int
    in_rack: int = 1

    @property
    def followers(self) -> range:
        return range(LEADER + 1, LEADER + self.replication)


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """name         that of the event of the audit.
    faults       for a layout; times are seconds after the warm-up.
    window       position of the fault during which writes show whether the topic is available; None: all is down.
    refuses      position of the fault during which writes are refused, by rule of the audit, where it is another one.
    smallest_isr  replicas to which the ISR must shrink; a run that did not see that has not exercised the scenario.
    disks        whether nodes need file systems of their own.
    controllers  separate controllers; 0: each broker is one. The scenario stops too many nodes for a majority.
    alone        whether a run has one cell only.
    warm_up      seconds of load before the first fault; latencies are taken there.
    duration     seconds of load without faults.
    rate         records per second and cell; None for no limit.
    """

    name: str
    faults: Callable[[Layout], list[Event]] = field(default=lambda _: [])
    window: int | None = None
    refuses: Mapping[str, int] = field(default_factory=dict, hash=False)
    smallest_isr: int | None = None
    disks: bool = False
    controllers: int = 0
    alone: bool = False
    warm_up: float = 3.0
    duration: float = 8.0
    rate: float | None = 200

    @property
    def what(self) -> str:
        event = EVENTS.get(self.name)
        return (
            event.what if event else "Nothing fails: what the configuration costs in throughput and latency."
        )


@cache
def all_scenarios() -> dict[str, Scenario]:
    """By name, in the order of the audit's events; those without an event come last."""
    order = [*EVENTS]
    found = sorted(SCENARIOS, key=lambda each: order.index(each.name) if each.name in order else len(order))
    return {each.name: each for each in found}


SHRINK = 4.0
"""Seconds for a follower to leave the ISR: replica.lag.time.max.ms is 2 s, and it takes up to 1.5 times as long."""

ALONE = 3.0
"""Seconds for which the leader is alone in the ISR."""

OVER = 1.0
"""Seconds by which a cut ends after the leader has failed."""

REFUSES = {"below-minimum": -2}
"""After `shrink`: while the leader is alone. The cut of the last follower is the fault before that of the leader, and
ends before another one can be elected."""


def lag(layout: Layout, *, at: float) -> list[Event]:
    """Followers get no records from the leader for two seconds, and stay in the ISR."""
    return [
        partition([[LEADER], [node]], plane="replication", at=at, lasting=1.0 + OVER)
        for node in layout.followers
    ]


def shrink(layout: Layout) -> tuple[list[Event], float]:
    """Followers leave the ISR one after another; and the time at which the leader has been alone for a while."""
    starts = [(1.0 + SHRINK * number, node) for number, node in enumerate(layout.followers)]
    alone = 1.0 + SHRINK * len(starts) + ALONE
    return (
        [
            partition([[LEADER], [node]], plane="replication", at=at, lasting=alone + OVER - at)
            for at, node in starts
        ],
        alone,
    )


def _isr_of_one_killed(layout: Layout) -> list[Event]:
    """The followers leave the ISR one after another, then the leader is killed."""
    cuts, alone = shrink(layout)
    return [*cuts, kill(LEADER, at=alone, lasting=14.0)]


def _isr_of_one_wiped(layout: Layout) -> list[Event]:
    """The followers leave the ISR one after another, then the leader loses its disk."""
    cuts, alone = shrink(layout)
    return [*cuts, wipe(LEADER, at=alone, lasting=14.0)]


def _last_replica_power_loss(layout: Layout) -> list[Event]:
    """The followers are stopped one after another, and the leader loses power; it is started last."""
    apart = 3.0  # seconds between two stops: records that only the others get are written meanwhile
    down = 4.0  # seconds for which nothing is up
    before = 8.0  # seconds by which the followers are up before the leader: time for an election
    stops = [(1.0 + apart * number, node) for number, node in enumerate(layout.followers)]
    alone = 1.0 + apart * len(stops)
    return [
        *(stop(node, at=at, lasting=alone + down - at) for at, node in stops),
        power_loss(LEADER, at=alone, lasting=down + before),
    ]


def _leader_isolated(_: Layout) -> list[Event]:
    """The leader is cut off from all other nodes, and clients reach it."""
    return [isolate(LEADER, at=1.0, lasting=14.0)]


def _leader_killed(layout: Layout) -> list[Event]:
    """The leader is killed a second after its followers stopped getting records: in sync by Kafka's rules."""
    # An election takes 3 s, and 5 s where the leader was the active controller as well.
    return [*lag(layout, at=1.0), kill(LEADER, at=2.0, lasting=12.0)]


def _leader_wiped(layout: Layout) -> list[Event]:
    """The leader loses its disk a second after its followers stopped getting records."""
    return [*lag(layout, at=1.0), wipe(LEADER, at=2.0, lasting=12.0)]


def _power_loss(layout: Layout) -> list[Event]:
    """All brokers with replicas lose power at the same moment."""
    # Not all brokers: one without replicas may have nothing that is not on its disk, and then proves no loss. The
    # disks of three nodes are stopped and counted: on a busy machine that takes more than 3 s.
    nodes = ",".join(map(str, [LEADER, *layout.followers]))
    return [power_loss(nodes, at=4.0, lasting=6.0)]


def _power_loss_one(layout: Layout) -> list[Event]:
    """The leader loses power a second after its followers stopped getting records."""
    return [*lag(layout, at=1.0), power_loss(LEADER, at=2.0, lasting=12.0)]


def _rack_lost(layout: Layout) -> list[Event]:
    """All brokers of the leader's rack lose power at the same moment."""
    rack = ",".join(str(node) for node in range(LEADER, LEADER + layout.in_rack))
    return [*lag(layout, at=1.0), power_loss(rack, at=2.0, lasting=12.0)]


def _leader_moved(layout: Layout) -> list[Event]:
    """Leadership goes from replica to replica, at first while the followers lack records. The only replica moves to
    another broker."""
    if layout.replication == 1:
        return [reassign(at=2.0, lasting=4.0)]
    return [*lag(layout, at=1.0), leader_storm(every=2.0, at=2.0, lasting=6.0)]


def _two_killed(layout: Layout) -> list[Event]:
    """The leader and a follower are killed a second after the followers stopped getting records."""
    return [*lag(layout, at=1.0), kill(f"{LEADER},{LEADER + 1}", at=2.0, lasting=12.0)]


def _rolling_restart(layout: Layout) -> list[Event]:
    """Brokers are stopped and started one after another, the leader first.

    A second before its stop, the followers get no records from it, and by Kafka's rules they are in sync. Without
    that, the next leader would lack the records of less than a millisecond.
    """
    down = 4.0  # seconds
    apart = 11.0  # seconds: a broker is up 3 s after its start, and its replicas are in sync 1 s later
    others = range(LEADER + 1, LEADER + layout.brokers)
    # The leader's stop is the last event of the list, and the first in time: that is the window.
    later = [stop(node, at=2.0 + apart * (node - LEADER), lasting=down) for node in others]
    return [*lag(layout, at=1.0), *later, stop(LEADER, at=2.0, lasting=down)]


SCENARIOS = (
    Scenario(name="isr-of-one-killed", faults=_isr_of_one_killed, window=-1, refuses=REFUSES, smallest_isr=1),
    Scenario(name="isr-of-one-wiped", faults=_isr_of_one_wiped, window=-1, refuses=REFUSES, smallest_isr=1),
    Scenario(
        name="last-replica-power-loss",
        faults=_last_replica_power_loss,
        smallest_isr=1,
        disks=True,
        controllers=1,
    ),
    Scenario(name="leader-isolated", faults=_leader_isolated, window=-1),
    Scenario(name="leader-killed", faults=_leader_killed, window=-1),
    Scenario(name="leader-moved", faults=_leader_moved, window=-1, alone=True),
    Scenario(name="leader-wiped", faults=_leader_wiped, window=-1),
    Scenario(name="power-loss", faults=_power_loss, disks=True),
    Scenario(name="power-loss-one", faults=_power_loss_one, window=-1, disks=True),
    Scenario(name="rack-lost", faults=_rack_lost, window=-1, disks=True, controllers=1),
    Scenario(name="rolling-restart", faults=_rolling_restart, window=-1),
    Scenario(name="two-killed", faults=_two_killed, window=-1, controllers=1),
    Scenario(name="undisturbed", alone=True, warm_up=2.0, duration=5.0, rate=None),
)
"""Each brings about the event of the audit that has its name. In `undisturbed` nothing fails, and one configuration
has the cluster alone, at full speed."""
