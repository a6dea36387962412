"""The Docker engine."""

from __future__ import annotations

from typing import Any

import docker
import psutil
from docker.errors import DockerException, ImageNotFound

from pytest_kafkacheck.errors import InfrastructureError

SPARE_MB = 250
"""What a broker needs besides its heap: metaspace, threads, buffers, page cache for small logs (MiB)."""


def connect() -> Any:
    """A client of the engine the environment names. Raises InfrastructureError where none answers."""
    client = None
    try:
        client = docker.from_env(timeout=60)
        client.ping()
    except DockerException as error:
        if client is not None:
            client.close()
        raise InfrastructureError(
            f"No Docker engine answers: {error}\n"
            f"Tried the engine that DOCKER_HOST names, else the local socket. Start Docker, or on "
            f"Debian/Ubuntu run `kafkacheck setup` as root, which installs and starts one."
        ) from error
    return client


def require_image(client: Any, image: str) -> None:
    """Raise InfrastructureError when the image is not there."""
    try:
        client.images.get(image)
    except ImageNotFound as error:
        raise InfrastructureError(
            f"The engine has no image {image!r}. Run `kafkacheck setup`, which pulls or builds it."
        ) from error


def require_memory(client: Any, *, brokers: int, heap_mb: int) -> None:
    """Raise InfrastructureError when the brokers would not fit beside what runs already."""
    needed = brokers * (heap_mb + SPARE_MB)
    have = client.info()["MemTotal"] >> 20
    free = min(have, psutil.virtual_memory().available >> 20)
    if free < needed:
        raise InfrastructureError(
            f"{brokers} brokers with heap_mb={heap_mb} need about {needed} MiB; the engine has {have} MiB and "
            f"{free} MiB are free. Close other programs, or use fewer brokers or a smaller ClusterSpec.heap_mb."
        )
