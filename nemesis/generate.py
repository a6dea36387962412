"""Random schedules from a seed: faults by weight, within a budget, with quiet periods."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from nemesis.budget import Budget
from nemesis.event import Event
from nemesis.fault import Fault
from nemesis.registry import FAULTS
from nemesis.schedule import Schedule, conflict, may_block_the_same
from nemesis.targets import Target, TargetFamily
from nemesis.topology import APP, Topology
from nemesis.triggers import Trigger
from nemesis.validation import count, finite, near_or_all, number, seconds

TARGETS: Mapping[TargetFamily, Sequence[str]] = {
    "nodes": ("leader", "follower", "controller", "one", "minority"),
    "partition": ("partition",),
    "topic": ("topic",),
    "cluster": ("cluster",),
    "clients": ("producer", "reader", "session"),
}
"""By target family; a fault may have others in its `Draw`. Groups and transactional ids are unknown to a seed without
`Generated.clients`."""

NAMED: frozenset[TargetFamily] = frozenset({"group", "producer"})
"""Target families of which a target is a name of the workload."""

MOST = 200
"""Events. Each is compared with all others."""

STARTING = 5.0
"""Seconds for which a process may be starting after a fault that ended it. It does little work then."""

SETTLING = 12.0
"""Seconds after a fault of nodes or clients in which a group may be without a coordinator, or wait for a member that
is gone: 6 s each, the session timeout of the workloads. Nobody can join or take over a transactional id meanwhile."""

CATCHING_UP = 10.0
"""Seconds after a fault of nodes in which a replica may not be in sync again, on a busy machine."""

MEASURING = 3.0
"""Seconds in which test packets show that a fault of packets is at work."""

AIMED = 0.75
"""Share of the drawn faults of instances of an application that wait until the instance is in the middle of its work.
Such a fault may begin at any time of its wait, so that fewer of them find room in a schedule."""

AIM_LIMIT = 15.0
"""Seconds of that wait: the partitions of an instance that was killed wait for a session timeout, often 6 or 10 s."""

TRIES = 20
"""Draws for one event before it is left out because the budget has no room for it."""


@dataclass(frozen=True, kw_only=True)
class Generated:
    """A random schedule. An experiment takes it in place of a list of events.

    seed     of every choice; equal seeds give equal schedules for equal clusters.
    length   seconds in which all faults begin and end.
    events   number of events; fewer where the budget leaves no room.
    weights  fault to relative frequency; None for the default weights that the faults declare.
    lasting  shortest and longest duration of a fault in seconds.
    budget   see `Budget`.
    quiet    (seconds with faults, seconds without), repeated; None for no quiet periods.
    clients  whether the faults also hit what belongs to the workload: client processes of each role and group,
             coordinators, groups and transactional ids.
    Raises ValueError naming the field, the value and what is allowed.
    """

    seed: int = 0
    length: float = 60.0
    events: int = 8
    weights: Mapping[str, float] | None = None
    lasting: tuple[float, float] = (2.0, 8.0)
    budget: Budget = field(default_factory=lambda: Budget(brokers="minority", controllers="minority"))
    quiet: tuple[float, float] | None = None
    clients: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.seed, bool) or not isinstance(self.seed, int):
            raise ValueError(f"Generated.seed={self.seed!r}: expected a whole number")
        if not isinstance(self.clients, bool):
            raise ValueError(f"Generated.clients={self.clients!r}: expected True or False")
        seconds("Generated.length", self.length, above=0)
        count("Generated.events", self.events, most=MOST)
        if not isinstance(self.budget, Budget):
            raise ValueError(f"Generated.budget={self.budget!r}: expected a Budget; Budget() limits nothing")
        if self.weights is not None and not isinstance(self.weights, Mapping):
            raise ValueError(
                f"Generated.weights={self.weights!r}: expected numbers by fault, as {{'kill': 2, 'pause': 1}}, "
                f"or None"
            )
        for name, weight in (self.weights or {}).items():
            number(f"Generated.weights[{name!r}]", weight, least=0)
            if name not in FAULTS:
                raise ValueError(f"Generated.weights: no fault {name!r}{near_or_all(name, FAULTS)}")
            if not targets(FAULTS[name]) and not (self.clients and FAULTS[name].target_family in NAMED):
                raise ValueError(
                    f"Generated.weights: {name} needs the name of a {FAULTS[name].target_family}, which a seed does "
                    f"not know without clients=True"
                )
            try:
                for options in FAULTS[name].draw.options:
                    FAULTS[name](**options)
            except ValueError as error:
                raise ValueError(
                    f"Generated.weights: {name} needs options, which a seed does not know: {error}"
                ) from error
        if self.weights is not None and not any(weight > 0 for weight in self.weights.values()):
            raise ValueError(f"Generated.weights={dict(self.weights)!r}: expected one or more above 0")
        if not _pair(self.lasting) or not 0 < self.lasting[0] <= self.lasting[1] <= self.length:
            raise ValueError(
                f"Generated.lasting={self.lasting!r}: expected two numbers of seconds, above 0 and up to "
                f"length={self.length:g}, the smaller one first"
            )
        longest = self.lasting[1]
        if self.quiet is not None and not (
            _pair(self.quiet) and self.quiet[0] >= longest and self.quiet[1] > 0
        ):
            raise ValueError(
                f"Generated.quiet={self.quiet!r}: expected (seconds with faults, at least the longest lasting "
                f"{longest:g}; seconds without, above 0)"
            )


def _pair(value: object) -> bool:
    return isinstance(value, Sequence) and len(value) == 2 and all(map(finite, value))


def targets(fault: type[Fault]) -> Sequence[str]:
    """The targets that are drawn for a fault; empty where a seed knows none."""
    return fault.draw.targets or TARGETS.get(fault.target_family, ())


def workload_targets(fault: type[Fault], topology: Topology) -> Sequence[str]:
    """The targets that are drawn for a fault with ``clients=True``."""
    if fault.draw.targets:
        return fault.draw.targets
    # The protocol of a group without members of ours, as of a user's application, may be any.
    groups, ids = [group for group, number in topology.members.items() if number], topology.transactions
    match fault.target_family:
        case "nodes":
            coordinators = (f"coordinator:{group}" for group in topology.members)
            leaders = (f"leader:{topic}-0" for topic in topology.internal)
            return (
                *TARGETS["nodes"],
                *coordinators,
                *(f"transaction-coordinator:{id}" for id in ids),
                *leaders,
            )
        case "partition":
            return _partitions(topology) or targets(fault)
        case "topic":
            return tuple(f"topic:{topic}" for topic in topology.topics) or targets(fault)
        case "clients":
            return (*(f"role:{role}" for role in topology.clients), *(f"member:{group}" for group in groups))
        case "group":
            return tuple(f"group:{group}" for group in groups)
        case "producer":
            return tuple(f"transaction:{id}" for id in ids)
    return targets(fault)


def _partitions(topology: Topology) -> tuple[str, ...]:
    """Each topic, internal ones included, has the same share of the targets, however many partitions it has."""
    counts = {**topology.topics, **topology.internal}
    return tuple(
        f"partition:{topic}-{number % partitions}"
        for topic, partitions in counts.items()
        for number in range(max(counts.values()))
    )


def default_weights(*, clients: bool = False) -> dict[str, float]:
    """Weights by fault, for users that give none."""
    weights: dict[str, float] = {}
    for name, fault in FAULTS.items():
        other = fault.draw.clients_weight if clients else None
        weight = fault.draw.weight if other is None else other
        if weight > 0:
            weights[name] = weight
    return weights


def generate(wanted: Generated, topology: Topology) -> Schedule:
    """Events sorted by their time, all of them healed before the end.

    Each event is drawn from a random stream of its own. Raises ValueError when not a single event fits.
    """
    weights = weights_on(wanted, topology)
    taken: list[Event] = []
    for position in range(wanted.events):
        rng = random.Random(f"{wanted.seed}/{position}")
        for _ in range(TRIES):
            event = _draw(rng, wanted, weights, topology, position)
            if event is not None and fits(event, taken, wanted, topology):
                taken.append(event)
                break
    if not taken:
        raise ValueError(
            f"no event fits: budget {wanted.budget.to_json()}, length {wanted.length:g} s, faults "
            f"{', '.join(weights)}"
        )
    return Schedule(tuple(sorted(taken, key=lambda event: (event.earliest, event.id))))


def weights_on(wanted: Generated, topology: Topology) -> dict[str, float]:
    """The faults that are drawn there, with their weights, all above 0."""
    if wanted.weights is not None:
        return {name: weight for name, weight in wanted.weights.items() if weight > 0}
    return {
        name: weight
        for name, weight in default_weights(clients=wanted.clients).items()
        if _is_possible(FAULTS[name], wanted, topology)
    }


def _is_possible(fault: type[Fault], wanted: Generated, topology: Topology) -> bool:
    """Whether the fault accepts that topology with any of its options and targets."""
    drawn = workload_targets(fault, topology) if wanted.clients else targets(fault)
    for options, target in product(fault.draw.options, drawn):
        try:
            fault(**options).check(topology, Target.parse(target))
        except ValueError:
            continue
        return True
    return False


def _draw(
    rng: random.Random, wanted: Generated, weights: Mapping[str, float], topology: Topology, number: int
) -> Event | None:
    """An event; None where the cluster cannot have it."""
    name = rng.choices(list(weights), list(weights.values()))[0]
    fault = FAULTS[name](**rng.choice(FAULTS[name].draw.options))
    shortest, longest = wanted.lasting
    least = min(max(shortest, fault.draw.least), longest)
    lasting = 0.0 if fault.momentary else _rounded(rng, least, longest)
    at = _rounded(rng, 0, wanted.length - lasting)
    if not (possible := drawn_targets(FAULTS[name], wanted, topology)):
        return None
    target, id = Target.parse(rng.choice(possible)), f"{name}-{number}"
    event = Event(id=id, fault=fault, target=target, at=at, lasting=lasting)
    if (
        target.role == APP
        and wanted.quiet is None
        and topology.unseen_instances is None
        and rng.random() < AIMED
    ):
        instance = rng.randrange(topology.clients[APP])
        trigger = Trigger(kind="in-flight", instance=instance, begin=at, limit=AIM_LIMIT)
        target = Target(kind=APP, nodes=(instance,))
        event = Event(id=id, fault=fault, target=target, after=trigger, lasting=lasting)
    try:
        event.check(topology)
    except ValueError:
        return None
    return event


def drawn_targets(fault: type[Fault], wanted: Generated, topology: Topology) -> Sequence[str]:
    """The targets of a fault there: the roles of the workload in place of those of `AppendLog`, where it has none of
    these."""
    if wanted.clients:
        return workload_targets(fault, topology)
    names = targets(fault)
    if names != TARGETS["clients"] or set(names) & set(topology.clients):
        return names
    return [f"role:{role}" for role in topology.clients] or names


def _rounded(rng: random.Random, least: float, most: float) -> float:
    """A number in that range, rounded to tenths where the range contains the result."""
    return min(max(round(rng.uniform(least, most), 1), least), most)


def fits(event: Event, taken: Sequence[Event], wanted: Generated, topology: Topology) -> bool:
    """Whether a schedule with these events has room for one more."""
    if event.latest + event.lasting > wanted.length:
        return False
    if wanted.quiet is not None:
        loud, quiet = wanted.quiet
        begun = event.at % (loud + quiet)
        if begun >= loud or begun + event.lasting > loud:
            return False
    if any(_interferes(event, other, topology) for other in taken):
        return False
    try:
        wanted.budget.check(Schedule((*taken, event)), topology)
    except ValueError:
        return False
    return True


def _interferes(event: Event, other: Event, topology: Topology) -> bool:
    """Whether they may block one process at the same time, or one may hide the other's effect.

    Two roles may resolve to the same node.
    """
    if conflict(event, other, topology):
        return True
    if may_block_the_same(event, other) and event.overlaps(other):
        return True
    return any(
        spoils(*pair)
        for spoils in (_hides, _separates, _unsettles, _thins_out)
        for pair in ((event, other), (other, event))
    )


def _hides(event: Event, other: Event) -> bool:
    """Whether `other` may begin at a process that shows no effect, because `event` blocks it or it is starting."""
    if not event.fault.blocks_process or not other.fault.needs_process:
        return False
    return _begins_during(other, event, STARTING) and event.fault.target_family == other.fault.target_family


def _separates(event: Event, other: Event) -> bool:
    """Whether `event` may cut off the node of `other` from all peers before the proof of `other` has ended: the few
    packets of clients alone do not show which share is lost."""
    if not other.fault.needs_peer or event.fault.family != "network" or not event.fault.takes_nodes_down:
        return False
    return event.earliest - MEASURING <= other.latest and other.earliest < event.latest + event.lasting


def _unsettles(event: Event, other: Event) -> bool:
    """Whether `other` may find a group or transactional id that does not answer, because of `event`."""
    if other.fault.target_family not in NAMED or event.fault.target_family in NAMED:
        return False
    return _begins_during(other, event, SETTLING)


def _thins_out(event: Event, other: Event) -> bool:
    """Whether `other` may begin while, because of `event`, not all nodes serve and not all replicas are in sync."""
    if not (other.fault.needs_all_nodes or other.fault.destroys_records):
        return False
    return event.fault.target_family == "nodes" and _begins_during(other, event, CATCHING_UP)


def _begins_during(event: Event, other: Event, more: float) -> bool:
    """Whether it may begin while the other one goes on, or within so many seconds after that."""
    return other.earliest <= event.latest and event.earliest < other.latest + other.lasting + more
