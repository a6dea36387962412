"""Running experiments: from the check of what is asked for to the verdict.

About how many records the history of a run will have, so that Spark can be warmed up for them.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

from analyzers.verdict.verdict import Verdict
from pytest_kafkacheck.cluster.nodes import own_faults
from pytest_kafkacheck.cluster.nodes.cluster import AnyCluster
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.disk_space import full_disk_said, require_space
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.applications.containers import check_containers, needed_of_engine
from pytest_kafkacheck.experiment.clusters.choose import Engine, choose_source
from pytest_kafkacheck.experiment.clusters.pool import ClusterPool, EngineConnection, Keep
from pytest_kafkacheck.experiment.clusters.processes import NoEngine
from pytest_kafkacheck.experiment.clusters.shared import SharedSession
from pytest_kafkacheck.experiment.execution import execute
from pytest_kafkacheck.experiment.experiment import Experiment, require_experiment
from pytest_kafkacheck.experiment.imported_lines import ImportedLines
from pytest_kafkacheck.experiment.judging import LiveJudge, judge_all, judge_until_found, keeps_records
from pytest_kafkacheck.experiment.late_verdict import LateVerdict
from pytest_kafkacheck.experiment.run_directory import RunDirectory
from pytest_kafkacheck.experiment.stored_runs import StoredRun
from pytest_kafkacheck.experiment.validation import unused_duration
from pytest_kafkacheck.progress import Show, show_nothing
from pytest_kafkacheck.run import Run
from pytest_kafkacheck.setup.client_cuts import require_client_cuts
from pytest_kafkacheck.setup.java_clients import provide
from pytest_kafkacheck.spark import Spark
from pytest_kafkacheck.termination import is_interrupted
from workloads.clients.command.library import introduce
from workloads.clients.command.process import ClientFailure
from workloads.clients.connection import Address
from workloads.clients.library import is_command
from workloads.clients.security import Security
from workloads.declaration import declaration_of
from workloads.load import highest
from workloads.workload import Workload, libraries_of

EXAMPLES = 5
"""Examples of each anomaly in a verdict; its count is exact all the same."""


class Harness:
    """Runs experiments. A context manager: leaving it removes the cluster and stops Spark.

    directory   where runs are kept, one folder each.
    say         takes one line of progress at a time.
    show        takes a line that replaces the one before, such as ``12/35 s  kill leader (nodes 3)  ISR 2/3``.
    fresh       never use a cluster for a second experiment.
    keep        which clusters run on afterwards: ``failed``, that of the last failed test, which is the cluster that
                was open when `has_failed` was set; ``always``, also the last one. `kept` then says how to reach them.
    reuse       take over a kept cluster of equal spec instead of starting one.
    attach      a cluster that somebody else runs, see `attached`: every experiment uses it, whatever its spec.
    security    how clients connect to the attached cluster; None for plain text.
    attach_map  where this host reaches its brokers, by node id; None: where they advertise themselves.
    attach_wait  seconds for each wait when attaching begins and ends; default: 30.
    shared      share clusters with the other workers of an xdist session. Does not go with fresh and reuse. The
                session's controller keeps or removes the clusters.
    engine      ``processes``: nodes are processes of this machine in network namespaces, which needs root and no
                Docker. It has fewer faults, and no kept, shared or attached clusters.
    master      Spark's master URL.
    spark_conf  settings of Spark.
    plain_spark  use Spark only through its public interface: the same verdicts, more slowly.

    Example::

        with Harness(Path(".kafkacheck"), say=print) as harness:
            run = harness.run(Experiment(workload=AppendLog(), faults=[isolate("leader", at=3, lasting=8)]))
            run.assert_valid()
    """

    def __init__(
        self,
        directory: Path,
        *,
        say: Callable[[str], None] = lambda _: None,
        show: Show = show_nothing,
        fresh: bool = False,
        keep: Keep = "never",
        reuse: bool = False,
        attach: str | None = None,
        security: Security | None = None,
        attach_map: Mapping[int, Address] | None = None,
        attach_wait: float | None = None,
        shared: SharedSession | None = None,
        engine: Engine = "docker",
        master: str = "local[*]",
        spark_conf: Mapping[str, str] | None = None,
        plain_spark: bool = False,
    ) -> None:
        self._directory = directory
        self._say, self._show = say, show
        self._engine = NoEngine() if engine == "processes" else EngineConnection()
        self._source = choose_source(
            self._engine,
            say,
            fresh=fresh,
            reuse=reuse,
            attach=attach,
            security=security,
            addresses=attach_map,
            wait=attach_wait,
            shared=shared,
            without_engine=engine == "processes",
        )
        self._pool = ClusterPool(self._source, keep=keep)
        self.spark = Spark(master=master, conf=spark_conf, plain=plain_spark)
        """Judges all runs."""
        self._possible: set[str] = set()
        """Faults that this host is known to be capable of."""
        self._stop = threading.Event()
        self._late: LateVerdict | None = None

    def __enter__(self) -> Harness:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the cluster, stop Spark. May be called again."""
        at_once = is_interrupted()  # the pool forgets it
        try:
            self._pool.close()
        finally:
            if self._late is not None and (headline := self._late.headline()) is not None:
                self._say(f"verdict on what was recorded until the interrupt: {headline}")
            self._late = None
            self.spark.stop(at_once=at_once)
            self._engine.close()

    @property
    def has_failed(self) -> bool:
        """Whether a test has failed on the open cluster. Set from outside; decides whether the cluster is kept."""
        return self._pool.has_failed

    @has_failed.setter
    def has_failed(self, value: bool) -> None:
        self._pool.has_failed = value

    @property
    def kept(self) -> str | None:
        """How to reach the clusters that were left running; None when there are none."""
        return self._pool.kept

    def check(self, experiment: Experiment) -> None:
        """Refuse what cannot be run here, before anything starts.

        Raises UsageError, CapabilityError when this host is not capable of one of the faults, and DiskFullError.
        """
        events = require_experiment(experiment).schedule.events
        require_space(self._directory)
        self._source.check(experiment.cluster, events)
        # A cluster that is in use, or cannot be used, is reported before this host is examined, which takes a minute.
        self._pool.actual_spec(experiment.cluster, logs=self._directory)
        check_client_commands(experiment.workload)
        check_containers(experiment.workload, events, lambda: self._engine.client)
        self.require_faults(needed_of_engine({event.fault.name for event in events}, experiment.workload))
        clients = (worker for worker in experiment.workload.workers() if not worker.role.observes)
        require_client_cuts(events, {worker.library for worker in clients if worker.instance is None})

    def run(self, experiment: Experiment, *, name: str = "", only: Sequence[str] = ()) -> Run:
        """Run an experiment and judge it.

        name  becomes part of the folder's name; default: the experiment's.
        only  anomalies to look for, the first one first, until one is found; default: all there are.
        A run that recorded something is judged, whatever failed later; its verdict says what did. Raises
        InfrastructureError when nothing was recorded, which is never a verdict. A CapabilityError, one of these, says
        that this host is not capable of one of the faults.
        """
        if why := unused_duration(require_experiment(experiment)):
            self._say(why)
        home = self.record(experiment, name=name)
        self._say("judging what was recorded")
        self._show("judging")
        try:
            result = self.judge(home, only=only)
        except KeyboardInterrupt as interrupt:
            interrupt.add_note(_kept(home))
            raise
        finally:
            self._show("")
        self._say(f"verdict: {result.result}")
        return result

    def record(self, experiment: Experiment, *, name: str = "") -> Path:
        """Run an experiment and do not judge it. Returns the run's folder. Raises as `run` does."""
        with full_disk_said(self._directory):
            return self._record(experiment, name)

    def _record(self, experiment: Experiment, name: str) -> Path:
        self.check(experiment)
        spec = self._pool.actual_spec(experiment.cluster, logs=self._directory)
        if spec != experiment.cluster:
            # Checks the faults against the nodes of the attached cluster.
            experiment = replace(experiment, cluster=spec)
        run = secrets.token_hex(4)
        home = RunDirectory.create(self._directory, name=name or experiment.name or "run", run=run)
        home.write_experiment(experiment)
        self.spark.start(expected=expected_records(experiment))
        try:
            with self.cluster(spec, logs=home.logs, alone=bool(experiment.faults)) as cluster:
                own_faults.require_none(cluster)
                try:
                    with self._live_judge(experiment, home.path):
                        execute(
                            experiment,
                            cluster,
                            run=run,
                            home=home.path,
                            say=self._say,
                            show=self._show,
                            stop=self._stop,
                        )
                except KeyboardInterrupt as interrupt:
                    self.interrupted(interrupt, home.path)
                    raise
                finally:
                    cluster.save_logs(home.logs)
        except KeyboardInterrupt as interrupt:
            # It may have come after the load, or may be another one than that which ended the load.
            self.interrupted(interrupt, home.path)
            raise
        return home.path

    def interrupted(self, interrupt: KeyboardInterrupt, home: Path) -> None:
        """Say how to get a verdict on a run that was interrupted, and judge it while the session is cleaned up.

        Does nothing for a run without a history. May be called again.
        """
        if not RunDirectory(home).history.is_dir():
            return
        if (note := _kept(home)) not in getattr(interrupt, "__notes__", ()):
            interrupt.add_note(note)
        if self._late is None or self._late.home != home:
            self._late = LateVerdict(home, self.judge)

    def judge(self, home: Path, *, only: Sequence[str] = ()) -> Run:
        """Judge the history in a run's folder, finished or interrupted, and write verdict.json. only: as in `run`."""
        rules = RunDirectory(home).read_judging_rules()
        self.spark.start()
        stored = StoredRun(home=home, rules=rules)
        kept = f"What was recorded is kept; for a verdict on it: kafkacheck analyze {home}"
        with full_disk_said(home, then=kept):
            if only:
                outcome = judge_until_found(self.spark, stored, only, examples=EXAMPLES)
            else:
                (outcome,) = judge_all(self.spark, [stored], examples=EXAMPLES)
        return Run(home, outcome.verdicts[0])

    def judge_runs(self, homes: Sequence[Path]) -> list[Run]:
        """Judge the histories of several runs at once, in one job of Spark, and write their verdicts."""
        self.spark.start()
        runs = [StoredRun(home=home, rules=RunDirectory(home).read_judging_rules()) for home in homes]
        outcomes = judge_all(self.spark, runs, examples=EXAMPLES)
        return [Run(home, outcome.verdicts[0]) for home, outcome in zip(homes, outcomes, strict=True)]

    def judge_lines(self, lines: ImportedLines) -> Verdict:
        """Judge a history that was imported into the folder of a run."""
        self.spark.start()
        (outcome,) = judge_all(self.spark, [StoredRun(home=lines.home, lines=lines)], examples=EXAMPLES)
        return outcome.verdicts[0]

    def cluster(
        self, spec: ClusterSpec, *, logs: Path, alone: bool = False
    ) -> AbstractContextManager[AnyCluster]:
        """A cluster that serves, see `ClusterPool.cluster`."""
        return self._pool.cluster(spec, logs=logs, alone=alone)

    def say(self, line: str) -> None:
        """Report a line of progress."""
        self._say(line)

    @property
    def directory(self) -> Path:
        """Where runs are kept."""
        return self._directory

    def require_faults(self, faults: Collection[str]) -> None:
        """Raise CapabilityError for faults, by name, that this host cannot do."""
        if unknown := set(faults) - self._possible:
            self._engine.require_faults(sorted(unknown))
            self._possible |= unknown

    def drop_cluster(self) -> None:
        """Remove the open cluster, if there is one, unless it is to be kept because a test has failed on it."""
        self._pool.drop()

    def _live_judge(self, experiment: Experiment, home: Path) -> AbstractContextManager[object]:
        if not experiment.live_checks:
            return nullcontext()
        return LiveJudge(
            home,
            self.spark,
            say=self._say,
            allowed=experiment.workload.allowed,
            keeps_records=keeps_records(experiment),
        )


