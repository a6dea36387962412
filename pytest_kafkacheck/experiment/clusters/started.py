"""The default strategy: start a cluster, and use it again while it fits.

With ``--kafkacheck-reuse``, take over a cluster that an earlier session kept.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from nemesis.event import Event
from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.docker.reattach import take_over
from pytest_kafkacheck.cluster.nodes.cluster import AnyCluster
from pytest_kafkacheck.cluster.spec.moves import moves
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.clusters.pool import EngineConnection
from pytest_kafkacheck.setup.image_build import prepare


class StartedClusters:
    """Starts a cluster; the next experiment of equal spec uses it again if it is healthy.

    Experiments that ask for the specs A, A, B, A start three clusters: the first serves two experiments, and each
    change of the spec removes the cluster and starts another one. With `fresh`, they start four.
    """

    takes_any_spec = False
    is_shared = False
    may_keep = True

    def __init__(self, engine: EngineConnection, say: Callable[[str], None], *, fresh: bool = False) -> None:
        self._engine = engine
        self._say = say
        self._fresh = fresh

    def check(self, spec: ClusterSpec, events: Sequence[Event] = ()) -> None:
        check_startable(spec)
        prepare_moves(self._engine, spec, events, self._say)

    def turn(self, spec: ClusterSpec, *, alone: bool) -> AbstractContextManager[None]:  # noqa: ARG002 - no others
        return nullcontext()

    def can_reuse(self, cluster: AnyCluster, spec: ClusterSpec) -> bool:
        if self._fresh or cluster.spec != spec or not cluster.healthy():
            return False
        self._say(f"using the running cluster again ({spec.describe()})")
        return True

    @contextmanager
    def open(self, spec: ClusterSpec, *, logs: Path) -> Iterator[AnyCluster]:
        client = self._engine.client
        prepare(client, spec, self._say)
        self._say(f"starting {spec.describe()}")
        begun = time.monotonic()
        with running(client, spec, run=secrets.token_hex(4), logs=logs) as cluster:
            self._say(f"every broker took and gave back a record after {time.monotonic() - begun:.1f} s")
            yield cluster

    def clean_up(self, cluster: AnyCluster) -> None:
        reaper.remove_unless_kept(self._engine.client, cluster.run)


def prepare_moves(
    engine: EngineConnection, spec: ClusterSpec, events: Sequence[Event], say: Callable[[str], None]
) -> None:
    """Build the images of the releases to which events move nodes; a build during the run would disturb it."""
    for moved in moves(spec, events):
        prepare(engine.client, moved, say)


def check_startable(spec: ClusterSpec) -> None:
    """Refuse the spec of an attached cluster: it describes nodes that exist already. Raises UsageError."""
    if spec.attached is not None:
        raise UsageError(
            f"ClusterSpec.attached={spec.attached!r} names nodes of a cluster that runs already, but no cluster is "
            f"attached; say which one it is with --kafkacheck-attach (--attach on the command line), or leave it out"
        )


class KeptClusters(StartedClusters):
    """Takes over a kept cluster of equal spec; where there is none, starts one.

    A session with ``--kafkacheck-keep`` left a cluster of spec A running. The next session with
    ``--kafkacheck-reuse`` leases it for its experiments of spec A, and gives it back at its end. Meanwhile a third
    session that asks for A does not get it, and starts its own. An experiment of spec B starts one, too.
    """

    @contextmanager
    def open(self, spec: ClusterSpec, *, logs: Path) -> Iterator[AnyCluster]:
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
