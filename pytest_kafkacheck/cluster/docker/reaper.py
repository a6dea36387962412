"""Records who owns each object of the engine, and removes the objects of owners that have died.

Every container, network and volume carries the labels below. A session that was killed cannot clean up. The next
session does, after it has checked that the owner's process is dead. It never removes objects of a living owner and
clusters that are kept. For a day it also leaves objects whose owner it cannot check: those made from another host
with the same engine, or from a container that sees other process ids.

Labels cannot change after an object was made. So an empty volume beside the cluster marks that it is kept (`keep`),
or that a session which did not make it uses it (`lease.leased`).
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal

import psutil
from docker.errors import APIError, DockerException, NotFound
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_fixed

from nemesis.tasks import in_thread, run_with_deadline
from pytest_kafkacheck.cluster.docker import loop_devices
from pytest_kafkacheck.cluster.docker.engine import is_local
from pytest_kafkacheck.cluster.docker.podman import DEPENDENTS
from pytest_kafkacheck.errors import InfrastructureError

log = logging.getLogger(__name__)

RUN = "kafkacheck.run"
OWNER = "kafkacheck.owner"
HOST = "kafkacheck.host"
BOOT = "kafkacheck.boot"
NAMESPACE = "kafkacheck.namespace"
"""The process namespace of OWNER's process id: a container has ids of its own, even under the host's name."""

OWNERSHIP = (RUN, OWNER, HOST, BOOT, NAMESPACE)
KEPT = "kafkacheck.kept"
USES = "kafkacheck.uses"
"""Label of parts on the network of another run: that run. They are removed before it, and with it."""
CLAIM = "kafkacheck.lease"
"""Label of a volume by which a session claims a lease, see `lease.leased`: what it claims."""

FOREIGN_HOURS = 24.0
"""Hours after which objects of another host count as abandoned, because its sessions cannot be checked from here.
The environment variable KAFKACHECK_FOREIGN_HOURS replaces it."""

LIMIT = 60.0
"""Seconds for the removal of one run."""


@dataclass(frozen=True)
class Part:
    """An object of the engine with kafkacheck's labels. `created`: seconds since the epoch, by the engine's clock."""

    kind: Literal["container", "network", "volume"]
    id: str
    labels: Mapping[str, str]
    created: float
    name: str = ""

    @property
    def run(self) -> str:
        return self.labels[RUN]


def labels(run: str, *, pid: int | None = None) -> dict[str, str]:
    """Labels for an object of a run. `pid`: the owner on this host; default: this process."""
    return {
        RUN: run,
        OWNER: _owner(os.getpid() if pid is None else pid),
        HOST: socket.gethostname(),
        BOOT: _boot(),
        NAMESPACE: _namespace(),
    }


def is_foreign(found: Mapping[str, str], *, local: bool = True) -> bool:
    """Whether this process cannot check if the owner in the labels is alive.

    local  whether the engine is on this host. Then another boot id means an earlier boot of this host; with a remote
           engine it can also mean another host of the same name.
    """
    if found.get(HOST) != socket.gethostname() or (found.get(BOOT) != _boot() and not local):
        return True
    return found.get(BOOT) == _boot() and found.get(NAMESPACE) != _namespace()


def is_orphaned(found: Mapping[str, str], *, local: bool = True) -> bool:
    """Whether the owner in the labels is a dead process of this host."""
    if is_foreign(found, local=local):
        return False
    if found.get(BOOT) != _boot():
        return True
    try:
        pid = int(found.get(OWNER, "").partition("@")[0])
        # A killed process stays in the process table until its parent waits for it, and some parents never do.
        if psutil.Process(pid).status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
            return True
        return _owner(pid) != found.get(OWNER)
    except (ValueError, psutil.NoSuchProcess):
        return True
    except psutil.AccessDenied:
        return False


def users(parts: Iterable[Part], *, local: bool = True) -> list[str]:
    """The sessions that use a run: those that own parts of it, and are alive or cannot be checked from here.

    Who made a kept run does not count as its user.
    """
    found = list(parts)
    is_kept = any(KEPT in part.labels for part in found)
    used = [part for part in found if (part.kind == "volume" and CLAIM in part.labels) or not is_kept]
    living = {
        f"process {part.labels.get(OWNER, '').partition('@')[0]} on {part.labels.get(HOST, 'another host')}"
        for part in used
        if not is_orphaned(part.labels, local=local)
    }
    return sorted(living)


def is_abandoned(parts: list[Part], *, now: float, local: bool = True) -> bool:
    """Whether a run can be removed: not kept, and each part's owner is dead or was out of reach for too long."""
    hours = float(os.environ.get("KAFKACHECK_FOREIGN_HOURS") or FOREIGN_HOURS)
    return not any(KEPT in part.labels for part in parts) and all(
        now - part.created > hours * 3600
        if is_foreign(part.labels, local=local)
        else is_orphaned(part.labels, local=local)
        for part in parts
    )


