"""Checks of an experiment's values against each other, before anything starts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal, Protocol, get_args

from analyzers.catalogue.bounds import Bounds
from analyzers.verdict.promises import PROMISES, require_promises
from nemesis.budget import Budget
from nemesis.event import Event
from nemesis.generate import Generated
from nemesis.schedule import Schedule
from nemesis.validation import did_you_mean, seconds
from pytest_kafkacheck.cluster.spec.settings import RACK_AWARE, SELECTOR, check_settings
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import UsageError
from workloads.conformance import check_workload
from workloads.workload import Workload

DURATION = 8.0
"""Seconds of load without faults, by default."""

Expectation = Literal["valid", "invalid", "unknown"]


class Values(Protocol):
    """The fields of an `Experiment`. They are not yet known to have these types when they are checked."""

    @property
    def workload(self) -> Workload: ...
    @property
    def faults(self) -> Any: ...
    @property
    def budget(self) -> Budget | None: ...
    @property
    def cluster(self) -> ClusterSpec: ...
    @property
    def duration(self) -> float: ...
    @property
    def seed(self) -> int: ...
    @property
    def bounds(self) -> Bounds: ...
    @property
    def requires(self) -> Any: ...
    @property
    def live_checks(self) -> bool: ...
    @property
    def name(self) -> str: ...
    @property
    def expect(self) -> Expectation: ...


def check_values(experiment: Values) -> None:
    """All but the schedule. Raises UsageError naming the field, the value and what is allowed."""
    if isinstance(experiment.workload, type):
        name = experiment.workload.__name__
        raise UsageError(f"Experiment.workload={name}: is a class, write workload={name}(...)")
    if not hasattr(experiment.workload, "workers"):
        raise UsageError(
            f"Experiment.workload={experiment.workload!r}: expected a workload, such as AppendLog(); "
            f"docs/workloads.md lists them"
        )
    try:
        check_workload(experiment.workload)
    except ValueError as error:
        raise UsageError(f"Experiment.workload={experiment.workload!r}: {error}") from error
    if not isinstance(experiment.cluster, ClusterSpec):
        raise UsageError(f"Experiment.cluster={experiment.cluster!r}: expected a ClusterSpec")
    for name in ("warm_up", "duration", "cooldown", "recovery_limit"):
        try:
            seconds(f"Experiment.{name}", getattr(experiment, name))
        except ValueError as error:
            raise UsageError(str(error)) from error
    if isinstance(experiment.seed, bool) or not isinstance(experiment.seed, int):
        raise UsageError(f"Experiment.seed={experiment.seed!r}: expected a whole number")
    _check_bounds(experiment.bounds, experiment.workload)
    _check_requires(experiment.requires, experiment.workload)
    if not isinstance(experiment.live_checks, bool):
        raise UsageError(f"Experiment.live_checks={experiment.live_checks!r}: expected True or False")
    if not isinstance(experiment.name, str):
        raise UsageError(f"Experiment.name={experiment.name!r}: expected text")
    if experiment.expect not in get_args(Expectation):
        raise UsageError(f"Experiment.expect={experiment.expect!r}: expected 'valid', 'invalid' or 'unknown'")
    _check_faults(experiment.faults)
    if experiment.budget is not None and not isinstance(experiment.budget, Budget):
        raise UsageError(f"Experiment.budget={experiment.budget!r}: expected a Budget, or None")
    check_cluster(experiment.workload, experiment.cluster)


def check_cluster(workload: Workload, cluster: ClusterSpec) -> None:
    """Raises UsageError where the cluster cannot serve the workload."""
    _check_topics(workload, cluster)
    _check_release(workload, cluster)
    _check_racks(workload, cluster)


def unused_duration(experiment: Values) -> str | None:
    """A sentence where somebody stated a duration that has no effect; None otherwise."""
    if not experiment.faults or experiment.duration == DURATION:
        return None
    why = "with faults, the load goes on until the last one has healed"
    return late_fault(experiment) or f"duration={experiment.duration:g} has no effect: {why}"


def late_fault(experiment: Values) -> str | None:
    """A sentence where a fault begins after the end of the run that the duration seems to say; None otherwise."""
    duration, events = experiment.duration, experiment.faults
    late = next((event for event in events if event.after is None and event.at > duration), None)
    if late is None or duration == DURATION:
        return None
    end = max(event.latest + event.lasting for event in events)
    return (
        f"{late.id} begins at {late.at:g} s, after duration={duration:g} s: with faults, the load goes on "
        f"until the last one has healed, at about {end:g} s; leave duration out, or let the fault begin earlier"
    )


def check_settings_of_faults(schedule: Schedule, version: str) -> None:
    """Faults may change settings of topics and brokers, and Kafka accepts names that it does not know."""
    for event in schedule.events:
        if (changed := event.fault.kafka_settings()) is not None:
            kind, settings = changed
            check_settings(
                {name: str(value) for name, value in settings.items()},
                kind=kind,
                where=f"Experiment.faults: event {event.id!r}: {event.fault.name} settings",
                version=version,
                dynamic=kind == "broker",
            )


def _check_faults(faults: Any) -> None:
    if isinstance(faults, Event):
        raise UsageError("Experiment.faults: expected a list of events, got a single one; write faults=[...]")
    if isinstance(faults, (str, bytes, Mapping)) or not isinstance(faults, (Iterable, Generated)):
        raise UsageError(
            f"Experiment.faults={faults!r}: expected a list of events such as isolate('leader', at=3, lasting=8), or "
            f"Generated(...)"
        )


def _check_bounds(bounds: Bounds, workload: Workload) -> None:
    """Every run would keep, or break, a bound on something that the workload does not do."""
    if not isinstance(bounds, Bounds):
        raise UsageError(f"Experiment.bounds={bounds!r}: expected Bounds, such as Bounds(unavailable=10)")
    if bounds.orphaned is not None and not workload.has_groups:
        raise UsageError(
            f"Experiment.bounds: orphaned={bounds.orphaned!r} is about partitions of groups, and "
            f"{type(workload).__name__} has none; leave it out"
        )
    if bounds.standstill is not None and all(each.instance is None for each in workload.workers()):
        raise UsageError(
            f"Experiment.bounds: standstill={bounds.standstill!r} is about an application of yours, and "
            f"{type(workload).__name__} runs none; leave it out"
        )
    for name in ("unavailable", "recovery"):
        if not workload.acknowledges and (value := getattr(bounds, name)) is not None:
            raise UsageError(
                f"Experiment.bounds: {name}={value!r} is about acknowledgements, and {type(workload).__name__} has "
                f"none, as with acks=0; leave it out, or let the workload ask for acknowledgements"
            )


def _check_requires(requires: Any, workload: Workload) -> None:
    for where, names in (
        (f"Experiment.workload: {type(workload).__name__}.requires", workload.requires),
        ("Experiment.requires", requires),
    ):
        try:
            if names is not None:
                require_promises(names)
        except ValueError as error:
            for each in names if isinstance(names, Collection) and not isinstance(names, str) else ():
                if near := did_you_mean(each, PROMISES):
                    raise UsageError(f"{where}: no promise named {each}{near}") from error
            raise UsageError(f"{where}={names!r}: {error}") from error


def _check_topics(workload: Workload, cluster: ClusterSpec) -> None:
    brokers = {member.id for member in cluster.members if member.is_broker}
    for topic in workload.topics("check"):
        if topic.replication_factor > cluster.brokers:
            raise UsageError(
                f"replication_factor={topic.replication_factor} of the workload is above "
                f"ClusterSpec.brokers={cluster.brokers}; allowed: 1 to {cluster.brokers}"
            )
        unknown = {node for nodes in (topic.assignment or {}).values() for node in nodes} - brokers
        if unknown:
            raise UsageError(
                f"{type(workload).__name__}.assignment: the cluster has no broker "
                f"{', '.join(map(str, sorted(unknown)))}; allowed: {', '.join(map(str, sorted(brokers)))}"
            )
        where = f"{type(workload).__name__}.topic_config"
        config = {str(key): str(value) for key, value in topic.config.items()}
        check_settings(config, kind="topic", where=where, version=cluster.version)
        minimum = config.get("min.insync.replicas", cluster.config.get("min.insync.replicas", "1"))
        if int(minimum) > topic.replication_factor:
            raise UsageError(
                f"min.insync.replicas={minimum} is above replication_factor={topic.replication_factor}: no acks=all "
                f"write could ever be accepted; allowed: 1 to {topic.replication_factor}"
            )


def _check_release(workload: Workload, cluster: ClusterSpec) -> None:
    least, release = workload.least_release, cluster.release
    if release.number < least:
        raise UsageError(
            f"{type(workload).__name__} needs Kafka {least[0]}.{least[1]} or later for what it asks for, and "
            f"ClusterSpec.version={cluster.version!r}; choose another version, or other values of the workload"
        )


def _check_racks(workload: Workload, cluster: ClusterSpec) -> None:
    """Of a cluster that kafkacheck starts; `cluster.kafka.follower_reads` asks the brokers of another one."""
    if not workload.reads_from_followers or cluster.attached is not None:
        return
    kind = type(workload).__name__
    if len({member.rack for member in cluster.members if member.is_broker}) < 2:
        raise UsageError(
            f"{kind} reads from followers in another rack than the leader's, and ClusterSpec.racks="
            f"{cluster.racks!r} with {cluster.brokers} brokers gives fewer than 2 racks; state racks=('a', 'b', 'c')"
        )
    if SELECTOR not in cluster.config:
        raise UsageError(
            f"{kind} reads from followers, and ClusterSpec.config has no {SELECTOR}, so clients would read "
            f"from leaders only; state config={{{SELECTOR!r}: {RACK_AWARE!r}}}"
        )
