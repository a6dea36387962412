"""What belongs to whom, and removing what a dead owner left behind.

Every container, network and volume carries the labels below. A session that was killed cannot clean
up; the next one does, by asking whether the owner still lives. Never touched: objects of a living
owner, and objects made on another host against the same engine.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
from docker.errors import APIError, NotFound

RUN = "kafkacheck.run"
OWNER = "kafkacheck.owner"
HOST = "kafkacheck.host"
BOOT = "kafkacheck.boot"


def labels(run: str) -> dict[str, str]:
    """Labels for everything this process makes for a run."""
    return {RUN: run, OWNER: _owner(os.getpid()), HOST: socket.gethostname(), BOOT: _boot()}


def orphaned(found: Mapping[str, str]) -> bool:
    """Whether the labels name an owner of this host that no longer lives."""
    if found.get(HOST) != socket.gethostname():
        return False
    if found.get(BOOT) != _boot():
        return True
    pid = found.get(OWNER, "").partition("@")[0]
    try:
        return _owner(int(pid)) != found.get(OWNER)
    except (ValueError, psutil.NoSuchProcess):
        return True
    except psutil.AccessDenied:
        return False


def sweep(client: Any) -> list[str]:
    """Remove what dead owners left. Returns the run ids that were removed."""
    return _remove(client, lambda found: orphaned(found))


def remove_run(client: Any, run: str) -> None:
    """Remove everything of one run."""
    _remove(client, lambda found: found.get(RUN) == run)


def remove_all(client: Any) -> list[str]:
    """Remove everything that carries our labels, whoever owns it."""
    return _remove(client, lambda _: True)


def _remove(client: Any, wanted: Any) -> list[str]:
    api, runs = client.api, set()
    for container in api.containers(all=True, filters={"label": RUN}):
        if wanted(container["Labels"]):
            runs.add(container["Labels"][RUN])
            # Another clean-up may be at it too: gone is what we want.
            with contextlib.suppress(NotFound):
                try:
                    api.remove_container(container["Id"], force=True, v=True)
                except APIError as error:
                    if error.status_code != 409:  # "removal is already in progress"
                        raise
    for network in api.networks(filters={"label": RUN}):
        if wanted(network["Labels"]):
            runs.add(network["Labels"][RUN])
            with contextlib.suppress(NotFound):
                api.remove_network(network["Id"])
    for volume in api.volumes(filters={"label": RUN})["Volumes"] or ():
        if wanted(volume["Labels"]):
            runs.add(volume["Labels"][RUN])
            with contextlib.suppress(NotFound):
                api.remove_volume(volume["Name"], force=True)
    return sorted(runs)


def _owner(pid: int) -> str:
    """Process id and start time: an id alone may have been given to another process since."""
    return f"{pid}@{psutil.Process(pid).create_time():.2f}"


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return f"{psutil.boot_time():.0f}"
