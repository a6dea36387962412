"""What a workload is: one class, in one file, that says everything the others need to know about it.

Those who ask: the execution of an experiment (topics, workers, when load has begun, what stops first), the nemesis
(main topic, roles), the judgement (allowed anomalies), replay (layout) and shrink (smaller workloads). None of them
knows a particular workload. ``workloads/append_log.py`` is the built-in one; ``examples/test_echo.py`` has one that
lives in a test file. The form follows Maelstrom's workloads, each of which is one file that returns a map of all
that a test needs.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from workloads.clients.library import versioned
from workloads.declaration import Declaration
from workloads.reference import Reference

if TYPE_CHECKING:
    # Workloads are named in tests that are only collected: kafka-python and pyarrow load when a worker starts.
    from workloads.roles.context import WorkerContext

Layout = Mapping[int, Sequence[int]]
"""Partition to the node ids of its replicas, the preferred leader first."""

DEFAULT_LIBRARY = "kafka-python"


@dataclass(frozen=True, kw_only=True)
class Topic:
    """A topic to be created for one run.

    config      settings as Kafka spells them.
    assignment  where its replicas lie; None: Kafka decides. Partitions may be text, as they are in JSON.
    """

    name: str
    partitions: int
    replication_factor: int
    config: Mapping[str, str] = field(default_factory=dict)
    assignment: Layout | None = None

    def __post_init__(self) -> None:
        if self.assignment is not None:
            try:
                nodes = {int(partition): tuple(nodes) for partition, nodes in self.assignment.items()}
            except (AttributeError, TypeError, ValueError):
                raise ValueError(
                    f"Topic.assignment={self.assignment!r}: expected ids of brokers by partition, such as "
                    f"{{0: [1, 2, 3]}}, or None"
                ) from None
            object.__setattr__(self, "assignment", nodes)


@dataclass(frozen=True)
class WorkerRole:
    """What a worker process does.

    name      in the history, in messages, and in targets of faults.
    function  called in the worker process with its `WorkerContext`; returns after ``context.stop`` is set. A function
              at the top level of a file, or a text such as "workloads.roles.reader:read", which defers its import.
    observes  faults of clients spare it: it watches the cluster and is no client of it, or it begins once the load
              has stopped, when no fault goes on.
    reads_own   it reads what it has written: the verdict reports how long after the acknowledgement.
    poll_limit  seconds within which it gets records that it can read, however long its connections were cut before.
              State it only for a role that polls all of its logs until it is stopped: if it stops earlier, although
              others go on, the verdict reports it as a stalled-reader.
    """

    name: str
    function: Callable[[WorkerContext], None] | str
    observes: bool = False
    reads_own: bool = False
    poll_limit: float | None = None

    @property
    def reference(self) -> Reference:
        """From which the worker process loads the function. Raises ValueError when it cannot."""
        return (
            Reference.parse(self.function) if isinstance(self.function, str) else Reference.to(self.function)
        )


PRODUCER = WorkerRole("producer", "workloads.roles.producer:produce")
"""Sends unique values to every partition of every topic in turn."""

PROBE = WorkerRole("probe", "workloads.roles.probe:probe", observes=True)
"""Asks the brokers for their state. A workload without it gives no observations to judge."""


@dataclass(frozen=True, kw_only=True)
class WorkerSpec:
    """A worker process.

    process  its number in the run.
    session  groups processes that act for one user; None: the process stands for itself.
    library  name of the client library, see `workloads.clients.library`.
    options  what its role asks for; JSON-able.
    group    the consumer group of which it is a member, by its short name (`Workload.aliases`); targets such as
             ``member:orders`` mean such processes.
    instance  of an application of the user, its number; a process that replaces it has the same one. None for others.
    """

    role: WorkerRole
    process: int
    session: int | None = None
    library: str = DEFAULT_LIBRARY
    options: Mapping[str, Any] = field(default_factory=dict)
    group: str | None = None
    instance: int | None = None


class Workload(Protocol):
    """What clients do in an experiment.

    A class that inherits from this one has to define `topics` and `workers`; a frozen dataclass then has the rest by
    default. A class that does not inherit defines all of it. It is checked when an Experiment is made.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Watched(Workload):
    ...     partitions: int = 1
    ...
    ...     def topics(self, run: str) -> tuple[Topic, ...]:
    ...         return (Topic(name=f"watched-{run}", partitions=self.partitions, replication_factor=1),)
    ...
    ...     def workers(self) -> tuple[WorkerSpec, ...]:
    ...         reader = WorkerRole("reader", "workloads.roles.reader:read")
    ...         return (WorkerSpec(role=reader, process=0), WorkerSpec(role=PROBE, process=1))
    >>> Watched().main_topic("a1"), Watched().stop_order, Watched(2).to_json()
    ('watched-a1', (('reader',),), {'partitions': 2})
    """

    declaration: ClassVar[Declaration] = Declaration()
    """What it says about itself: what judges it, what it needs of brokers, and which anomalies it allows, and why.
    Only the defaults of `least_release` and `allowed` read it. Default: it needs nothing, and allows nothing."""

    @abstractmethod
    def topics(self, run: str) -> tuple[Topic, ...]:
        """The topics of a run, at least one; their names contain `run`, which is unique. Schedules name a topic
        without it: ``leader:orders-0`` means partition 0 of ``f"orders-{run}"``.
        """
        raise NotImplementedError

    @abstractmethod
    def workers(self) -> tuple[WorkerSpec, ...]:
        """The worker processes, numbered from 0 without gaps."""
        raise NotImplementedError

    def main_topic(self, run: str) -> str:
        """The topic that targets such as ``leader`` mean. Default: the first."""
        return self.topics(run)[0].name

    def topics_of_others(self, run: str) -> frozenset[str]:  # noqa: ARG002 - there are none by default
        """Those of its topics to which programs write that are not its workers: final reads, which expect records of
        workers, leave them out. Default: none.
        """
        return frozenset()

    def aliases(self, run: str) -> Mapping[str, str]:  # noqa: ARG002 - there are none by default
        """Short names of groups and transactional ids, to which schedules refer, with their names in a run, which
        contain `run`: with ``{"orders": f"orders-{run}"}``, ``kill("coordinator:orders")`` means that group.
        Default: none.
        """
        return {}

    @property
    def least_release(self) -> tuple[int, int]:
        """The first release of Kafka that has all that it uses, such as (4, 0); (0, 0) for any. Default: what its
        declaration needs."""
        return self.declaration.least_release(self)

    @property
    def load_counter(self) -> str:
        """The load has begun, and faults may begin, when the workers' sum of this counter is above 0. Roles count in
        ``context.counts``; those that send count ``sends`` and ``acks``. Default: "acks".
        """
        return "acks"

    @property
    def stop_order(self) -> tuple[tuple[str, ...], ...]:
        """Names of roles, in stages that stop one after another. Everything that writes must be in a stage: after the
        last one the ends of the logs are taken for the final reads. Roles in no stage stop after that. Default: all
        roles that do not observe, in one stage.
        """
        return (tuple(dict.fromkeys(each.role.name for each in self.workers() if not each.role.observes)),)

    @property
    def stop_limit(self) -> float:
        """Seconds for the workers of a stage to end. Default: 20."""
        return 20.0

    @property
    def acknowledges(self) -> bool:
        """Whether sends are acknowledged; without, bounds of availability say nothing. Default: True."""
        return True

    @property
    def has_groups(self) -> bool:
        """Whether consumers form groups; without, bounds about owners of partitions say nothing. Default: False."""
        return False

    @property
    def reads_from_followers(self) -> bool:
        """Whether clients read from followers in their rack (KIP-392): the brokers then need racks and a
        replica.selector.class that knows them, which is checked before the load begins. Default: False."""
        return False

    @property
    def allowed(self) -> frozenset[str]:
        """Names of anomalies that this configuration does not promise to prevent. Default: those declared."""
        return self.declaration.allowed(self)

    @property
    def requires(self) -> frozenset[str]:
        """Names of the promises (docs/anomalies.md) that every run has to exercise, unless its experiment names
        others; a run that did not is unknown. Default: acknowledgements after the faults, if sends are acknowledged.
        """
        return frozenset({"acks-after-faults"} if self.acknowledges else ())

    @property
    def library(self) -> str:
        """Name of the client library of the final reads. Default: "kafka-python"."""
        return DEFAULT_LIBRARY

    def with_layout(self, layout: Layout | None) -> Self:  # noqa: ARG002 - not possible by default
        """The same workload with the main topic's replicas on these nodes; None: Kafka decides. Replay needs it to
        use the nodes of an earlier run. Raises ValueError where that is not possible, which is the default.
        """
        raise ValueError(f"{type(self).__name__} does not define with_layout")

    def smaller(self) -> Iterator[tuple[str, Self]]:
        """Smaller workloads with what was left out, the smallest first, for shrink to try. Default: none. It may
        raise ValueError at any time, which ends it."""
        return iter(())

    def to_json(self) -> dict[str, Any]:
        """JSON-able values that `from_json` takes back. Default: the fields of a dataclass."""
        return dataclasses.asdict(self)  # type: ignore[call-overload,no-any-return]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Raises TypeError for unknown names, ValueError for values that are not allowed."""
        return cls(**data)


