"""Conducting an experiment on a running cluster: load, faults, recovery, final reads. No judging here."""

from __future__ import annotations

import json
import logging
import os
import platform
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from docker.errors import APIError

from nemesis.run import Nemesis
from pytest_kafkacheck.cluster.docker import lifecycle
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.kafka import metadata_views
from pytest_kafkacheck.cluster.kafka import topics as cluster_topics
from pytest_kafkacheck.errors import InfrastructureError
from pytest_kafkacheck.experiment.clients import WorkerClients
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.recovery import log_ends, wait_agreement
from pytest_kafkacheck.termination import raise_if_interrupted
from workloads.history.schema import HARNESS, NEMESIS, OPERATIONS, VALUE_BITS
from workloads.history.writer import Writer
from workloads.workers.pool import WorkerPool, WorkerPoolError

log = logging.getLogger(__name__)

Say = Callable[[str], None]

STEADY_LIMIT = 30.0
"""Seconds for topics to appear and for the first acknowledged write: both are signs of a working cluster."""

FINAL_LIMIT = 120.0


class Diary:
    """Writes operations that are not a client's into the history, as one process."""

    def __init__(self, history: Path, run: str, process: int) -> None:
        self._writer = Writer(history, "operations", process)
        self._run, self._process, self._count = run, process, 0
        self._lock = threading.Lock()

    def record(self, row: Mapping[str, Any]) -> None:
        """Write one row; keys as in schema.OPERATIONS, `value` as a JSON-able object. On disk when this returns."""
        with self._lock:
            full = {"run": self._run, "process": self._process, "op": -self._count - 1, **row}
            full["op"] += self._process << VALUE_BITS
            full["value"] = json.dumps(full.get("value"), sort_keys=True)
            self._count += 1
            self._writer.append(tuple(full.get(name) for name in OPERATIONS.names))
            self._writer.flush()

    def phase(self, name: str) -> None:
        now = time.monotonic_ns()
        self.record({"f": "phase", "type": "ok", "invoked": now, "completed": now, "value": {"phase": name}})

    def close(self) -> None:
        self._writer.close()


def conduct(
    experiment: Experiment, cluster: DockerCluster, *, run: str, home: Path, say: Say, stop: threading.Event
) -> None:
    """Run the experiment and leave its history in ``<home>/history/segments``.

    run   unique; topics are named after it.
    stop  set from outside to end the load early; everything is healed all the same.
    Raises InfrastructureError when the experiment could not be carried out; what was recorded stays.
    """
    try:
        _conduct(experiment, cluster, run=run, home=home, say=say, stop=stop)
    except WorkerPoolError as error:
        raise InfrastructureError(str(error)) from error


def _conduct(
    experiment: Experiment, cluster: DockerCluster, *, run: str, home: Path, say: Say, stop: threading.Event
) -> None:
    write_environment(home, cluster)
    history = home / "history"
    wanted = experiment.workload.topics(run)
    names = [topic.name for topic in wanted]
    for topic in wanted:
        cluster_topics.create(
            cluster.brokers,
            topic.name,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            assignment=topic.assignment,
            config=topic.config,
        )
    if problem := wait_agreement(cluster, names, limit=STEADY_LIMIT):
        raise InfrastructureError(f"{names} not ready {STEADY_LIMIT:.0f} s after their creation: {problem}")
    write_layout(home, cluster, names[0])
    with ExitStack() as stack:
        lingering: set[int] = set()
        stack.callback(_refresh, cluster, lingering)
        diary = Diary(history, run, HARNESS)
        stack.callback(diary.close)
        crew = stack.enter_context(
            WorkerPool(
                experiment.workload.workers(run),
                run=run,
                home=home,
                brokers=cluster.brokers,
                topics=wanted,
                record=diary.record,
            )
        )
        crew.go()
        # With acks=0 nothing is ever acknowledged; its first send will do.
        begun = crew.sent if experiment.workload.acks == 0 else crew.acknowledged
        _until(lambda: begun() > 0, STEADY_LIMIT, crew, stop)
        diary.phase("steady")
        say(f"load is on: {crew.describe()}")
        _faults(
            experiment, cluster, run=run, history=history, crew=crew, say=say, stop=stop, lingering=lingering
        )
        diary.phase("recovery")
        if problem := wait_agreement(cluster, names, limit=experiment.recovery_limit):
            say(f"not recovered after {experiment.recovery_limit:.0f} s: {problem}")
        else:
            say("recovered: all brokers agree, every ISR is full")
        _until(lambda: False, experiment.cooldown, crew, stop)
        crew.stop("producer", "session")
        diary.phase("final")
        say("reading everything once more with fresh clients")
        ends = log_ends(cluster, names, limit=experiment.recovery_limit)
        crew.stop("reader", "probe")
        crew.final_reads(ends, limit=FINAL_LIMIT)
        diary.phase("end")
    for name in names:
        cluster_topics.delete(cluster.brokers, name)


