"""What outlives one experiment: the engine, a cluster to use again, Spark; and running experiments on them."""

from __future__ import annotations

import json
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.attach import attached
from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.connection_info import connection_info
from pytest_kafkacheck.cluster.docker.engine import connect, require_image
from pytest_kafkacheck.cluster.docker.images import image_for
from pytest_kafkacheck.cluster.docker.reattach import take_over
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.execution import execute
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.judging import judge_all
from pytest_kafkacheck.experiment.live import LiveJudge
from pytest_kafkacheck.experiment.sharing import Shared
from pytest_kafkacheck.experiment.stored_runs import StoredRun
from pytest_kafkacheck.run import Run
from pytest_kafkacheck.setup.capabilities import require_capabilities
from pytest_kafkacheck.setup.class_archives import ensure_class_archives
from pytest_kafkacheck.spark import Spark
from pytest_kafkacheck.termination import terminated_like_interrupted

Say = Callable[[str], None]
Keep = Literal["never", "failed", "always"]

EXAMPLES = 5
"""Examples of each anomaly in a verdict; the count is exact however many there are."""


class Harness:
    """Runs experiments. A context manager: leaving it removes the cluster and stops Spark.

    directory  where runs are kept, one folder each.
    say        takes one line of progress at a time.
    fresh      never use a cluster for a second experiment.
    keep       leave running the cluster of the last failure, which is the one that served when `failed` was set;
               with "always" also the last one. `kept` then says how to reach them.
    reuse      take over a kept cluster of equal spec instead of starting one.
    attach     a cluster that somebody else runs, see `attach.attached`: every experiment uses it, whatever its spec.
    shared     use clusters together with other processes, which does not go with fresh and reuse; their owner keeps
               or removes them.
    master     of Spark, and spark_conf: any settings of it.
    """

    def __init__(
        self,
        directory: Path,
        *,
        say: Say = lambda _: None,
        fresh: bool = False,
        keep: Keep = "never",
        reuse: bool = False,
        attach: str | None = None,
        shared: Shared | None = None,
        master: str = "local[*]",
        spark_conf: Mapping[str, str] | None = None,
    ) -> None:
        self.failed = False
        self._kept: dict[str, str] = {}
        self._last_failed: str | None = None
        self._held: tuple[ClusterSpec, bool] | None = None
        self._keep = keep
        self._reuse = reuse
        self._attach = attach
        self._shared = shared
        self._directory = directory
        self._say = say
        self._fresh = fresh
        self._spark = Spark(master=master, conf=spark_conf)
        self._client: Any = None
        self._possible: set[str] = set()
        """Faults that this host was found to be able to do."""
        self._cluster: DockerCluster | None = None
        self._stack = ExitStack()
        self._termination = ExitStack()
        self._stop = threading.Event()

    def __enter__(self) -> Harness:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the cluster, stop Spark. May be called again."""
        try:
            self.drop_cluster(keep=self._keep == "always")
        finally:
            self._termination.close()
            self._spark.stop()
            if self._client is not None:
                self._client.close()
                self._client = None

    @property
    def kept(self) -> str | None:
        """For people: how to reach what was left running; None when nothing was."""
        return "\n".join(self._kept.values()) or None

    def run(self, experiment: Experiment, *, name: str = "") -> Run:
        """Run an experiment and judge it.

        name  becomes part of the folder's name; default: the experiment's.
        Raises InfrastructureError when it could not be carried out: that is never a verdict; of its kind is
        CapabilityError, when this host cannot do one of the faults.
        """
        self.check(experiment)
        if self._attach is not None:
            # What there is decides what is possible.
            experiment = replace(experiment, cluster=self._attached().spec)
        run = secrets.token_hex(4)
        home = self._home(name or experiment.name or "run", run)
        (home / "experiment.json").write_text(json.dumps(experiment.to_json(), indent=2) + "\n")
        self._spark.start()
        alone = bool(experiment.faults)
        with self.cluster(experiment.cluster, logs=home / "logs", alone=alone) as cluster:
            try:
                with self._live(experiment, home):
                    execute(experiment, cluster, run=run, home=home, say=self._say, stop=self._stop)
            finally:
                cluster.save_logs(home / "logs")
        result = self.judge(home)
        self._say(f"verdict: {result.result}")
        return result

    def _live(self, experiment: Experiment, home: Path) -> AbstractContextManager[object]:
        if not experiment.live_checks:
            return nullcontext()
        return LiveJudge(home, self._spark, say=self._say, allowed=experiment.workload.allowed)

    def check(self, experiment: Experiment) -> None:
        """Refuse what cannot be run here, before anything starts.

        Raises UsageError, and CapabilityError when this host cannot do one of the faults.
        """
        if not isinstance(experiment, Experiment):
            raise UsageError(f"expected an Experiment, got {experiment!r}")
        self._check_startable(experiment.cluster)
        events = experiment.schedule.events
        for event in events:
            if self._attach is not None and event.fault.changes_cluster:
                raise UsageError(
                    f"event {event.id!r}: {event.fault.name} changes settings, data or members of a cluster, and "
                    f"strikes none that somebody else runs; leave it out, or run without --attach"
                )
        if new := {event.fault.name for event in events} - self._possible:
            self._client = self._client or connect()
            require_capabilities(self._client, sorted(new))
            self._possible |= new

    def _check_startable(self, spec: ClusterSpec) -> None:
        if spec.attached is not None and self._attach is None:
            raise UsageError(
                f"ClusterSpec.attached={spec.attached!r} names nodes of a cluster that runs already, and nothing is "
                f"attached to; say which one it is with --kafkacheck-attach (--attach on the command line), or leave "
                f"it out"
            )

    def judge(self, home: Path) -> Run:
        """Judge the history in a run's folder, finished or interrupted, and write verdict.json."""
        experiment = Experiment.read(home / "experiment.json")
        self._spark.start()
        (outcome,) = judge_all(self._spark, [StoredRun(home=home, experiment=experiment)], examples=EXAMPLES)
        return Run(home, outcome.verdicts[0])

    def _home(self, name: str, run: str) -> Path:
        slug = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-")[:80]
        home = self._directory / f"{time.strftime('%Y%m%d-%H%M%S')}-{slug}-{run}"
        try:
            home.mkdir(parents=True)
        except OSError as error:
            raise UsageError(
                f"{self._directory}: no run can be kept there ({error}); name a directory that can be written to"
            ) from error
        return home

    @contextmanager
    def cluster(self, spec: ClusterSpec, *, logs: Path, alone: bool = False) -> Iterator[DockerCluster]:
        """A cluster of that spec that serves: the running one where it fits, else a new one. It outlives the block.

        logs   directory for the nodes' logs should the start fail.
        alone  let nobody else use a shared cluster meanwhile.
        Raises UsageError within the block of another such call that holds a different cluster, or one together with
        others where this one wants it alone.
        """
        if self._held is not None:
            self._check_nested(self._held, spec, alone=alone)
            assert self._cluster is not None
            yield self._cluster
            return
        self._termination.close()
        self._termination.enter_context(terminated_like_interrupted())
        with self._shared.turn(spec, alone=alone) if self._shared else nullcontext():
            self._held = spec, alone
            try:
                yield self._cluster_for(spec, logs=logs)
            finally:
                self._held = None

    def _check_nested(self, held: tuple[ClusterSpec, bool], spec: ClusterSpec, *, alone: bool) -> None:
        if held[0] != spec and self._attach is None:
            raise UsageError(
                f"this test has a cluster of {held[0].describe()} already ({held[0].digest}), and one test has one "
                f"cluster at a time; asked for was {spec.describe()} ({spec.digest}). Give the marker and the "
                f"experiment the same ClusterSpec, or write two tests"
            )
        if self._shared is not None and alone and not held[1]:
            raise UsageError(
                "this test uses a cluster together with other workers, and its experiment has faults; mark it "
                "kafkacheck(alone=True)"
            )

    def _cluster_for(self, spec: ClusterSpec, *, logs: Path) -> DockerCluster:
        if self._attach is not None:
            return self._attached()
        self._check_startable(spec)
        if (
            self._cluster is not None
            and not self._fresh
            and self._cluster.spec == spec
            and self._cluster.healthy()
        ):
            self._say(f"using the running cluster again ({spec.describe()})")
            return self._cluster
        self.drop_cluster()
        self._client = self._client or connect()
        if self._shared is not None:
            self._warm(spec)
            self._cluster = self._stack.enter_context(self._shared.cluster(self._client, spec, logs=logs))
            self._say(
                f"using the cluster {self._cluster.run} together with other workers ({spec.describe()})"
            )
            return self._cluster
        if self._reuse and not self._fresh:
            begun = time.monotonic()
            self._cluster = self._stack.enter_context(take_over(self._client, spec, self._say))
            if self._cluster is not None:
                took = time.monotonic() - begun
                self._say(
                    f"using the kept cluster {self._cluster.run} ({spec.describe()}), found in {took:.2f} s"
                )
                return self._cluster
            self._stack.close()
        self._warm(spec)
        self._say(f"starting {spec.describe()}")
        begun = time.monotonic()
        self._cluster = self._stack.enter_context(
            running(self._client, spec, run=secrets.token_hex(4), logs=logs)
        )
        self._say(f"every broker took and gave back a record after {time.monotonic() - begun:.1f} s")
        return self._cluster

    def _attached(self) -> DockerCluster:
        if self._cluster is not None and self._cluster.healthy():
            return self._cluster
        self.drop_cluster()
        self._client = self._client or connect()
        self._cluster = self._stack.enter_context(attached(self._client, str(self._attach)))
        nodes = ", ".join(map(str, self._cluster.nodes))
        self._say(f"attached to {self._attach}: nodes {nodes}, bootstrap {','.join(self._cluster.bootstrap)}")
        return self._cluster

    def _warm(self, spec: ClusterSpec) -> None:
        image = spec.image or image_for(spec.version, self._client)
        require_image(self._client, image)
        ensure_class_archives(self._client, spec.version, image, self._say)

    def drop_cluster(self, *, keep: bool = False) -> None:
        """Remove the running cluster, if there is one; a kept one is only left. `keep` or a failure keeps it."""
        cluster, self._cluster = self._cluster, None
        failed, self.failed = self.failed and self._keep != "never", False
        try:
            if cluster is not None and (keep or failed) and self._shared is None and self._attach is None:
                self._keep_it(cluster, failed=failed)
            self._stack.close()
        finally:
            # The second layer: a clean-up that was itself interrupted is finished here.
            if cluster is not None and self._shared is None:
                reaper.remove_unless_kept(self._client, cluster.run)

    def _keep_it(self, cluster: DockerCluster, *, failed: bool) -> None:
        # One more for every failure would soon fill the memory.
        last, made = self._last_failed, cluster.run not in reaper.kept(self._client)
        cluster.keep()
        self._kept[cluster.run] = connection_info(cluster)
        if failed and made:
            self._last_failed = cluster.run
            if last is not None:
                self._kept.pop(last)
                reaper.remove_run(self._client, last)