def client_library(workload: Workload) -> str:
    """The name of its client library with the release in it, as workers get it: "java-3.7.2". Raises ValueError."""
    return versioned(workload.library, getattr(workload, "client_version", None))


def libraries_of(workload: Workload) -> frozenset[str]:
    """The names of all client libraries of a run, those of the final reads included."""
    return frozenset({client_library(workload), *(worker.library for worker in workload.workers())})


PLACEHOLDER = "0run0"
"""A run to look at topics before there is one. No other part of a topic's name looks like it."""

SEPARATORS = "-._"


def short_topics(workload: Workload, run: str) -> Mapping[str, str]:
    """The names of the topics of a run by their short names, the main topic first: "orders-7b29cd07" by "orders".

    Raises ValueError for two topics with the same short name.
    """
    main = workload.main_topic(run)
    templates = [topic.name for topic in workload.topics(PLACEHOLDER)]
    names = [topic.name for topic in workload.topics(run)]
    pairs = [(_without_run(template), name) for template, name in zip(templates, names, strict=True)]
    shorts = dict(sorted(pairs, key=lambda pair: pair[1] != main))
    if len(shorts) < len(names):
        raise ValueError(
            f"{type(workload).__name__}.topics gave {', '.join(names)}: expected names that differ without the run, "
            f"because schedules name topics without it"
        )
    return shorts


def _without_run(name: str) -> str:
    """And without one of the separators beside it; "topic" where nothing is left."""
    before, _, after = name.partition(PLACEHOLDER)
    if before:
        return (before[:-1] if before[-1] in SEPARATORS else before) + after
    return after.lstrip(SEPARATORS) or "topic"
