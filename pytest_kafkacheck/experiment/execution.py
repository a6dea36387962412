"""Executes an experiment on a running cluster: load, faults, recovery, final reads. It does not judge."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

from docker.errors import APIError

from analyzers.verdict.wording import count
from nemesis.registry import OF_APPLICATIONS
from nemesis.run import Nemesis
from nemesis.tasks import in_thread
from nemesis.topology import Aliases
from pytest_kafkacheck.cluster.docker import lifecycle
from pytest_kafkacheck.cluster.docker.registers import TopicRegister
from pytest_kafkacheck.cluster.kafka.served_cluster import check_follower_reads, check_release
from pytest_kafkacheck.cluster.nodes.cluster import AnyCluster
from pytest_kafkacheck.disk_space import SpaceWatch
from pytest_kafkacheck.errors import InfrastructureError
from pytest_kafkacheck.experiment.applications.containers import (
    as_workers,
    contained,
    containers,
    require_cluster,
)
from pytest_kafkacheck.experiment.applications.instance import AppContainer, ContainedClients
from pytest_kafkacheck.experiment.applications.plan import ApplicationPlan
from pytest_kafkacheck.experiment.clients import WorkerClients
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.operations import OperationLog, Steps, write_environment, write_layout
from pytest_kafkacheck.experiment.recovery import Ends, UsedCluster, log_ends, read_limit, wait_agreement
from pytest_kafkacheck.experiment.replicas import compare_replicas
from pytest_kafkacheck.experiment.run_directory import RunDirectory
from pytest_kafkacheck.experiment.run_status import RunStatus
from pytest_kafkacheck.experiment.run_topics import RunTopics, delete_abandoned
from pytest_kafkacheck.progress import Show, show_nothing
from pytest_kafkacheck.setup.client_cuts import asks_for_cuts
from pytest_kafkacheck.termination import raise_if_interrupted
from workloads.clients.connection import Address
from workloads.declaration import declaration_of
from workloads.history.schema import HARNESS, NEMESIS
from workloads.workers.pool import WorkerPool, WorkerPoolError
from workloads.workload import client_library, short_topics

log = logging.getLogger(__name__)

Say = Callable[[str], None]

STEADY_LIMIT = 30.0
"""Seconds for the load to begin: a cluster that needs longer is not healthy."""

COMPARISON_LIMIT = 5.0
"""Seconds for the comparison of replicas to remove its files after an interrupt, which ends this process then."""

RECORDED = ("acks", "polled")
"""Counters of workers that show that the history has records to judge."""


def execute(
    experiment: Experiment,
    cluster: UsedCluster,
    *,
    run: str,
    home: Path,
    say: Say,
    stop: threading.Event,
    show: Show = show_nothing,
) -> None:
    """Execute the experiment and leave its history in ``<home>/history/segments``.

    cluster  a KafkaCluster, or any other if the experiment has no faults.
    run   unique; topics are named after it.
    show  takes a line about the load twice a second, and an empty one at the end.
    stop  set from outside to end the load early; everything is healed all the same.
    A step that fails after the load has begun is recorded, and the run goes on, so that its history can be judged.
    Raises InfrastructureError when nothing was recorded that could be judged.
    """
    try:
        _Execution(experiment, cluster, run=run, home=home, say=say, stop=stop, show=show).run_phases()
    except WorkerPoolError as error:
        raise InfrastructureError(str(error)) from error
    finally:
        show("")


def confining(experiment: Experiment) -> frozenset[str]:
    """What the faults need of the control groups of an application, see `WorkerContext.confined`. The engine has
    those of containers."""
    if contained(experiment.workload):
        return frozenset()
    return frozenset().union(*(event.fault.needs for event in experiment.schedule.events)) & OF_APPLICATIONS


class _Execution:
    """One execution. The phases follow one another in `run_phases`."""

    def __init__(
        self,
        experiment: Experiment,
        cluster: UsedCluster,
        *,
        run: str,
        home: Path,
        say: Say,
        stop: threading.Event,
        show: Show,
    ) -> None:
        self._experiment, self._cluster = experiment, cluster
        self._run, self._home, self._say, self._stop = run, home, say, stop
        self._status = RunStatus(experiment, show)
        self._register = TopicRegister(cluster.registered_as)
        self._topics = RunTopics(experiment.workload.topics(run), cluster, self._register)
        self._main_topic = experiment.workload.main_topic(run)
        self._operations = OperationLog(RunDirectory(home).history, run, HARNESS)
        self._steps = Steps(self._operations, say)
        self._space = SpaceWatch(RunDirectory(home).history)
        self._containers: Mapping[int, AppContainer] = {}
        """Of the instances of an application that runs in containers."""
        self._to_restart: set[int] = set()
        """Nodes on which a fault left something that only a restart ends."""

    def run_phases(self) -> None:
        workload, operations, step = self._experiment.workload, self._operations, self._steps.step
        with ExitStack() as stack:
            stack.callback(operations.close)
            if self._experiment.cluster.attached is not None:
                # Nobody removes this cluster with its topics.
                stack.callback(self._topics.delete_left)
                # The spec does not say which release somebody else's brokers have.
                check_release(self._cluster.brokers, workload.least_release, what=type(workload).__name__)
            instances = contained(workload)
            cluster = require_cluster(self._cluster) if instances else None
            workers = self._worker_pool()
            stack.callback(workers.kill)
            workers.launch()  # They load their modules while the topics are created.
            if workload.reads_from_followers:
                check_follower_reads(self._cluster.brokers)
            write_environment(self._home, self._cluster, workload)
            self._delete_abandoned_topics()
            stack.enter_context(self._topics.recorded(operations))
            self._topics.create()
            write_layout(self._home, self._cluster, self._main_topic)
            stack.callback(self._restart_nodes)
            if cluster is not None:
                made = containers(cluster, instances, run=self._run, home=self._home)
                self._containers = stack.enter_context(made)
            stack.enter_context(workers)
            workers.go()
            with step("load"):
                self._wait_until(lambda: workers.total(workload.load_counter) > 0, STEADY_LIMIT, workers)
            self._require_records(workers)
            with step("load"):
                self._wait_until(lambda: False, self._experiment.warm_up, workers)
            self._begin_phase("steady", workers)
            self._say(f"load is on: {workers.describe()}")
            self._run_faults(workers)
            self._begin_phase("recovery", workers)
            if self._space.is_short:
                self._stop_clients(workers)
            with step("recovery"):
                self._recover()
            workers.launch_final_reads()  # They load their modules meanwhile.
            with step("load"):
                self._wait_until(lambda: False, self._experiment.cooldown, workers)
            self._stop_clients(workers)
            operations.phase("final", skipped=workers.total("skipped"))
            ends: Ends = {}
            with step("final-read"):
                ends = self._readable()
            comparison = in_thread(self._compare_replicas, "kafkacheck-replicas")
            stack.callback(wait, [comparison], timeout=COMPARISON_LIMIT)
            with step("final-read"):
                self._status.step("final reads")
                workers.final_reads(ends, limit=read_limit(ends))
            with step("replicas"):
                self._status.step("comparing replicas")
                compared, lines = comparison.result()
                self._say(f"compared the replicas of {count(compared, 'partition')}")
                for line in lines:
                    self._say(line)
            operations.phase("end", skipped=workers.total("skipped"))
            with step("delete-topics"):
                self._topics.delete()
            self._require_records(workers)

    def _stop_clients(self, workers: WorkerPool) -> None:
        """In the order of the workload. May be called again."""
        for roles in self._experiment.workload.stop_order:
            with self._steps.step("stop"):
                workers.stop(*roles, limit=self._experiment.workload.stop_limit)

    def _begin_phase(self, name: str, workers: WorkerPool) -> None:
        """A phase that may have a rate of its own."""
        self._operations.phase(name, skipped=workers.total("skipped"))
        workers.phase(name)
        self._status.begin(name)

    @property
    def _kafka_cluster(self) -> AnyCluster:
        """For faults, see `execute`."""
        return cast(AnyCluster, self._cluster)

    def _delete_abandoned_topics(self) -> None:
        # Without faults, other workers may use the cluster, and the directories of their runs look the same.
        alone = bool(self._experiment.faults)
        if found := delete_abandoned(self._cluster, self._register, home=self._home, alone=alone):
            self._say(f"deleted topics of runs that were killed: {', '.join(found)}")

    def _worker_pool(self) -> WorkerPool:
        workload = self._experiment.workload
        return WorkerPool(
            as_workers(workload.workers(), self._run),
            run=self._run,
            home=self._home,
            brokers=self._cluster.brokers,
            topics=workload.topics(self._run),
            record=self._operations.record,
            library=client_library(workload),
            follows_partitions=not declaration_of(workload).fixed_partitions,
            confined=confining(self._experiment),
            cuts=asks_for_cuts(self._experiment.schedule.events),
            ensemble=self._cluster.ensemble,
        )

    def _require_records(self, workers: WorkerPool) -> None:
        """Raise InfrastructureError if a step failed and there is nothing to judge."""
        counters = {self._experiment.workload.load_counter, *RECORDED}
        if self._steps.problems and not any(workers.total(counter) > 0 for counter in counters):
            raise InfrastructureError(self._steps.problems[0])

    def _run_faults(self, workers: WorkerPool) -> None:
        """Run the schedule while clients continue. Everything is healed when this returns."""
        experiment, step = self._experiment, self._steps.step
        if not experiment.faults:
            with step("load"):
                self._wait_until(lambda: False, experiment.duration, workers)
            return
        operations = OperationLog(RunDirectory(self._home).history, self._run, NEMESIS)
        need_restart = {event.fault.name for event in experiment.schedule.events if event.fault.outlives_heal}

        def record(row: Mapping[str, Any]) -> None:
            operations.record(row)
            self._status.act(row)
            value = row["value"]
            if row["f"] in need_restart:
                self._to_restart.update(value["nodes"])
            effect = "" if value["effective"] else ", WITHOUT EFFECT"
            hit = f"clients {value['processes']}" if "processes" in value else f"nodes {value['nodes']}"
            self._say(f"{row['f']} {value['stage']}: {hit} ({value['target']}){effect}")

        nemesis = Nemesis(
            experiment.schedule,
            self._kafka_cluster,
            topic=self._main_topic,
            seed=experiment.seed,
            record=record,
            clients=self._clients(workers),
            aliases=Aliases(
                names=experiment.workload.aliases(self._run),
                topics=short_topics(experiment.workload, self._run),
            ),
        )
        end_early = threading.Event()
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="kafkacheck-nemesis") as pool:
            running = pool.submit(nemesis.run, end_early)
            try:
                with step("load"):
                    self._wait_until(running.done, float("inf"), workers)
            finally:
                end_early.set()
                wait([running])
                operations.close()
        with step("faults"):
            running.result()

    def _clients(self, workers: WorkerPool) -> WorkerClients:
        def brokers() -> Mapping[int, Address]:
            return self._cluster.brokers

        plan = ApplicationPlan.of(self._experiment.workload, self._run)
        if self._containers:
            return ContainedClients(workers, brokers, plan=plan, containers=self._containers)
        return WorkerClients(workers, brokers, plan=plan)

    def _recover(self) -> None:
        """Wait for the cluster to recover, and record whether it did."""
        limit, began = self._experiment.recovery_limit, time.monotonic_ns()
        self._status.step("the cluster recovers")
        problem = wait_agreement(self._cluster, self._topics.names, limit=limit)
        self._operations.recovery(problem, limit=limit, invoked=began)
        if problem:
            self._say(f"not recovered after {limit:.0f} s: {problem}")
        else:
            self._say("recovered: all brokers agree, every ISR is full")

    def _readable(self) -> Ends:
        """The range of each partition that can be read; it is recorded why another one cannot."""
        self._say("reading everything once more with fresh clients")
        began = time.monotonic_ns()
        others = self._experiment.workload.topics_of_others(self._run)
        logs = [each for each in self._topics.logs if each[0] not in others]
        ends, unread = log_ends(self._cluster, logs, limit=self._experiment.recovery_limit)
        for log_, reason in sorted(unread.items()):
            self._operations.unread(log_, reason, invoked=began)
            self._say(f"{log_[0]}-{log_[1]} cannot be read: {reason}")
        return ends

    def _compare_replicas(self) -> tuple[int, list[str]]:
        return compare_replicas(self._cluster, self._topics.names, self._operations, run=self._run)

    def _restart_nodes(self) -> None:
        """Leave a cluster that other experiments can use."""
        nodes = sorted(self._to_restart & set(self._cluster.nodes))
        try:
            if nodes:
                lifecycle.rolling_restart(self._kafka_cluster, nodes=nodes)
        except (InfrastructureError, APIError, OSError) as error:
            log.warning("nodes %s could not be restarted: %s", nodes, error)

    def _wait_until(
        self, condition: Callable[[], bool], limit: float, workers: WorkerPool, interval: float = 0.1
    ) -> None:
        """Return when the condition holds, `limit` seconds are over, or `stop` is set.

        Raises InfrastructureError when no worker is left to write a history, or the disk has too little space.
        """
        deadline, counter = time.monotonic() + limit, self._experiment.workload.load_counter
        while not condition() and not self._stop.is_set() and (left := deadline - time.monotonic()) > 0:
            if not workers.alive():
                raise InfrastructureError(
                    f"Every client process ended early: {workers.describe()}; see logs/client-*.log"
                )
            raise_if_interrupted()
            self._space.check()
            in_sync, replicas = workers.reported("isr"), workers.reported("replicas")
            self._status.look(workers.total(counter), in_sync, replicas)
            self._stop.wait(min(interval, left))