def _kept(home: Path) -> str:
    return f"its history is kept; for a verdict of it: kafkacheck analyze {home}"


UNLIMITED = 100_000
"""For a workload that does not say its rate."""


def expected_records(experiment: Experiment) -> int:
    """About how many records the history will have, so that Spark can be warmed up for them.

    The load's seconds times its rate: for the send, for each client that may read it, and for the final read.
    """
    workload = experiment.workload
    rate = highest(getattr(workload, "rate", None))
    if rate is None:
        return UNLIMITED
    clients = len(workload.workers())
    producers = min(clients, getattr(workload, "producers", 1))
    ends = [event.at + event.lasting for event in experiment.schedule.events]
    seconds = max(ends, default=experiment.duration)
    seconds += experiment.warm_up + experiment.cooldown
    return int(rate * producers * seconds * (2 + clients - producers))


def check_client_commands(workload: Workload) -> None:
    """Start each client process that the workload names once. Raises UsageError for one that cannot be started, that
    speaks another version of the protocol, or that has not the capabilities that the workload needs."""
    declaration = declaration_of(workload)
    names = sorted(filter(is_command, libraries_of(workload)))
    provide(names)
    for name in names:
        try:
            hello = introduce(name)
        except (ClientFailure, ValueError) as failure:
            raise UsageError(f"{type(workload).__name__}: {failure}") from None
        if missing := hello.missing(declaration.capabilities(workload)):
            raise UsageError(
                f"{type(workload).__name__} needs {', '.join(missing)} of its clients, and {name!r} ({hello}) states "
                f"{', '.join(sorted(hello.capabilities)) or 'no capability'}; use another library or workload"
            )