def _faults(
    experiment: Experiment,
    cluster: DockerCluster,
    *,
    run: str,
    history: Path,
    crew: WorkerPool,
    say: Say,
    stop: threading.Event,
    lingering: set[int],
) -> None:
    """Let the nemesis work through the schedule while clients go on. Everything is healed when this returns.

    lingering  gets the nodes that were struck by what outlives its heal.
    """
    if not experiment.faults:
        _until(lambda: False, experiment.duration, crew, stop)
        return
    diary = Diary(history, run, NEMESIS)

    linger = {event.fault.name for event in experiment.schedule.events if event.fault.lingers}

    def record(row: Mapping[str, Any]) -> None:
        diary.record(row)
        value = row["value"]
        if row["f"] in linger:
            lingering.update(value["nodes"])
        effect = "" if value["effective"] else ", WITHOUT EFFECT"
        struck = f"clients {value['processes']}" if "processes" in value else f"nodes {value['nodes']}"
        say(f"{row['f']} {value['stage']}: {struck} ({value['target']}){effect}")

    nemesis = Nemesis(
        experiment.schedule,
        cluster,
        topic=experiment.workload.topics(run)[0].name,
        seed=experiment.seed,
        record=record,
        clients=WorkerClients(crew),
    )
    halt = threading.Event()
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="kafkacheck-nemesis") as pool:
        working = pool.submit(nemesis.run, halt)
        try:
            _until(working.done, float("inf"), crew, stop)
        finally:
            halt.set()
            wait([working])
            diary.close()
    # A fault without its row would not count: that is worse than a failed run.
    if (error := working.exception()) is not None:
        raise InfrastructureError(f"The nemesis could not write down what it did: {error!r}") from error


def _refresh(cluster: DockerCluster, nodes: set[int]) -> None:
    """Start nodes anew that a fault left with something only a start ends: the cluster may serve others yet."""
    try:
        if nodes:
            lifecycle.rolling_restart(cluster, nodes=sorted(nodes & cluster.nodes.keys()))
    except (InfrastructureError, APIError, OSError) as error:
        log.warning("nodes %s could not be started anew: %s", sorted(nodes), error)


def _until(
    condition: Callable[[], bool],
    limit: float,
    crew: WorkerPool,
    stop: threading.Event,
    interval: float = 0.1,
) -> None:
    """Return when the condition holds, `limit` seconds are over, or `stop` is set.

    Raises InfrastructureError when no client is left to make a history.
    """
    deadline = time.monotonic() + limit
    while not condition() and not stop.is_set() and (left := deadline - time.monotonic()) > 0:
        if not crew.alive():
            raise InfrastructureError(
                f"Every client process ended early: {crew.describe()}; see logs/client-*.log"
            )
        raise_if_interrupted()
        stop.wait(min(interval, left))


def write_environment(home: Path, cluster: DockerCluster) -> None:
    """environment.json: what the figures depend on, and the anchor between the two clocks."""
    from importlib.metadata import version

    facts = {
        "kafkacheck": version("pytest-kafkacheck"),
        "clients": {"kafka-python": version("kafka-python")},
        "python": platform.python_version(),
        "host": {"system": platform.platform(), "processors": os.cpu_count()},
        "cluster": {
            "run": cluster.run,
            # Passwords and keys stay out of what is kept.
            "brokers": {node: [at.host, at.port] for node, at in cluster.brokers.items()},
            "security": sorted({str(at.security or "PLAINTEXT") for at in cluster.brokers.values()}),
        },
        "clock": {"monotonic_ns": time.monotonic_ns(), "unix_ns": time.time_ns()},
    }
    (home / "environment.json").write_text(json.dumps(facts, indent=2) + "\n")


def write_layout(home: Path, cluster: DockerCluster, topic: str) -> None:
    """Add "layout" to environment.json: {partition: [node ids]} of the workload's own topic, preferred leaders first.

    Without it a node id says nothing about a partition when the experiment is run again.
    """
    file = home / "environment.json"
    facts = json.loads(file.read_text())
    told = next(iter(metadata_views.views(cluster.brokers, [topic]).values()), {})
    facts["layout"] = {partition: list(view.replicas) for (_, partition), view in sorted(told.items())}
    unfinished = file.with_name(".environment.unfinished")
    unfinished.write_text(json.dumps(facts, indent=2) + "\n")
    os.replace(unfinished, file)
