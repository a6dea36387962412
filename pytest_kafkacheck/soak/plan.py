"""What a soak may draw: workloads, their settings, clusters, and faults within a budget.

``kafkacheck soak --preset`` knows some plans by name, and its options narrow a plan: other faults, another client
library, other releases of Kafka.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nemesis.budget import Budget
from nemesis.generate import MOST, Generated
from nemesis.registry import FAULTS, faults_that_need
from nemesis.validation import count, near_or_all
from pytest_kafkacheck.cluster.spec.release import NEWEST
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.experiment import Experiment
from workloads import stored
from workloads.admin import Admin
from workloads.append_log import AppendLog
from workloads.bank import Bank
from workloads.clients.java.program import check_installed
from workloads.clients.java.releases import DEFAULT_RELEASE, JAVA, is_java
from workloads.clients.library import check_library, library_names
from workloads.compacted import Compacted
from workloads.copying import Copy
from workloads.groups import Groups
from workloads.queue import Queue
from workloads.rewind import Rewind
from workloads.sessions import Sessions
from workloads.transactions import Transactions
from workloads.workload import Workload


@dataclass(frozen=True, kw_only=True)
class Soak:
    """What the rounds of a soak are drawn from. ``kafkacheck soak FILE`` takes it from a Python file.

    workloads  take turns, on each cluster those that its release supports.
    vary       field of a workload to the values that are drawn for it, such as {"rate": [200, 2000],
               "client": [{"linger_ms": 0}, {"linger_ms": 50}]}. A workload without that field is left as it is, and
               values that exclude each other are drawn again.
    clusters   are drawn, each for several rounds in succession, see `draw.cluster_of`.
    faults     fault to relative frequency; None for the default weights that the faults declare.
    skip_impossible  leave out the faults that the host cannot carry out, in place of refusing the soak.
    clients    whether faults also hit what belongs to the workload, see `Generated`.
    budget     how much of the cluster faults may break at the same time, see `Budget`.
    events     fewest and most events of a round.
    length     seconds in which all faults of a round begin and end.
    lasting    shortest and longest duration of a fault in seconds. Its effect is proved meanwhile, which takes more
               than 2 s on a busy machine.
    warm_up    seconds of load before the first fault may begin: on a busy machine, members take some to join a group.
    cooldown   seconds of load after the cluster has recovered. A group waits 6 s for a lost member, and a transaction
               without an answer is given up after 10 s.

    Example::

        soak = Soak(
            workloads=[AppendLog(topic_config={"min.insync.replicas": 2}), Transactions()],
            vary={"rate": [100, 1000]},
            budget=Budget(brokers=1, controllers=1),
        )

    Raises UsageError naming the field, the value and what is allowed.
    """

    workloads: Sequence[Workload]
    vary: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    clusters: Sequence[ClusterSpec] = (ClusterSpec(),)
    faults: Mapping[str, float] | None = None
    skip_impossible: bool = False
    clients: bool = False
    budget: Budget = field(default_factory=lambda: Budget(brokers="minority", controllers="minority"))
    events: tuple[int, int] = (2, 6)
    length: float = 30.0
    lasting: tuple[float, float] = (3.0, 8.0)
    warm_up: float = 4.0
    cooldown: float = 14.0

    def __post_init__(self) -> None:
        for name in ("workloads", "clusters"):
            values = getattr(self, name)
            if isinstance(values, str) or not isinstance(values, Sequence) or not values:
                raise UsageError(f"Soak.{name}={values!r}: expected a list with one or more")
        self._check_budget()
        self._check_vary()
        if not isinstance(self.events, Sequence) or len(self.events) != 2 or self.events[0] > self.events[1]:
            raise UsageError(f"Soak.events={self.events!r}: expected two numbers, the smaller one first")
        try:
            for number in self.events:
                count("Soak.events", number, most=MOST)
            self.generated(seed=0, events=self.events[1])
        except ValueError as error:
            raise UsageError(str(error).replace("Generated.weights", "Soak.faults")) from error
        for cluster in self.clusters:
            if not self.workloads_of(cluster):
                # The last one raises the reason.
                self._experiment(self.workloads[-1], cluster)

    def generated(self, *, seed: int, events: int) -> Generated:
        """A schedule of this plan."""
        return Generated(
            seed=seed,
            length=self.length,
            events=events,
            weights=self.faults,
            lasting=self.lasting,
            budget=self.budget,
            clients=self.clients,
        )

    def workloads_of(self, cluster: ClusterSpec) -> list[Workload]:
        """Those that the cluster can serve."""
        return [each for each in self.workloads if self._is_possible(each, cluster)]

    def to_json(self) -> dict[str, Any]:
        return {
            "workloads": [stored.to_json(each) for each in self.workloads],
            "vary": {name: list(values) for name, values in self.vary.items()},
            "clusters": [each.to_json() for each in self.clusters],
            "faults": None if self.faults is None else dict(self.faults),
            "skip_impossible": self.skip_impossible,
            "clients": self.clients,
            "budget": self.budget.to_json(),
            "events": list(self.events),
            "length": self.length,
            "lasting": list(self.lasting),
            "warm_up": self.warm_up,
            "cooldown": self.cooldown,
        }

    @property
    def digest(self) -> str:
        """A hash that is equal for equal plans in every process."""
        text = json.dumps(self.to_json(), sort_keys=True, default=repr)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _check_budget(self) -> None:
        if not isinstance(self.budget, Budget):
            raise UsageError(f"Soak.budget={self.budget!r}: expected a Budget")
        if self.budget.brokers is None:
            raise UsageError(
                "Soak.budget: brokers=None allows faults to take down all brokers at once, so that most rounds would "
                "only show that nothing answers; expected a number, or 'minority'"
            )

    def _check_vary(self) -> None:
        if not isinstance(self.vary, Mapping):
            raise UsageError(
                f"Soak.vary={self.vary!r}: expected lists of values by field, as {{'rate': [200, 2000]}}"
            )
        for name, values in self.vary.items():
            if isinstance(values, str) or not isinstance(values, Sequence) or not values:
                raise UsageError(f"Soak.vary[{name!r}]={values!r}: expected a list of values, one or more")
            if not any(name in fields_of(each) for each in self.workloads):
                known = sorted({field for each in self.workloads for field in fields_of(each)})
                raise UsageError(f"Soak.vary: no workload has a field {name!r}{near_or_all(name, known)}")

    def _is_possible(self, workload: Workload, cluster: ClusterSpec) -> bool:
        """Whether the cluster can serve it."""
        try:
            self._experiment(workload, cluster)
        except UsageError:
            return False
        return True

    def _experiment(self, workload: Workload, cluster: ClusterSpec) -> Experiment:
        return Experiment(workload=workload, cluster=cluster)


def fields_of(workload: Workload) -> Iterator[str]:
    """The names of its fields; none where it is no dataclass."""
    if dataclasses.is_dataclass(workload):
        yield from (each.name for each in dataclasses.fields(workload))


def with_faults(plan: Soak, names: Sequence[str]) -> Soak:
    """With these faults only. Those that the plan weighs keep their weight. Raises UsageError for an unknown one."""
    for name in names:
        if name not in FAULTS:
            raise UsageError(f"--faults: no fault {name!r}{near_or_all(name, FAULTS)}")
    weights = plan.faults or {}
    return replace(plan, faults={name: weights.get(name, 1.0) for name in names}, skip_impossible=False)


def without_impossible(plan: Soak, impossible: Collection[str]) -> Soak:
    """Without these faults. Where the host has no file systems for single nodes, its clusters need none.

    Raises UsageError where no fault is left.
    """
    weights = {name: weight for name, weight in (plan.faults or {}).items() if name not in impossible}
    has_disks = not set(faults_that_need("disks")) & set(impossible)
    clusters = plan.clusters if has_disks else [replace(each, disk_mb=None) for each in plan.clusters]
    return replace(plan, faults=weights, clusters=clusters)


def with_client(plan: Soak, library: str, version: str | None = None) -> Soak:
    """With another client library only, and the workloads that can use it. Settings of the producer have its own
    names, so those of the plan are left out. version: of library="java".

    Raises UsageError where no workload is left.
    """
    own = ("client", "client_version", "library")
    vary = {name: values for name, values in plan.vary.items() if name not in own}
    workloads, problem = [], None
    for each in plan.workloads:
        try:
            workloads.append(_with_library(each, library, version))
        except ValueError as error:
            problem = error
    if not workloads:
        raise UsageError(f"--client {library}: {problem}") from problem
    return replace(plan, workloads=workloads, vary=vary)


def with_versions(plan: Soak, versions: Sequence[str]) -> Soak:
    """Each cluster of the plan with each of these releases."""
    return replace(
        plan,
        clusters=[replace(each, version=version) for each in plan.clusters for version in versions],
    )


def _with_library(workload: Workload, library: str, version: str | None) -> Workload:
    wanted: dict[str, Any] = {"library": library, "client_version": version, "client": {}}
    own = set(fields_of(workload))
    return replace(workload, **{name: value for name, value in wanted.items() if name in own})  # type: ignore[type-var]


SAFE = {"min.insync.replicas": 2}

RACK_AWARE = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}
"""Clients read from a follower in their own rack."""

SURVIVED: Mapping[str, float] = {
    "isolate": 3, "kill": 3, "pause": 3, "partition": 2, "stop": 1, "restart": 1, "rolling-restart": 1,
    "upgrade": 0.5, "crash-loop": 1, "cut-clients": 1, "reset": 1, "loss": 1, "delay": 1, "reorder": 1,
    "duplicate": 1, "bandwidth": 1, "dns": 0.5,
    "cpu": 1, "memory": 0.5, "slow-disk": 1, "disk-stall": 1, "disk-full": 0.5,
    "power-loss": 1, "wipe": 0.5, "log-dir-failure": 0.5,
    "leader-storm": 3, "reassign": 2, "add-partitions": 1, "configure": 1, "fence": 2, "rebalance": 2,
    "kill-client": 2, "pause-client": 2, "stop-client": 1, "isolate-client": 1,
}  # fmt: skip
"""Faults that a safe configuration has to survive, one at a time, with their weights."""

LEFT_OUT: Mapping[str, str] = {
    "elect": "it has no effect where the preferred replica leads; leader-storm elects by plan, and always has one",
    "oom": "it ends a broker as kill does",
    "corrupt": "Kafka promises nothing for records that were changed on a disk",
    "clock": "after a clock was ahead, Kafka may wait for as long as it was ahead before it connects again",
    "add-broker": "the cluster that is left would be no other round's",
    "remove-broker": "the cluster that is left would be no other round's",
    "configure-broker": "which settings are safe to change depends on the cluster",
    "delete-controller": "it is only possible in ZooKeeper mode",
    "delete-records": "it removes records that were acknowledged",
    "recreate-topic": "it removes records that were acknowledged",
    **dict.fromkeys(("cpu-app", "isolate-app", "memory-app"), "it is for applications of users"),
}
"""All others, with the reason."""

VARY: Mapping[str, tuple[Any, ...]] = {
    "partitions": (1, 3, 6),
    "record_size": (0, 1000, {0: 1999, 900_000: 1}),
    "topic_config": (SAFE, {**SAFE, "segment.ms": 2000}),
    "assignor": ("range", "roundrobin", "sticky", "cooperative-sticky"),
    "protocol": ("classic", "consumer"),
    "static": (False, True),
    "commit": ("after-poll", "periodic", "during-rebalance", "auto"),
    "rejoin": (None, 6.0),
    "rivals": (0, 1),
    "stalls": (0.0, 0.05),
    "read_from": ("leader", "follower"),
    "client": ({}, {"linger_ms": 20}),
}
"""Values that exclude each other, or that a library or a cluster does not have, are drawn again."""


def _libraries() -> tuple[str, ...]:
    """The client libraries that this machine has."""
    return tuple(filter(_is_installed, library_names()))


def _is_installed(library: str) -> bool:
    try:
        check_library(library)
        if is_java(library):
            check_installed(DEFAULT_RELEASE)
    except ValueError:
        return False
    return True


@dataclass(frozen=True, kw_only=True)
class Preset:
    """does: for people. plan: makes it."""

    does: str
    plan: Callable[[], Soak]


def _safe() -> Soak:
    # Of internal topics, and how soon a topic whose retention is lowered loses its oldest segments.
    config = {"min.insync.replicas": "2", "log.retention.check.interval.ms": "1000"}
    racks = ("a", "b", "c")
    libraries = _libraries()
    queues = [Queue(topic_config=SAFE)] if JAVA in libraries else []
    return Soak(
        workloads=[
            AppendLog(topic_config=SAFE),
            Transactions(topic_config=SAFE),
            Groups(topic_config=SAFE),
            Copy(topic_config=SAFE),
            Bank(topic_config=SAFE),
            Compacted(topic_config=SAFE),
            Admin(topic_config=SAFE),
            Sessions(topic_config=SAFE),
            Rewind(topic_config=SAFE),
            *queues,
        ],
        vary={**VARY, "library": libraries},
        clusters=[
            ClusterSpec(config=config),
            ClusterSpec(version=NEWEST.tested, disk_mb=512, racks=racks, config={**config, **RACK_AWARE}),
        ],
        faults=SURVIVED,
        skip_impossible=True,
        clients=True,
    )


def _unsafe() -> Soak:
    return Soak(
        workloads=[AppendLog(acks=1, rate=300, topic_config={"min.insync.replicas": 1})],
        vary={"partitions": (1, 3)},
        # Short rounds, because shrinking repeats a round some twenty times.
        events=(1, 3),
        length=20,
        lasting=(4, 10),
        cooldown=3,
    )


def _cycle() -> Soak:
    return Soak(
        workloads=[AppendLog(topic_config=SAFE), Groups(topic_config=SAFE), Transactions(topic_config=SAFE)],
        faults={"restart": 3, "rolling-restart": 1, "kill": 1, "stop": 1},
        events=(3, 5),
        length=45,
    )


PRESETS: Mapping[str, Preset] = {
    "safe": Preset(
        does="all workloads with settings that keep every promise, and all faults that these survive",
        plan=_safe,
    ),
    "unsafe": Preset(does="acks=1 with min.insync.replicas=1, which loses acknowledged writes", plan=_unsafe),
    "cycle": Preset(does="brokers that are restarted again and again, for authors of clients", plan=_cycle),
}
