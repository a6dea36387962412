"""Executes an experiment on a running cluster: load, faults, recovery, final reads. It does not judge."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from docker.errors import APIError

from nemesis.run import Nemesis
from pytest_kafkacheck.cluster.docker import lifecycle
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.kafka import topics as cluster_topics
from pytest_kafkacheck.cluster.kafka.topic_state import reported
from pytest_kafkacheck.errors import InfrastructureError
from pytest_kafkacheck.experiment.clients import WorkerClients
from pytest_kafkacheck.experiment.environment import write_environment, write_layout
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.operations import OperationLog
from pytest_kafkacheck.experiment.recovery import log_ends, wait_agreement
from pytest_kafkacheck.experiment.run_directory import RunDirectory
from pytest_kafkacheck.termination import raise_if_interrupted
from workloads.history.schema import HARNESS, NEMESIS
from workloads.workers.pool import WorkerPool, WorkerPoolError

log = logging.getLogger(__name__)

Say = Callable[[str], None]

STEADY_LIMIT = 30.0
"""Seconds for topics to appear, and for the load to begin: a cluster that needs longer is not healthy."""

FINAL_LIMIT = 120.0
"""Seconds for the final reads."""


def execute(
    experiment: Experiment, cluster: DockerCluster, *, run: str, home: Path, say: Say, stop: threading.Event
) -> None:
    """Execute the experiment and leave its history in ``<home>/history/segments``.

    run   unique; topics are named after it.
    stop  set from outside to end the load early; everything is healed all the same.
    Raises InfrastructureError when the experiment could not be carried out; what was recorded stays.
    """
    try:
        _Execution(experiment, cluster, run=run, home=home, say=say, stop=stop).run_phases()
    except WorkerPoolError as error:
        raise InfrastructureError(str(error)) from error


class _Execution:
    """One execution. The phases follow one another in `run_phases`."""

    def __init__(
        self,
        experiment: Experiment,
        cluster: DockerCluster,
        *,
        run: str,
        home: Path,
        say: Say,
        stop: threading.Event,
    ) -> None:
        self._experiment, self._cluster = experiment, cluster
        self._run, self._home, self._say, self._stop = run, home, say, stop
        self._topics = experiment.workload.topics(run)
        self._names = [topic.name for topic in self._topics]
        self._main_topic = experiment.workload.main_topic(run)
        self._to_restart: set[int] = set()
        """Nodes on which a fault left something that only a restart ends."""

    def run_phases(self) -> None:
        experiment, workload, cluster = self._experiment, self._experiment.workload, self._cluster
        write_environment(self._home, cluster, workload)
        with ExitStack() as stack:
            operations = OperationLog(RunDirectory(self._home).history, self._run, HARNESS)
            stack.callback(operations.close)
            stack.enter_context(self._report_topics(operations))
            self._create_topics()
            write_layout(self._home, cluster, self._main_topic)
            stack.callback(self._restart_nodes)
            workers = stack.enter_context(
                WorkerPool(
                    workload.workers(),
                    run=self._run,
                    home=self._home,
                    brokers=cluster.brokers,
                    topics=self._topics,
                    record=operations.record,
                    library=workload.library,
                )
            )
            workers.go()
            self._wait_until(lambda: workers.total(workload.load_counter) > 0, STEADY_LIMIT, workers)
            operations.phase("steady")
            self._say(f"load is on: {workers.describe()}")
            self._run_faults(workers)
            operations.phase("recovery")
            limit = experiment.recovery_limit
            if problem := wait_agreement(cluster, self._names, limit=limit):
                self._say(f"not recovered after {limit:.0f} s: {problem}")
            else:
                self._say("recovered: all brokers agree, every ISR is full")
            self._wait_until(lambda: False, experiment.cooldown, workers)
            for roles in workload.stop_order:
                workers.stop(*roles)
            operations.phase("final")
            self._say("reading everything once more with fresh clients")
            ends = log_ends(cluster, self._names, limit=limit)
            workers.stop()
            workers.final_reads(ends, limit=FINAL_LIMIT)
            operations.phase("end")
            for name in self._names:
                with reported(cluster.brokers, name, "deleted", cluster.kafka.report):
                    cluster_topics.delete(cluster.brokers, name)

    @contextmanager
    def _report_topics(self, operations: OperationLog) -> Iterator[None]:
        """Write a row for each topic that this run, or one of its faults, creates or deletes."""
        kafka = self._cluster.kafka
        kafka.report = lambda change: operations.record(change.row())
        try:
            yield
        finally:
            kafka.report = None

    def _create_topics(self) -> None:
        for topic in self._topics:
            with reported(self._cluster.brokers, topic.name, "created", self._cluster.kafka.report):
                cluster_topics.create(
                    self._cluster.brokers,
                    topic.name,
                    partitions=topic.partitions,
                    replication_factor=topic.replication_factor,
                    assignment=topic.assignment,
                    config=topic.config,
                )
        if problem := wait_agreement(self._cluster, self._names, limit=STEADY_LIMIT):
            raise InfrastructureError(
                f"{self._names} not ready {STEADY_LIMIT:.0f} s after their creation: {problem}"
            )

    def _run_faults(self, workers: WorkerPool) -> None:
        """Run the schedule while clients continue. Everything is healed when this returns."""
        experiment = self._experiment
        if not experiment.faults:
            self._wait_until(lambda: False, experiment.duration, workers)
            return
        operations = OperationLog(RunDirectory(self._home).history, self._run, NEMESIS)
        need_restart = {event.fault.name for event in experiment.schedule.events if event.fault.outlives_heal}

        def record(row: Mapping[str, Any]) -> None:
            operations.record(row)
            value = row["value"]
            if row["f"] in need_restart:
                self._to_restart.update(value["nodes"])
            effect = "" if value["effective"] else ", WITHOUT EFFECT"
            hit = f"clients {value['processes']}" if "processes" in value else f"nodes {value['nodes']}"
            self._say(f"{row['f']} {value['stage']}: {hit} ({value['target']}){effect}")

        nemesis = Nemesis(
            experiment.schedule,
            self._cluster,
            topic=self._main_topic,
            seed=experiment.seed,
            record=record,
            clients=WorkerClients(workers),
        )
        end_early = threading.Event()
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="kafkacheck-nemesis") as pool:
            running = pool.submit(nemesis.run, end_early)
            try:
                self._wait_until(running.done, float("inf"), workers)
            finally:
                end_early.set()
                wait([running])
                operations.close()
        # The judgement would not know of a fault without a row, so the run must not be judged.
        if (error := running.exception()) is not None:
            raise InfrastructureError(f"The nemesis could not record what it did: {error!r}") from error

    def _restart_nodes(self) -> None:
        """Leave a cluster that other experiments can use."""
        nodes = sorted(self._to_restart & self._cluster.nodes.keys())
        try:
            if nodes:
                lifecycle.rolling_restart(self._cluster, nodes=nodes)
        except (InfrastructureError, APIError, OSError) as error:
            log.warning("nodes %s could not be restarted: %s", nodes, error)

    def _wait_until(
        self, condition: Callable[[], bool], limit: float, workers: WorkerPool, interval: float = 0.1
    ) -> None:
        """Return when the condition holds, `limit` seconds are over, or `stop` is set.

        Raises InfrastructureError when no worker is left to write a history.
        """
        deadline = time.monotonic() + limit
        while not condition() and not self._stop.is_set() and (left := deadline - time.monotonic()) > 0:
            if not workers.alive():
                raise InfrastructureError(
                    f"Every client process ended early: {workers.describe()}; see logs/client-*.log"
                )
            raise_if_interrupted()
            self._stop.wait(min(interval, left))
