"""The strategy of ``--kafkacheck-reuse``: take over a cluster that an earlier session kept."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.reattach import take_over
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.experiment.clusters.started import StartedClusters


class KeptClusters(StartedClusters):
    """Takes over a kept cluster of equal spec; where there is none, starts one.

    A session with ``--kafkacheck-keep`` left a cluster of spec A running. The next session with
    ``--kafkacheck-reuse`` leases it for its experiments of spec A, and gives it back at its end. Meanwhile a third
    session that asks for A does not get it, and starts its own. An experiment of spec B starts one, too.
    """

    @contextmanager
    def open(self, spec: ClusterSpec, *, logs: Path) -> Iterator[DockerCluster]:
        begun = time.monotonic()
        with take_over(self._engine.client, spec, self._say) as kept:
            if kept is not None:
                self._say(
                    f"using the kept cluster {kept.run} ({spec.describe()}), found in "
                    f"{time.monotonic() - begun:.2f} s"
                )
                yield kept
                return
        with super().open(spec, logs=logs) as started:
            yield started
