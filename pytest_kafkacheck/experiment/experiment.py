"""An experiment: which cluster, which workload, which faults, how long, and what is expected."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from analyzers.checks.bounds import NONE, Bounds
from nemesis.budget import Budget
from nemesis.faults import Configure, ConfigureBroker
from nemesis.generate import Generated, generate
from nemesis.schedule import Event, Schedule
from nemesis.topology import Topology
from nemesis.validation import seconds
from pytest_kafkacheck.cluster.spec.settings import check_settings
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import UsageError
from workloads.append_log import AppendLog

FORMAT = 1

WORKLOADS = {"AppendLog": AppendLog}

Expectation = Literal["valid", "invalid", "unknown"]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """The unit that is run, stored and run again. Checked as a whole when made; nothing starts before.

    workload        what clients do.
    faults          events such as ``isolate("leader", at=3, lasting=8)``; times are seconds after the first
                    acknowledged write. Or `Generated`, which is turned into events.
    budget          how much of the cluster they may break at once; None for no limit.
    cluster         which cluster it needs; equal specs share one in a session.
    duration        seconds of load when there are no faults; with faults, load goes on through all of them.
    cooldown        seconds of load after the cluster has recovered.
    recovery_limit  seconds after the last heal until the brokers must agree again.
    seed            of every random choice the schedule makes.
    bounds          how long clients may be kept waiting; none by default. What takes longer makes the run invalid.
    live_checks     judge while it runs as well, and say at once what is found; the verdict is the same without.
    expect          the verdict wanted when run by the command line.
    name            for people.
    """

    workload: AppendLog
    faults: Sequence[Event] | Generated = ()
    budget: Budget | None = None
    cluster: ClusterSpec = field(default_factory=ClusterSpec)
    duration: float = 8.0
    cooldown: float = 3.0
    recovery_limit: float = 60.0
    seed: int = 0
    bounds: Bounds = NONE
    live_checks: bool = False
    expect: Expectation = "valid"
    name: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.workload, tuple(WORKLOADS.values())):
            raise UsageError(f"Experiment.workload={self.workload!r}: expected one of {', '.join(WORKLOADS)}")
        if not isinstance(self.cluster, ClusterSpec):
            raise UsageError(f"Experiment.cluster={self.cluster!r}: expected a ClusterSpec")
        for name in ("duration", "cooldown", "recovery_limit"):
            try:
                seconds(f"Experiment.{name}", getattr(self, name))
            except ValueError as error:
                raise UsageError(str(error)) from error
        if isinstance(self.seed, bool) or not isinstance(self.seed, int):
            raise UsageError(f"Experiment.seed={self.seed!r}: expected a whole number")
        self._check_bounds()
        if not isinstance(self.live_checks, bool):
            raise UsageError(f"Experiment.live_checks={self.live_checks!r}: expected True or False")
        if not isinstance(self.name, str):
            raise UsageError(f"Experiment.name={self.name!r}: expected text")
        if self.expect not in ("valid", "invalid", "unknown"):
            raise UsageError(f"Experiment.expect={self.expect!r}: expected 'valid', 'invalid' or 'unknown'")
        if isinstance(self.faults, Event):
            raise UsageError(
                "Experiment.faults: expected a list of events, got a single one; write faults=[...]"
            )
        if isinstance(self.faults, (str, bytes, Mapping)) or not isinstance(
            self.faults, (Iterable, Generated)
        ):
            raise UsageError(
                f"Experiment.faults={self.faults!r}: expected a list of events such as isolate('leader', at=3, "
                f"lasting=8), or Generated(...)"
            )
        if self.budget is not None and not isinstance(self.budget, Budget):
            raise UsageError(f"Experiment.budget={self.budget!r}: expected a Budget, or None")
        self._check_topics()
        try:
            faults = self.faults
            schedule = (
                generate(faults, self.topology) if isinstance(faults, Generated) else Schedule.of(faults)
            )
            schedule.check(self.topology)
            if self.budget is not None:
                self.budget.check(schedule, self.topology)
        except (TypeError, ValueError) as error:
            raise UsageError(f"Experiment.faults: {error}") from error
        self._check_settings(schedule)
        object.__setattr__(self, "faults", schedule.events)

    @property
    def schedule(self) -> Schedule:
        assert not isinstance(self.faults, Generated)
        return Schedule.of(self.faults)

    @property
    def topology(self) -> Topology:
        """What its faults can be checked against before anything starts."""
        cluster, topics = self.cluster, self.workload.topics("check")
        return Topology(
            brokers=tuple(member.id for member in cluster.members if member.is_broker),
            controllers=tuple(member.id for member in cluster.voters),
            zookeepers=tuple(member.id for member in cluster.members if member.role == "zookeeper"),
            topics={topic.name: topic.partitions for topic in topics},
            replicas=min((topic.replication_factor for topic in topics), default=1),
            clients=Counter(worker.role for worker in self.workload.workers("check")),
            release=cluster.release.number,
            disks=cluster.disk_mb is not None,
        )

    def _check_bounds(self) -> None:
        """A bound that says nothing about this workload would be kept, or broken, by every run of it."""
        if not isinstance(self.bounds, Bounds):
            raise UsageError(
                f"Experiment.bounds={self.bounds!r}: expected Bounds, such as Bounds(unavailable=10)"
            )
        if self.bounds.orphaned is not None:
            raise UsageError(
                f"Experiment.bounds: orphaned={self.bounds.orphaned!r} is about partitions of groups, and "
                f"{type(self.workload).__name__} has none; leave it out"
            )
        for name in ("unavailable", "recovery"):
            if self.workload.acks == 0 and (value := getattr(self.bounds, name)) is not None:
                raise UsageError(
                    f"Experiment.bounds: {name}={value!r} is about acknowledgements, and with acks=0 of the workload "
                    f"there are none; leave it out, or ask for acks"
                )

    def _check_topics(self) -> None:
        brokers = {member.id for member in self.cluster.members if member.is_broker}
        for topic in self.workload.topics("check"):
            if topic.replication_factor > self.cluster.brokers:
                raise UsageError(
                    f"replication_factor={topic.replication_factor} of the workload is above "
                    f"ClusterSpec.brokers={self.cluster.brokers}; allowed: 1 to {self.cluster.brokers}"
                )
            strangers = {node for nodes in (topic.assignment or {}).values() for node in nodes} - brokers
            if strangers:
                raise UsageError(
                    f"{type(self.workload).__name__}.assignment: the cluster has no broker "
                    f"{', '.join(map(str, sorted(strangers)))}; allowed: {', '.join(map(str, sorted(brokers)))}"
                )
            where = f"{type(self.workload).__name__}.topic_config"
            config = {str(key): str(value) for key, value in topic.config.items()}
            check_settings(config, kind="topic", where=where, version=self.cluster.version)
            minimum = config.get("min.insync.replicas", self.cluster.config.get("min.insync.replicas", "1"))
            if int(minimum) > topic.replication_factor:
                raise UsageError(
                    f"min.insync.replicas={minimum} is above replication_factor={topic.replication_factor}: no "
                    f"acks=all write could ever be accepted; allowed: 1 to {topic.replication_factor}"
                )

    def _check_settings(self, schedule: Schedule) -> None:
        """Of faults that configure; Kafka takes names that it does not know."""
        for event in schedule.events:
            if isinstance(event.fault, (Configure, ConfigureBroker)):
                topic = isinstance(event.fault, Configure)
                check_settings(
                    {name: str(value) for name, value in event.fault.settings.items()},
                    kind="topic" if topic else "broker",
                    where=f"Experiment.faults: event {event.id!r}: {event.fault.name} settings",
                    version=self.cluster.version,
                    dynamic=not topic,
                )

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "name": self.name,
            "workload": {"type": type(self.workload).__name__, **self.workload.to_json()},
            "faults": self.schedule.to_json(),
            **({"budget": self.budget.to_json()} if self.budget else {}),
            "cluster": self.cluster.to_json(),
            "duration": self.duration,
            "cooldown": self.cooldown,
            "recovery_limit": self.recovery_limit,
            "seed": self.seed,
            **({"bounds": self.bounds.to_json()} if self.bounds != NONE else {}),
            **({"live_checks": True} if self.live_checks else {}),
            "expect": self.expect,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Experiment:
        if not isinstance(data, Mapping):
            raise UsageError(f"not an experiment of format {FORMAT}: expected an object, got {data!r}")
        rest = dict(data)
        if (found := rest.pop("format", None)) != FORMAT:
            raise UsageError(f"experiment format {found!r}: this kafkacheck reads format {FORMAT}")
        try:
            workload = dict(rest.pop("workload"))
            if (kind := workload.pop("type")) not in (*WORKLOADS,):
                raise UsageError(f"workload type {kind!r}: expected one of {', '.join(WORKLOADS)}")
            if rest.get("budget") is not None:
                rest["budget"] = Budget.from_json(rest["budget"])
            if "bounds" in rest:
                rest["bounds"] = _bounds(rest["bounds"])
            return cls(
                workload=WORKLOADS[kind].from_json(workload),
                faults=Schedule.from_json(rest.pop("faults")).events,
                cluster=ClusterSpec.from_json(rest.pop("cluster")),
                **rest,
            )
        except (KeyError, TypeError) as error:
            raise UsageError(f"not an experiment of format {FORMAT}: {error!r}") from error

    @classmethod
    def read(cls, path: Path) -> Experiment:
        """From a file that `to_json` was written to. Raises UsageError naming the file."""
        try:
            text = path.read_text()
        except (OSError, ValueError) as error:
            raise UsageError(f"{path}: {error}") from error
        return cls.parse(text, str(path))

    @classmethod
    def parse(cls, text: str, file: str) -> Experiment:
        """Of the text of such a file. Raises UsageError naming the file."""
        try:
            return cls.from_json(json.loads(text))
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{file}: {error}") from error


def _bounds(data: Any) -> Bounds:
    try:
        return Bounds.from_json(data)
    except ValueError as error:
        raise UsageError(f"Experiment.bounds: {error}") from error
