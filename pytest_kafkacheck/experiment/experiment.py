"""An experiment: which cluster, which workload, which faults, how long, and which verdict is expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from analyzers.catalogue.bounds import NONE, Bounds
from analyzers.verdict.promises import ALWAYS_REQUIRED, require_promises
from nemesis.budget import Budget
from nemesis.event import Event
from nemesis.generate import Generated, generate
from nemesis.schedule import Schedule
from nemesis.topology import Topology
from pytest_kafkacheck.cluster.spec.moves import moves, next_release
from pytest_kafkacheck.cluster.spec.properties import internal_partitions
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment import validation
from pytest_kafkacheck.experiment.applications.plan import group_of, unseen
from pytest_kafkacheck.experiment.validation import Expectation
from pytest_kafkacheck.stored_json import parse_json, read_text, what_is_wrong
from workloads import stored
from workloads.workload import Layout, Workload, short_topics

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """The unit that is run, stored and run again. All of it is checked on construction, before anything starts.

    workload        what clients do: `AppendLog`, or a `Workload` of your own.
    faults          events such as ``isolate("leader", at=3, lasting=8)``; times are seconds after the warm-up. Or
                    `Generated`, which is turned into events.
    budget          how much of the cluster they may break at the same time; None for no limit.
    cluster         which cluster it needs; equal specs share one in a session.
    warm_up         seconds of load before anything else, once the load has begun, which for AppendLog is the first
                    acknowledged write. Checks judge them like all others; figures of the load show them as "start".
    duration        seconds of load when there are no faults; with faults, the load goes on until the last has healed.
    cooldown        seconds of load after the cluster has recovered.
    recovery_limit  seconds after the last heal within which the brokers must agree again.
    seed            of every random choice of the schedule.
    bounds          how long clients may be kept waiting; a longer wait makes the run invalid. None by default.
    requires        names of promises (docs/anomalies.md) that the run has to exercise, or its verdict is unknown;
                    None: those that the workload names.
    live_checks     judge during the run as well, and report findings at once; the verdict stays the same.
    expect          the verdict expected by the command line.
    name            shown to people.
    """

    workload: Workload
    faults: Sequence[Event] | Generated = ()
    budget: Budget | None = None
    cluster: ClusterSpec = field(default_factory=ClusterSpec)
    warm_up: float = 0.0
    duration: float = validation.DURATION
    cooldown: float = 3.0
    recovery_limit: float = 60.0
    seed: int = 0
    bounds: Bounds = NONE
    requires: Collection[str] | None = None
    live_checks: bool = False
    expect: Expectation = "valid"
    name: str = ""
    _drawn_from: Generated | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        validation.check_values(self)
        try:
            faults = self.faults
            if isinstance(faults, Generated):
                object.__setattr__(self, "_drawn_from", faults)
            schedule = (
                generate(faults, self.topology) if isinstance(faults, Generated) else Schedule.of(faults)
            )
            schedule.check(self.topology)
            if self.budget is not None:
                self.budget.check(schedule, self.topology)
        except (TypeError, ValueError) as error:
            raise UsageError(f"Experiment.faults: {error}") from error
        schedule = schedule.on(self.topology)
        moves(self.cluster, schedule.events)
        validation.check_settings_of_faults(schedule, self.cluster.version)
        object.__setattr__(self, "faults", schedule.events)
        if self.requires is not None:
            object.__setattr__(self, "requires", tuple(sorted(set(self.requires))))

    def reseeded(self, by: int) -> Experiment:
        """With that number added to its seed. Faults that are `Generated` are drawn anew, with theirs raised as
        well; of an experiment that was made of this one with other values, they are not known any more."""
        drawn = self._drawn_from
        faults = self.faults if drawn is None else replace(drawn, seed=drawn.seed + by)
        return replace(self, faults=faults, seed=self.seed + by)

    @property
    def schedule(self) -> Schedule:
        assert not isinstance(self.faults, Generated)
        return Schedule.of(self.faults)

    @property
    def topology(self) -> Topology:
        """What its faults are checked against before anything starts. Topics and groups have
        the short names that schedules use; the workload's main topic comes first."""
        cluster, topics = self.cluster, self.workload.topics("check")
        partitions = {topic.name: topic.partitions for topic in topics}
        members = Counter(worker.group for worker in self.workload.workers() if worker.group is not None)
        if (group := group_of(self.workload)) is not None:
            members[group] = 0
        # A name is that of a group, or a transactional id.
        transactions = tuple(name for name in self.workload.aliases("check") if name not in members)
        uses = self.workload.declaration.capabilities(self.workload)
        internal = {
            "__consumer_offsets": bool(members),
            "__transaction_state": bool(transactions),
            "__share_group_state": "share-groups" in uses,
        }
        return Topology(
            brokers=tuple(member.id for member in cluster.members if member.is_broker),
            controllers=tuple(member.id for member in cluster.voters),
            zookeepers=tuple(member.id for member in cluster.members if member.role == "zookeeper"),
            topics={short: partitions[name] for short, name in short_topics(self.workload, "check").items()},
            # How many partitions they have on a cluster of others is not known.
            internal={
                topic: internal_partitions(cluster, topic)
                for topic, is_used in internal.items()
                if is_used and cluster.attached is None
            },
            replicas=min((topic.replication_factor for topic in topics), default=1),
            clients=Counter(
                worker.role.name for worker in self.workload.workers() if not worker.role.observes
            ),
            commands=frozenset(
                worker.role.name for worker in self.workload.workers() if worker.instance is not None
            ),
            unseen_instances=unseen(self.workload),
            members=members,
            has_classic_groups=not uses & {"group-consumer", "share-groups"},
            transactions=transactions,
            release=cluster.release.number,
            next_release=next_release(cluster),
            disks=cluster.disk_mb is not None,
        )

    @property
    def layout(self) -> Layout | None:
        """On which nodes the main topic's replicas lie; None: Kafka decides."""
        main = self.workload.main_topic("check")
        return next(topic.assignment for topic in self.workload.topics("check") if topic.name == main)

    @property
    def required(self) -> frozenset[str]:
        """The names of the promises that the run has to exercise."""
        return (
            frozenset(self.workload.requires) | ALWAYS_REQUIRED
            if self.requires is None
            else frozenset(self.requires)
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "name": self.name,
            "workload": stored.to_json(self.workload),
            "faults": self.schedule.to_json(),
            **({"budget": self.budget.to_json()} if self.budget else {}),
            "cluster": self.cluster.to_json(),
            **({"warm_up": self.warm_up} if self.warm_up else {}),
            "duration": self.duration,
            "cooldown": self.cooldown,
            "recovery_limit": self.recovery_limit,
            "seed": self.seed,
            **({"bounds": self.bounds.to_json()} if self.bounds != NONE else {}),
            **({"requires": list(self.requires)} if self.requires is not None else {}),
            **({"live_checks": True} if self.live_checks else {}),
            "expect": self.expect,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Experiment:
        rest = dict(read_format(data))
        del rest["format"]
        try:
            workload = _workload(rest.pop("workload"))
            if rest.get("budget") is not None:
                rest["budget"] = Budget.from_json(rest["budget"])
            if "bounds" in rest:
                rest["bounds"] = read_bounds(rest["bounds"])
            if "requires" in rest:
                rest["requires"] = read_requires(rest["requires"])
            return cls(
                workload=workload,
                faults=Schedule.from_json(rest.pop("faults")).events,
                cluster=ClusterSpec.from_json(rest.pop("cluster")),
                **rest,
            )
        except (KeyError, TypeError) as error:
            raise UsageError(f"not an experiment of format {FORMAT}: {what_is_wrong(error)}") from error

    @classmethod
    def read(cls, path: Path) -> Experiment:
        """From a file that holds the JSON of `to_json`. Raises UsageError naming the file."""
        return cls.parse(read_text(path), str(path))

    @classmethod
    def parse(cls, text: str, file: str) -> Experiment:
        """From the text of such a file. Raises UsageError naming the file."""
        data = parse_json(text, file)
        try:
            return cls.from_json(data)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{file}: {error}") from error


def require_experiment(value: object) -> Experiment:
    """The same value. Raises UsageError for anything else, with what was probably meant."""
    if isinstance(value, Experiment):
        return value
    kind = value if isinstance(value, type) else type(value)
    name = kind.__name__
    got = f"the class {name}" if isinstance(value, type) else f"{name}(...)"
    if issubclass(kind, Experiment):
        meant = f"{name}(...)"
    elif hasattr(kind, "workers"):  # a Workload, which need not inherit from it
        meant = f"Experiment(workload={name}(...))"
    elif isinstance(value, Event):
        got, meant = "a fault", f"Experiment(workload=AppendLog(), faults=[{value.fault.name}(...)])"
    elif issubclass(kind, ClusterSpec):
        meant = f"Experiment(workload=AppendLog(), cluster={name}(...))"
    else:
        raise UsageError(f"expected an Experiment, got {value!r}")
    raise UsageError(f"expected an Experiment, got {got}; did you mean {meant}?")


def read_format(data: Any) -> Mapping[str, Any]:
    """The same data. Raises UsageError for JSON that is no experiment of a format that can be read."""
    if not isinstance(data, Mapping):
        raise UsageError(f"not an experiment of format {FORMAT}: expected an object, got {data!r}")
    if (found := data.get("format")) != FORMAT:
        raise UsageError(f"experiment format {found!r}: this kafkacheck reads format {FORMAT}")
    return data


def _workload(data: Any) -> Workload:
    try:
        return stored.from_json(data)
    except ValueError as error:
        raise UsageError(str(error)) from error


def read_bounds(data: Any) -> Bounds:
    """From the JSON of an experiment. Raises UsageError naming what is wrong."""
    try:
        return Bounds.from_json(data)
    except ValueError as error:
        raise UsageError(f"Experiment.bounds: {error}") from error


def read_requires(data: Any) -> frozenset[str]:
    """From the JSON of an experiment. Raises UsageError naming what is wrong."""
    try:
        return require_promises(data)
    except ValueError as error:
        raise UsageError(f"Experiment.requires: {error}") from error