def parts_by_run(client: Any) -> dict[str, list[Part]]:
    """All objects with kafkacheck's labels, by run."""
    api, label = client.api, {"label": RUN}
    found = [
        *(Part("container", each["Id"], each["Labels"], float(each["Created"]),
               (each["Names"] or ("",))[0].lstrip("/"))
          for each in api.containers(all=True, filters=label)),
        *(Part("network", each["Id"], each["Labels"], _timestamp(each["Created"]), each["Name"])
          for each in api.networks(filters=label)),
        *(Part("volume", each["Name"], each["Labels"], _timestamp(each["CreatedAt"]), each["Name"])
          for each in api.volumes(filters=label)["Volumes"] or ()),
    ]  # fmt: skip
    runs: dict[str, list[Part]] = defaultdict(list)
    for part in found:
        runs[part.run].append(part)
    return dict(runs)


def sweep(client: Any) -> list[str]:
    """Remove abandoned runs. Returns the ids of those that were removed.

    A run that the engine fails to remove is left with a warning, because the caller can work nevertheless.
    """
    local, now, removed = is_local(client), time.time(), []
    runs = parts_by_run(client)
    # A network cannot be removed while a container of another run is on it.
    for run, parts in sorted(runs.items(), key=lambda item: (not _uses_another(item[1]), item[0])):
        if is_abandoned(parts, now=now, local=local):
            try:
                _remove(client, parts)
                removed.append(run)
            except (InfrastructureError, DockerException, OSError) as error:
                log.warning("%s", _removal_failed(run, parts, str(error)))
    return removed


def remove_run(client: Any, run: str) -> None:
    """Remove everything of one run, kept or not. Raises InfrastructureError when that fails or takes too long."""
    parts: list[Part] = []

    def remove() -> None:
        runs = parts_by_run(client)
        others = [part for each in runs.values() for part in each if part.labels.get(USES) == run]
        if others:
            _remove(client, others)
        parts.extend(runs.get(run, ()))
        _remove(client, parts)

    try:
        run_with_deadline(LIMIT, remove, name=f"remove {run}")
    except Exception as error:
        raise InfrastructureError(_removal_failed(run, parts, str(error))) from error


def remove_unless_kept(client: Any, run: str) -> None:
    """Remove everything of one run unless it is kept. Raises InfrastructureError."""
    if run not in kept(client):
        remove_run(client, run)


@contextmanager
def removed_at_end(client: Any, run: str, *, leave: bool = False) -> Iterator[None]:
    """Remove a run when the block ends, unless it is kept. Never hides an error that ended the block.

    leave  remove it only when the block ends by an error.
    """
    try:
        yield
    except BaseException:
        try:
            remove_unless_kept(client, run)
        except (InfrastructureError, DockerException, OSError) as error:
            log.warning("%s", error)
        raise
    if not leave:
        remove_unless_kept(client, run)


def remove_all(client: Any) -> list[str]:
    """Remove everything with kafkacheck's labels, of all owners. Returns the run ids."""
    runs = parts_by_run(client)
    for parts in sorted(runs.values(), key=_uses_another, reverse=True):
        _remove(client, parts)
    return sorted(runs)


def keep(client: Any, run: str, *, marks: Mapping[str, str]) -> None:
    """Let a run outlive its owner until it is removed by name. `marks`: more labels for the volume that marks it."""
    client.api.create_volume(f"kafkacheck-{run}-kept", labels={**labels(run), **marks, KEPT: "yes"})


