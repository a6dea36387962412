"""The lease of a cluster that the user runs: one session at a time has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_fixed

from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.given_containers import container_ids
from pytest_kafkacheck.cluster.docker.lease import LeaseHeld, leased, require_unclaimed

MENDING_LIMIT = 90.0
"""Seconds for a guardian to mend what another session left. It may have to restart nodes."""


@contextmanager
def leases(client: Any, what: str, *, owner: Mapping[str, str], mends: bool) -> Iterator[None]:
    """Hold the leases of all nodes for the block. Arguments as of `attached`; `owner` is as of `reaper.labels`.

    The key of a lease is the container, because the same cluster can be named in several ways. Raises LeaseHeld.
    """
    with ExitStack() as stack:
        for each in container_ids(client, what):
            _take_lease(stack, client, _key(each), what=_called(what), owner=owner, mends=mends)
        yield


def require_free(client: Any, what: str, *, session: int | None = None) -> None:
    """Raises LeaseHeld while another session has the cluster, and does not wait for a guardian that mends it.

    session  as of `attach.attached`. Loads little, so that a second session is refused before it loads the rest.
    """
    for each in container_ids(client, what):
        try:
            require_unclaimed(client, _key(each), what=_called(what), labels=reaper.labels("", pid=session))
        except LeaseHeld as error:
            if not error.is_short:
                raise


def _key(container: str) -> str:
    return f"attached-{container}"


def _called(what: str) -> str:
    return f"the cluster {what}"


def _take_lease(
    stack: ExitStack, client: Any, key: str, *, what: str, owner: Mapping[str, str], mends: bool
) -> None:
    """Take the lease of one node. While a guardian has it, wait for it."""

    def take() -> None:
        stack.enter_context(leased(client, key, what=what, labels=owner, is_short=mends))

    Retrying(
        stop=stop_after_delay(MENDING_LIMIT),
        wait=wait_fixed(0.5),
        retry=retry_if_exception(lambda error: isinstance(error, LeaseHeld) and error.is_short),
        reraise=True,
    )(take)
