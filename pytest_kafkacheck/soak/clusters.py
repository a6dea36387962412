"""Runs rounds on real clusters, and shrinks findings on others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from analyzers.spark.session import end_spark
from nemesis.faults.upgrade import Upgrade
from nemesis.generate import default_weights
from pytest_kafkacheck.cluster.docker.engine import require_memory
from pytest_kafkacheck.cluster.spec.moves import moved, next_release
from pytest_kafkacheck.experiment.clusters.pool import EngineConnection
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.harness import Harness
from pytest_kafkacheck.progress import Say, Show, show_nothing
from pytest_kafkacheck.run import Run
from pytest_kafkacheck.setup.capabilities import impossible_faults
from pytest_kafkacheck.setup.image_build import prepare
from pytest_kafkacheck.shrink.shrink import shrink
from pytest_kafkacheck.soak.plan import Soak, without_impossible

JUDGE_MB = 2300
"""MiB of a process of a soak: the heap of Spark's JVM, and Python."""


class Clusters:
    """A lab, see `soak.Lab`. A context manager: leaving it removes the cluster and stops Spark.

    There is one harness at a time: that of the rounds is closed before a finding is shrunk.

    say      takes the lines of each run.
    options  of `Harness`.
    """

    def __init__(
        self,
        directory: Path,
        *,
        say: Say = lambda _: None,
        show: Show = show_nothing,
        **options: Any,
    ) -> None:
        self._directory, self._say, self._show = directory, say, show
        self._options = options
        self._open: Harness | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def record(self, experiment: Experiment, *, name: str) -> Path:
        return self._harness.record(experiment, name=name)

    def judge(self, home: Path) -> Run:
        return self._harness.judge(home)

    def fitted(self, plan: Soak) -> tuple[Soak, Mapping[str, str]]:
        """Without the faults that this host cannot do, if the plan says `skip_impossible`; and these, with reasons.

        Raises InfrastructureError without an engine.
        """
        if not plan.skip_impossible or plan.faults is None:
            return plan, {}
        engine = EngineConnection()
        try:
            missing = impossible_faults(engine.client, plan.faults)
        finally:
            engine.close()
        return without_impossible(plan, missing), missing

    def check(self, plan: Soak, *, clusters: int = 1) -> None:
        """Refuse what cannot be run here, before anything starts. Raises UsageError, and InfrastructureError for a
        fault that this host cannot do, an image that it does not have, and too little memory.

        clusters  of one soak, side by side.
        """
        harness = self._harness
        names = default_weights(clients=plan.clients) if plan.faults is None else plan.faults
        harness.require_faults([name for name, weight in names.items() if weight > 0])
        engine = EngineConnection()
        try:
            for cluster in plan.clusters:
                prepare(engine.client, cluster, self._say)
                if names.get(Upgrade.name) and (version := next_release(cluster)) is not None:
                    prepare(engine.client, moved(cluster, version), self._say)
                if clusters > 1:
                    require_memory(engine.client, cluster, times=clusters, beside_mb=clusters * JUDGE_MB)
        finally:
            engine.close()
        for cluster in plan.clusters:
            for workload in plan.workloads_of(cluster):
                harness.check(Experiment(workload=workload, cluster=cluster))

    def renew(self) -> None:
        """Close the harness and end Spark's JVM, so that neither it nor a cluster serves for hours. The next ones
        start side by side."""
        self._close()
        end_spark()

    def shrink(self, home: Path, *, seconds: float) -> str:
        self._close()
        with self._opened(home / "shrink" / "runs") as harness:
            minimal = shrink(
                home,
                lambda experiment, names: harness.run(experiment, name="try", only=names),
                seconds=seconds,
                renew=harness.drop_cluster,
                say=self._say,
            )
        return minimal.text

    def _close(self) -> None:
        opened, self._open = self._open, None
        if opened is not None:
            opened.close()

    @property
    def _harness(self) -> Harness:
        if self._open is None:
            self._open = self._opened(self._directory)
        return self._open

    def _opened(self, directory: Path) -> Harness:
        return Harness(directory, say=self._say, show=self._show, **self._options)
