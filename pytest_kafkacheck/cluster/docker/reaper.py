"""What belongs to whom, and removing what a dead owner left behind.

Every container, network and volume carries the labels below. A session that was killed cannot clean
up; the next one does, by asking whether the owner still lives. Never touched: objects of a living
owner, what somebody chose to keep, and, for a day, objects whose owner cannot be asked for: those made on
another host against the same engine, or in a container that sees other process ids.

Labels cannot change later. So a cluster that shall be kept, or is used by a session that did not make it, gets an
empty volume beside it that says so: `keep` and `lease`.
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
from pathlib import Path
from typing import Any, Literal

import psutil
from docker.errors import APIError, DockerException, NotFound
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_fixed

from pytest_kafkacheck.cluster.docker import loop_devices
from pytest_kafkacheck.cluster.docker.deadline import run_with_deadline
from pytest_kafkacheck.cluster.docker.engine import is_local
from pytest_kafkacheck.errors import InfrastructureError

log = logging.getLogger(__name__)

RUN = "kafkacheck.run"
OWNER = "kafkacheck.owner"
HOST = "kafkacheck.host"
BOOT = "kafkacheck.boot"
NAMESPACE = "kafkacheck.namespace"
"""Where OWNER's process id means what it says: a container has ids of its own, also under the host's name."""

OWNERSHIP = (RUN, OWNER, HOST, BOOT, NAMESPACE)
KEPT = "kafkacheck.kept"
LEASE = "kafkacheck.lease"

FOREIGN_HOURS = 24.0
"""Hours after which another host's objects count as forgotten: whether its sessions live cannot be asked.
The environment's KAFKACHECK_FOREIGN_HOURS replaces it."""

LIMIT = 60.0
"""Seconds for the removal of one run."""


@dataclass(frozen=True)
class Part:
    """An object of the engine with our labels. `created`: seconds since the epoch, by the engine's clock."""

    kind: Literal["container", "network", "volume"]
    id: str
    labels: Mapping[str, str]
    created: float
    name: str = ""

    @property
    def run(self) -> str:
        return self.labels[RUN]


def labels(run: str, *, pid: int | None = None) -> dict[str, str]:
    """Labels for everything that this process makes for a run, or that belongs to another process of this host."""
    return {
        RUN: run,
        OWNER: _owner(os.getpid() if pid is None else pid),
        HOST: socket.gethostname(),
        BOOT: _boot(),
        NAMESPACE: _namespace(),
    }


def is_foreign(found: Mapping[str, str], *, local: bool = True) -> bool:
    """Whether this process cannot tell if the owner that the labels name still lives.

    local  whether the engine is on this host: a boot id that is not ours then means a boot before this one. With an
           engine elsewhere it may as well mean another host that has the same name.
    """
    if found.get(HOST) != socket.gethostname() or (found.get(BOOT) != _boot() and not local):
        return True
    return found.get(BOOT) == _boot() and found.get(NAMESPACE) != _namespace()


def is_orphaned(found: Mapping[str, str], *, local: bool = True) -> bool:
    """Whether the labels name an owner of this host that no longer lives."""
    if is_foreign(found, local=local):
        return False
    if found.get(BOOT) != _boot():
        return True
    try:
        pid = int(found.get(OWNER, "").partition("@")[0])
        # A killed process stays in the table until its parent asks for it, which some never do.
        if psutil.Process(pid).status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
            return True
        return _owner(pid) != found.get(OWNER)
    except (ValueError, psutil.NoSuchProcess):
        return True
    except psutil.AccessDenied:
        return False


def is_abandoned(parts: list[Part], *, now: float, local: bool = True) -> bool:
    """Whether nobody needs any of a run's parts: all owners dead or long silent, and not kept."""
    hours = float(os.environ.get("KAFKACHECK_FOREIGN_HOURS") or FOREIGN_HOURS)
    return not any(KEPT in part.labels for part in parts) and all(
        now - part.created > hours * 3600
        if is_foreign(part.labels, local=local)
        else is_orphaned(part.labels, local=local)
        for part in parts
    )


def parts_by_run(client: Any) -> dict[str, list[Part]]:
    """Everything of ours that the engine has."""
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
    """Remove what dead owners left. Returns the run ids that were removed.

    What the engine does not remove stays, with a warning: it shall keep nobody from working.
    """
    here, now, gone = is_local(client), time.time(), []
    for run, parts in sorted(parts_by_run(client).items()):
        if is_abandoned(parts, now=now, local=here):
            try:
                _remove(client, parts)
                gone.append(run)
            except (InfrastructureError, DockerException, OSError) as error:
                log.warning("%s", _left(run, parts, str(error)))
    return gone


def remove_run(client: Any, run: str) -> None:
    """Remove everything of one run, kept or not. Raises InfrastructureError when it does not go in time."""
    parts: list[Part] = []

    def remove() -> None:
        parts.extend(parts_by_run(client).get(run, ()))
        _remove(client, parts)

    try:
        run_with_deadline(LIMIT, remove, name=f"remove {run}")
    except Exception as error:
        raise InfrastructureError(_left(run, parts, str(error))) from error


