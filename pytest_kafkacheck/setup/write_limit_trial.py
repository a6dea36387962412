"""Tries whether the engine's host can limit what a container writes to a disk, by measuring it."""

from __future__ import annotations

import secrets
from typing import Any

from docker.errors import DockerException
from docker.types import Mount

from nemesis.faults.slow_disk import CLEARLY, measured
from pytest_kafkacheck.cluster.docker import loop_devices, reaper
from pytest_kafkacheck.cluster.docker.containers import execute
from pytest_kafkacheck.cluster.docker.disk import write_limit
from pytest_kafkacheck.cluster.docker.images import agent_image
from pytest_kafkacheck.cluster.spec.properties import DATA
from pytest_kafkacheck.errors import InfrastructureError

DISK_MB = 16
RATE = 2_000_000
"""Bytes per second. As many bytes are written, so the trial takes a second where the limit works."""

LIMIT = 60
"""Seconds after which the container of the trial ends by itself."""


def try_write_limit(client: Any) -> str | None:
    """The reason why it is impossible; None where it is possible. Everything made is removed."""
    run = f"doctor-{secrets.token_hex(4)}"
    try:
        with reaper.removed_at_end(client, run):
            return _try(client.api, f"kafkacheck-{run}-data", reaper.labels(run))
    except (InfrastructureError, DockerException, OSError) as error:
        return str(error).partition(" What to do: ")[0]


def _try(api: Any, volume: str, labels: dict[str, str]) -> str | None:
    loop_devices.make_disks(api, {volume: volume.replace("-data", "-disk")}, mb=DISK_MB, owner=labels)
    device = api.inspect_volume(volume)["Options"]["device"]
    container = api.create_container(
        image=agent_image(),
        command=["sleep", str(LIMIT)],
        labels=labels,
        network_disabled=True,
        host_config=api.create_host_config(mounts=[Mount(DATA, volume, type="volume", labels=labels)]),
    )["Id"]
    try:
        api.start(container)
        write_limit(api, container, device, RATE, labels=labels)
        rate = measured(lambda command: execute(api, container, ["bash", "-c", command], timeout=LIMIT), RATE)
    finally:
        api.remove_container(container, force=True, v=True)
    return None if rate <= CLEARLY * RATE else f"limited to {RATE} bytes per second, it wrote {rate:.0f}"
