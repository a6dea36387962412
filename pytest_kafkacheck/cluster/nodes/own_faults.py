"""Faults around a test's own code: one for as long as a block lasts, or a schedule beside the block.

Blocks may be within each other, and beside each other in threads. They share `ClusterFaults`.

They are carried out, proved and healed as in an experiment. What they did is judged where the test records its own
clients (`pytest_kafkacheck.recorder`); otherwise the test's own assertions judge.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from nemesis.cluster import Cluster
from nemesis.cluster_faults import ClusterFaults
from nemesis.event import OPEN, Event
from nemesis.run import Nemesis
from nemesis.schedule import Schedule
from nemesis.tasks import in_thread
from nemesis.topology import Topology
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import InfrastructureError, UsageError

LONGEST = 3600.0
"""Seconds for a fault that names no duration. Nothing stays frozen for longer, even if this process is gone."""

Row = Mapping[str, Any]


class RunningCluster(Cluster, Protocol):
    """require_faults  raises CapabilityError for faults, by name, that the host cannot do.
    refuse          raises UsageError for events that the cluster does not permit, whatever the host can do.
    fault_rows      called for each schedule; returns a function that takes its rows.
    """

    require_faults: Callable[[Collection[str]], None]
    fault_rows: Callable[[], Callable[[Row], None]]

    def refuse(self, events: Iterable[Event]) -> None: ...

    @property
    def run(self) -> str: ...

    @property
    def spec(self) -> ClusterSpec: ...

    @property
    def zookeepers(self) -> Mapping[int, object]: ...


class Beside:
    """A schedule that is carried out beside a test.

    rows  what was done so far, as in the table ``operations`` of a history: one for each injection and each heal.
    """

    def __init__(self, schedule: Schedule, cluster: RunningCluster, seed: int, faults: ClusterFaults) -> None:
        self.rows: list[Row] = []
        self._recorded = threading.Event()
        self._take = cluster.fault_rows()
        self._stop = threading.Event()
        self._nemesis = Nemesis(schedule, cluster, topic="", seed=seed, record=self._record, faults=faults)
        self._task = in_thread(partial(self._nemesis.run, self._stop), "kafkacheck-own-faults")

    def _record(self, row: Row) -> None:
        self.rows.append(row)
        self._take(row)
        self._recorded.set()

    def first(self) -> Row:
        """The first row, as soon as there is one. Passes on what the nemesis raised instead."""
        while not self._recorded.wait(0.1):
            if self._task.done():
                self._task.result()
        return self.rows[0]

    def effective(self) -> dict[str, bool]:
        """Whether the injection of each event took effect, by event id, for those that have begun.

        Where the heal was due before the injection's proof had ended, what the heal found can still show the effect.
        """
        values = [row["value"] for row in self.rows]
        found = {value["event"]: value["effective"] for value in values if value["stage"] == "inject"}
        return found | {value["event"]: True for value in values if value.get("had_effect")}

    def finish(self) -> None:
        """Heal what is at work, and inject nothing more. The end of the block does this, too."""
        self._nemesis.finish()

    def stop(self) -> None:
        """Heal at once, without waiting for proofs."""
        self._stop.set()

    def join(self) -> None:
        """Return when everything is healed. Passes on what the nemesis raised."""
        self._task.result()


class InjectedFault:
    """A fault that is at work.

    nodes     ids of the nodes that it hit.
    evidence  what proved it.
    """

    def __init__(self, row: Row, running: Beside) -> None:
        self.nodes: tuple[int, ...] = tuple(row["value"]["nodes"])
        self.evidence: Mapping[str, Any] = row["value"]["evidence"]
        self._running = running

    def wait_healed(self) -> None:
        """Return when its time is over and it has been healed. Without `lasting`, that takes an hour."""
        self._running.join()


@contextmanager
def beside(cluster: RunningCluster, events: Iterable[Event], *, seed: int) -> Iterator[Beside]:
    """See `KafkaCluster.nemesis`."""
    with _carried_out(cluster, events, seed) as running:
        yield running


@contextmanager
def around(cluster: RunningCluster, event: Event) -> Iterator[InjectedFault]:
    """See `KafkaCluster.fault`."""
    if not isinstance(event, Event):
        raise UsageError(f"expected one event such as isolate('leader:orders-0'), got {event!r}")
    if event.at or event.after is not None:
        raise UsageError(
            "a fault around a block begins with it: leave out at and after, or use nemesis([...])"
        )
    timed = replace(event, lasting=LONGEST) if event.lasting == OPEN else event
    with _carried_out(cluster, [timed], seed=0) as running:
        row = running.first()
        if not row["value"]["effective"]:
            raise InfrastructureError(f"{_described(row)} did not take effect: {_reason(row)}")
        yield InjectedFault(row, running)


_at_work: dict[str, ClusterFaults] = {}
"""By cluster's run, for those on which this process carries out schedules."""