def remove_unless_kept(client: Any, run: str) -> None:
    """Remove everything of one run, unless somebody chose to keep it. Raises InfrastructureError."""
    if run not in kept(client):
        remove_run(client, run)


@contextmanager
def removed_at_end(client: Any, run: str, *, leave: bool = False) -> Iterator[None]:
    """Remove a run when the block ends, unless somebody keeps it. Never hides the error that ended the block.

    leave  only when the block ends by an error.
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
    """Remove everything that carries our labels, whoever owns it."""
    runs = parts_by_run(client)
    for parts in runs.values():
        _remove(client, parts)
    return sorted(runs)


def keep(client: Any, run: str, *, marks: Mapping[str, str]) -> None:
    """Let a run outlive its owner until it is removed by name. `marks`: more labels of the sign that says so."""
    client.api.create_volume(f"kafkacheck-{run}-kept", labels={**labels(run), **marks, KEPT: "yes"})


def kept(client: Any) -> dict[str, Part]:
    """The signs of kept runs, by run."""
    found = client.api.volumes(filters={"label": KEPT})["Volumes"] or ()
    return {
        each["Labels"][RUN]: Part("volume", each["Name"], each["Labels"], _timestamp(each["CreatedAt"]))
        for each in found
    }


def take_lease(client: Any, run: str) -> bool:
    """Whether a kept run is this process's now. It is not while another living process has it."""
    name, ours = f"kafkacheck-{run}-lease", {**labels(run), LEASE: "yes"}
    # The engine answers with the volume that is there already, if one is: who made it, has the lease.
    holder = client.api.create_volume(name, labels=ours)["Labels"]
    if holder != ours and is_orphaned(holder, local=is_local(client)):
        release_lease(client, run)
        holder = client.api.create_volume(name, labels=ours)["Labels"]
    return bool(holder == ours)


def release_lease(client: Any, run: str) -> None:
    """Give the lease back."""
    with contextlib.suppress(NotFound):
        client.api.remove_volume(f"kafkacheck-{run}-lease", force=True)


def _remove(client: Any, parts: Iterable[Part]) -> None:
    """Of one run."""
    api, gone = client.api, list(parts)
    backing = [part for part in gone if loop_devices.DISK in part.labels]
    if not backing:
        _remove_parts(api, gone)
        return
    others = [part for part in gone if part not in backing]
    with loop_devices.loop_helper(api, [part.id for part in backing], labels=labels(gone[0].run)) as helper:
        helper.thaw()  # no process of a frozen disk can be ended
        _remove_parts(api, others)
        helper.detach()
    _remove_parts(api, backing)


def _remove_parts(api: Any, gone: list[Part]) -> None:
    # Containers first: networks and volumes are in use until then.
    for part in (part for part in gone if part.kind == "container"):
        # Another clean-up may be at it too: gone is what we want.
        with contextlib.suppress(NotFound):
            try:
                api.remove_container(part.id, force=True, v=True)
            except APIError as error:
                if error.status_code != 409:  # "removal is already in progress"
                    raise
    for part in gone:
        with contextlib.suppress(NotFound):
            if part.kind == "network":
                _once_unused(api.remove_network, part.id)
            elif part.kind == "volume":
                _once_unused(api.remove_volume, part.id, force=True)


def _left(run: str, parts: Iterable[Part], why: str) -> str:
    """For people: what may still be there of a run, and what to do about it."""
    names = ", ".join(f"{part.kind} {part.name or part.id}" for part in parts) or "it could not be asked what"
    return (
        f"Run {run} could not be removed: {why}. Left may be: {names}. "
        f"Once the engine answers: kafkacheck cluster down {run}"
    )


def _once_unused(remove: Callable[..., None], *arguments: Any, **options: Any) -> None:
    """Call when no container uses the object any more: another clean-up may still be at the last one."""
    Retrying(
        stop=stop_after_delay(LIMIT / 3),
        wait=wait_fixed(0.2),
        retry=retry_if_exception(
            lambda error: isinstance(error, APIError) and error.status_code in (403, 409)
        ),
        reraise=True,
    )(remove, *arguments, **options)


def _timestamp(text: str) -> float:
    """Of the engine's ISO 8601, which has nanoseconds, or none, and a zone."""
    head, zone = (text[:-1], "+00:00") if text.endswith("Z") else (text[:-6], text[-6:])
    return datetime.fromisoformat(head[:26] + zone).astimezone(UTC).timestamp()


def _owner(pid: int) -> str:
    """Process id and start: an id alone may have been given to another process since.

    On Linux the start is in ticks since the boot, which stay the same when the clock is set.
    """
    try:
        # The second field is the name, in brackets, and may itself hold blanks and brackets.
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