def kept(client: Any) -> dict[str, Part]:
    """The volumes that mark kept runs, by run."""
    found = client.api.volumes(filters={"label": KEPT})["Volumes"] or ()
    return {
        each["Labels"][RUN]: Part("volume", each["Name"], each["Labels"], _timestamp(each["CreatedAt"]))
        for each in found
    }


def _uses_another(parts: Iterable[Part]) -> bool:
    return any(USES in part.labels for part in parts)


def _remove(client: Any, parts: Iterable[Part]) -> None:
    """Remove the parts of one run."""
    api, all_parts = client.api, list(parts)
    backing = [part for part in all_parts if loop_devices.DISK in part.labels]
    if not backing:
        remove_parts(api, all_parts)
        return
    others = [part for part in all_parts if part not in backing]
    with loop_devices.loop_helper(
        api, [part.id for part in backing], labels=labels(all_parts[0].run)
    ) as helper:
        helper.thaw()  # a process that waits for a frozen disk cannot be killed
        remove_parts(api, others)
        helper.detach()
    remove_parts(api, backing)


def remove_parts(api: Any, parts: list[Part]) -> None:
    # Containers first: networks and volumes are in use until then. The engine takes 0.1 to 0.6 s for each.
    containers = [part for part in parts if part.kind == "container"]
    removals = [
        in_thread(partial(_remove_container, api, part), f"remove {part.name}") for part in containers
    ]
    for removal in removals:
        removal.result()
    for part in parts:
        with contextlib.suppress(NotFound):
            if part.kind == "network":
                _repeated(_is_used, api.remove_network, part.id)
            elif part.kind == "volume":
                _repeated(_is_used, api.remove_volume, part.id, force=True)


def _remove_container(api: Any, part: Part) -> None:
    # Another clean-up may remove it at the same time, which is fine.
    with contextlib.suppress(NotFound):
        try:
            _repeated(_has_dependents, api.remove_container, part.id, force=True, v=True)
        except APIError as error:
            if error.status_code != 409:  # "removal is already in progress"
                raise


def _removal_failed(run: str, parts: Iterable[Part], why: str) -> str:
    """The message for a run that was not removed: the parts that may be left, and the command that removes them."""
    names = (
        ", ".join(f"{part.kind} {part.name or part.id}" for part in parts) or "the engine did not list them"
    )
    return (
        f"Run {run} could not be removed: {why}. These may be left: {names}. "
        f"Once the engine answers, run: kafkacheck cluster down {run}"
    )


def _has_dependents(error: APIError) -> bool:
    """Podman waits for their removal, which is under way."""
    return DEPENDENTS in str(error.explanation)


def _is_used(error: APIError) -> bool:
    """A container still uses it, which another clean-up may be removing."""
    return error.status_code in (403, 409)


def _repeated(
    is_passing: Callable[[APIError], bool], remove: Callable[..., None], *arguments: Any, **options: Any
) -> None:
    """Call `remove` again while its error is a passing one."""
    Retrying(
        stop=stop_after_delay(LIMIT / 3),
        wait=wait_fixed(0.2),
        retry=retry_if_exception(lambda error: isinstance(error, APIError) and is_passing(error)),
        reraise=True,
    )(remove, *arguments, **options)


def _timestamp(text: str) -> float:
    """Seconds since the epoch, from the engine's ISO 8601 with a zone and up to nine digits of a second."""
    head, zone = (text[:-1], "+00:00") if text.endswith("Z") else (text[:-6], text[-6:])
    return datetime.fromisoformat(head[:26] + zone).astimezone(UTC).timestamp()


def _owner(pid: int) -> str:
    """Process id and start time, because the kernel reuses ids.

    On Linux the start time is in ticks since the boot, so that setting the clock does not change it.
    """
    try:
        # The second field is the name in brackets, which may itself contain blanks and brackets.
        start = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        start = f"{psutil.Process(pid).create_time():.2f}"
    return f"{pid}@{start}"


def _namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").stat().st_ino)
    except OSError:
        return ""


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return f"{psutil.boot_time():.0f}"