_beginning = threading.Lock()
"""Lock: from the check of what is at work until the new schedule has joined, no other one may begin."""


def require_none(cluster: RunningCluster) -> None:
    """Raises UsageError where a test's own faults are at work.

    An experiment heals all faults of the cluster at its end.
    """
    faults = _at_work.get(cluster.run)
    if faults is not None and (ahead := faults.ahead(time.monotonic())):
        raise UsageError(
            f"an experiment cannot begin within the block of a fault ({', '.join(each.id for each in ahead)}): at "
            f"its end it heals all faults of the cluster; give the experiment that fault, Experiment(faults=[...]), "
            f"or end the block before"
        )


@contextmanager
def _carried_out(cluster: RunningCluster, events: Iterable[Event], seed: int) -> Iterator[Beside]:
    """Raises InfrastructureError at the end when a heal was not proved, unless the block itself raised; and as
    `_schedule` does."""
    with _beginning:
        faults = _at_work.setdefault(cluster.run, ClusterFaults(cluster.nodes))
        try:
            running = Beside(_schedule(cluster, events, faults), cluster, seed, faults)
        except BaseException:
            _forget_idle(cluster.run)
            raise
    try:
        yield running
    except (KeyboardInterrupt, SystemExit):
        running.stop()
        raise
    finally:
        running.finish()
        try:
            running.join()
        finally:
            with _beginning:
                _forget_idle(cluster.run)
    heals = [row for row in running.rows if row["value"]["stage"] == "heal"]
    if unproved := [row for row in heals if not row["value"]["effective"]]:
        raise InfrastructureError(
            "; ".join(f"{_described(row)} was not verified as healed: {_reason(row)}" for row in unproved)
        )


def _forget_idle(run: str) -> None:
    """Drop the faults of a cluster without schedules: its nodes may change until the next one begins.

    The caller holds `_beginning`.
    """
    if run in _at_work and _at_work[run].is_idle:
        del _at_work[run]


def _schedule(cluster: RunningCluster, events: Iterable[Event], faults: ClusterFaults) -> Schedule:
    """Raises UsageError for events that can never be carried out there, or not beside these faults; CapabilityError
    for those that this host cannot do."""
    at_work = faults.ahead(time.monotonic())
    try:
        schedule = Schedule.of(events, taken=(event.id for event in at_work))
        cluster.refuse(schedule.events)
        schedule.check(_topology(cluster), beside=at_work)
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from error
    cluster.require_faults({event.fault.name for event in schedule.events})
    return schedule


def _topology(cluster: RunningCluster) -> Topology:
    spec, brokers = cluster.spec, tuple(sorted(cluster.brokers))
    return Topology(
        brokers=brokers,
        controllers=tuple(sorted(cluster.controllers)),
        zookeepers=tuple(sorted(cluster.zookeepers)),
        any_topic=True,
        replicas=len(brokers),
        release=spec.release.number,
        disks=spec.disk_mb is not None,
    )


def _described(row: Row) -> str:
    value = row["value"]
    nodes = ", ".join(map(str, value["nodes"])) or "none"
    return f"the fault {row['f']} {value['target']} (nodes {nodes})"


def _reason(row: Row) -> str:
    return row["error"] or str(dict(row["value"]["evidence"]))
