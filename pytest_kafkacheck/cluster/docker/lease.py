"""Leases: only one session at a time uses a cluster that it did not start.

The engine has no operation that removes an object only if it is still the one that was looked at. If a session that
finds the lease of a dead one removed it by a common name, it could remove the lease that a third session has just
taken. So no two claims have the same name, and a claim is removed only by its owner or when its owner is dead:

1. A session makes its claim, an empty volume, and then lists all claims. The later of two sees the earlier one.
2. If it sees no other living claim, it holds the lease.
3. If it sees an older one, it withdraws its own. If it sees only newer ones, it waits for them to be withdrawn,
   because one of them may hold the lease: its session may have listed before this claim was made.

So two sessions never hold a lease together, and of several that begin at once one gets it.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from docker.errors import APIError, NotFound

from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.engine import is_local
from pytest_kafkacheck.errors import UsageError

log = logging.getLogger(__name__)

WAIT = 2.0
"""Seconds for newer claims to be withdrawn."""

SHORT = "kafkacheck.short"
"""Label of a claim that ends soon."""

_IDENTITY = (reaper.OWNER, reaper.HOST, reaper.BOOT, reaper.NAMESPACE)


class LeaseHeld(UsageError):
    """Another living session holds the lease. `holder` says which one; `is_short`: the lease ends soon."""

    def __init__(self, what: str, holder: str, *, is_short: bool) -> None:
        super().__init__(f"{what} is in use by {holder}; wait until that session has ended")
        self.holder = holder
        self.is_short = is_short


@contextmanager
def leased(
    client: Any, key: str, *, what: str, labels: Mapping[str, str], is_short: bool = False
) -> Iterator[None]:
    """Hold the lease for the block.

    key     identifies what is leased, the same for all sessions.
    what    its name, for the message.
    labels  of the owner, see `reaper.labels`. Claims of one owner go together: workers of a session share a lease.
    is_short  the lease ends soon, so others may wait for it.
    Raises LeaseHeld.
    """
    name = f"kafkacheck-lease-{hashlib.sha256(key.encode()).hexdigest()[:12]}-{time.time_ns():020d}-{os.getpid()}"
    client.api.create_volume(
        name, labels={**labels, reaper.CLAIM: key, **({SHORT: "yes"} if is_short else {})}
    )
    try:
        _await_alone(client, name, key, what, labels)
        yield
    finally:
        _withdraw(client, name)


def _await_alone(client: Any, name: str, key: str, what: str, labels: Mapping[str, str]) -> None:
    deadline = time.monotonic() + WAIT
    while others := _others(client, name, key, labels):
        if min(others) < name or time.monotonic() > deadline:
            raise _held(what, others)
        time.sleep(0.05)


def require_unclaimed(client: Any, key: str, *, what: str, labels: Mapping[str, str]) -> None:
    """Raises LeaseHeld if another living session claims the lease. Arguments as of `leased`."""
    if others := _others(client, "", key, labels):
        raise _held(what, others)


def _held(what: str, others: Mapping[str, Mapping[str, str]]) -> LeaseHeld:
    holder = others[min(others)]
    process = holder.get(reaper.OWNER, "").partition("@")[0]
    host = holder.get(reaper.HOST, "another host")
    return LeaseHeld(what, f"process {process} on {host}", is_short=SHORT in holder)


def _others(client: Any, name: str, key: str, labels: Mapping[str, str]) -> dict[str, Mapping[str, str]]:
    """Labels of living sessions' other claims, by name. Removes those of dead sessions."""
    found, ours = {}, [labels.get(each) for each in _IDENTITY]
    for volume in client.api.volumes(filters={"label": f"{reaper.CLAIM}={key}"})["Volumes"] or ():
        theirs = volume["Labels"]
        if volume["Name"] == name or [theirs.get(each) for each in _IDENTITY] == ours:
            continue
        if reaper.is_orphaned(theirs, local=is_local(client)):
            _withdraw(client, volume["Name"])
        else:
            found[volume["Name"]] = theirs
    return found


def _withdraw(client: Any, name: str) -> None:
    try:
        with contextlib.suppress(NotFound):
            client.api.remove_volume(name, force=True)
    except (APIError, OSError) as error:
        # Other sessions find it without a living owner when this process has ended.
        log.warning("the lease %s is not released before this process ends: %s", name, error)
