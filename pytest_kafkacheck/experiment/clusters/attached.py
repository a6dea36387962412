"""The strategy of ``--kafkacheck-attach``: a cluster that somebody else runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path

from nemesis.event import Event
from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.attach import LIMIT, attached, refuse_changes
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.nodes.cluster import AnyCluster
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import KafkacheckError
from pytest_kafkacheck.experiment.clusters.pool import EngineConnection
from pytest_kafkacheck.experiment.clusters.shared import SharedSession
from workloads.clients.connection import Address
from workloads.clients.security import Security


class AttachedClusters:
    """Attaches to one cluster, which serves every experiment, whatever spec that asks for.

    With ``compose:shop``, experiments that ask for 3 brokers and for 5 brokers both run on the brokers of the compose
    project `shop`, and their records name the spec that was found there. Faults that change containers, data or
    members are refused, see `refuse_changes`. At the end our sidecars are removed, and nothing else.

    name      of the cluster: ``compose:PROJECT``, or names of containers with commas between.
    security  how clients connect to it; None for plain text.
    addresses  where this host reaches brokers, by node id; None: where they advertise themselves.
    wait      seconds for each wait when the session begins and ends; default: `attach.LIMIT`.
    session   with ``--kafkacheck-share=all``: its workers take turns, as with `SharedClusters`.
    """

    takes_any_spec = True
    may_keep = False

    def __init__(
        self,
        engine: EngineConnection,
        say: Callable[[str], None],
        *,
        name: str,
        security: Security | None = None,
        addresses: Mapping[int, Address] | None = None,
        wait: float | None = None,
        session: SharedSession | None = None,
    ) -> None:
        self._engine = engine
        self._say = say
        self._name = name
        self._security = security
        self._addresses = addresses
        self._wait = LIMIT if wait is None else wait
        self._session = session
        self._opened: DockerCluster | None = None
        self._refusal: KafkacheckError | None = None
        """Why the cluster could not be used from the first; the session has no other one."""
        self._has_attached = False

    @property
    def is_shared(self) -> bool:
        return self._session is not None

    def check(self, spec: ClusterSpec, events: Sequence[Event] = ()) -> None:  # noqa: ARG002 - any spec will do
        refuse_changes(events)

    def turn(self, spec: ClusterSpec, *, alone: bool) -> AbstractContextManager[None]:  # noqa: ARG002 - any spec will do
        return self._turn(self._session, alone=alone) if self._session is not None else nullcontext()

    @contextmanager
    def _turn(self, session: SharedSession, *, alone: bool) -> Iterator[None]:
        with session.turn("attached", alone=alone):
            try:
                yield
            finally:
                if self._opened is not None:
                    self._opened.end_agents()

    def can_reuse(self, cluster: AnyCluster, spec: ClusterSpec) -> bool:  # noqa: ARG002 - any spec will do
        return cluster.healthy()

    @contextmanager
    def open(self, spec: ClusterSpec, *, logs: Path) -> Iterator[DockerCluster]:  # noqa: ARG002 - starts no node
        if self._refusal is not None:
            raise self._refusal
        session = self._session.owner if self._session is not None else None
        with ExitStack() as stack:
            try:
                cluster = stack.enter_context(
                    attached(
                        self._engine.client,
                        self._name,
                        security=self._security,
                        addresses=self._addresses,
                        limit=self._wait,
                        session=session,
                    )
                )
            except KafkacheckError as error:
                error.is_of_cluster = True
                self._refusal = None if self._has_attached else error
                raise
            self._has_attached = True
            nodes = ", ".join(map(str, cluster.nodes))
            bootstrap = ",".join(cluster.bootstrap)
            self._say(f"attached to {self._name}: nodes {nodes}, bootstrap {bootstrap}")
            self._opened = cluster
            try:
                yield cluster
            finally:
                self._opened = None

    def clean_up(self, cluster: AnyCluster) -> None:
        reaper.remove_unless_kept(self._engine.client, cluster.run)
