"""The Docker engine: connecting to it, and checking that it can have a cluster: images, memory, open ports."""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import docker
import psutil
from docker.errors import APIError, DockerException, ImageNotFound

from pytest_kafkacheck.cluster.docker.podman import recognise
from pytest_kafkacheck.cluster.spec.properties import listener_protocols, published
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import InfrastructureError, MissingImageError, UsageError

SPARE_MB = 250
"""MiB that a broker needs besides its heap: metaspace, threads, buffers, page cache for small logs."""

ZOOKEEPER_MB = 150


def connect() -> Any:
    """A client of the engine that the environment names. Raises InfrastructureError when it does not answer."""
    client = None
    try:
        client = docker.from_env(timeout=60)
        _one_pool(client)
        recognise(client.api, client.version())
    except DockerException as error:
        if client is not None:
            client.close()
        if "paramiko" in str(error):
            raise InfrastructureError(
                "DOCKER_HOST=ssh://… needs one more package: pip install 'pytest-kafkacheck[ssh]'"
            ) from error
        if is_refused(error):
            raise InfrastructureError(_refused()) from error
        raise InfrastructureError(
            f"No Docker engine answers: {error}\n"
            f"Tried the engine that DOCKER_HOST names, else the local socket. Start Docker, or on "
            f"Debian/Ubuntu run `kafkacheck setup` as root, which installs and starts one."
        ) from error
    return client


def is_refused(error: BaseException | None) -> bool:
    """Whether the error says that this user may not use the engine's socket."""
    while error is not None and not isinstance(error, PermissionError):
        error = error.__cause__ or error.__context__
    return error is not None


def _refused() -> str:
    where, user = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock"), getpass.getuser()
    return (
        f"User {user} has no permission on the Docker engine's socket {where}.\n"
        f"Add the user to the group docker with `sudo usermod -aG docker {user}` and log in again; or install a "
        f"rootless engine with `dockerd-rootless-setuptool.sh install` and set "
        f"DOCKER_HOST=unix:///run/user/{os.getuid()}/docker.sock; or name another engine with DOCKER_HOST."
    )


def _one_pool(client: Any) -> None:
    """Make docker-py use one connection pool over SSH.

    It keeps a pool of up to nine connections for every URL it has used. Each connection is a session of the SSH
    server, which allows ten per client by default. One pool with three idle connections is enough.
    """
    adapter: Any = getattr(client.api, "_custom_adapter", None)
    if hasattr(adapter, "ssh_host"):
        by_url = adapter.get_connection
        adapter.max_pool_size = 3
        adapter.get_connection = lambda _, proxies=None: by_url("engine", proxies)


def require_image(client: Any, image: str) -> None:
    """Raise MissingImageError, with the command that provides the image, when the engine does not have it."""
    try:
        client.images.get(image)
    except ImageNotFound:
        kafka = re.match(r"(?:apache|kafkacheck)/kafka:(\d+\.\d+\.\d+)", image)
        remedy = f"kafkacheck image build {kafka[1]}" if kafka else "kafkacheck setup"
        if not kafka and not image.startswith("kafkacheck/"):
            remedy = f"docker pull {image}"
        raise MissingImageError(f"The engine has no image {image!r}. Run: {remedy}") from None


def require_layout(client: Any, image: str, *, labels: Mapping[str, str]) -> None:
    """Raise UsageError when a user's image lacks what start.sh needs: a shell, java, and Kafka's jars."""
    api = client.api
    check = "command -v java >/dev/null || exit 3; ls /opt/kafka/libs/kafka_*.jar >/dev/null 2>&1 || exit 4"
    container = api.create_container(
        image=image, entrypoint=["sh", "-c", check], user="0", labels=dict(labels)
    )["Id"]
    try:
        api.start(container)
        status = api.wait(container, timeout=30)["StatusCode"]
    except APIError as error:
        raise UsageError(f"ClusterSpec.image={image!r}: it has no shell: {error.explanation}") from error
    finally:
        api.remove_container(container, force=True, v=True)
    if status:
        missing = {3: "no java on its path", 4: "no Kafka in /opt/kafka/libs"}.get(status, f"status {status}")
        raise UsageError(
            f"ClusterSpec.image={image!r} is laid out differently: {missing}. Kafka's own images (apache/kafka, 3.7 "
            f"and later) and those of `kafkacheck image build` fit"
        )


def require_memory(client: Any, spec: ClusterSpec, *, times: int = 1, beside_mb: int = 0) -> None:
    """Raise InfrastructureError when the nodes of so many clusters, and what runs beside them, need more memory than
    is available now."""
    jvms = spec.brokers + spec.controllers
    needed = times * (jvms * (spec.heap_mb + SPARE_MB) + spec.zookeepers * ZOOKEEPER_MB) + beside_mb
    have = client.info()["MemTotal"] >> 20
    # A remote engine reports its total memory only.
    free = min(have, psutil.virtual_memory().available >> 20) if is_local(client) else have
    if free < needed:
        several, fewer = (f"{times} clusters of ", "fewer clusters, ") if times > 1 else ("", "")
        raise InfrastructureError(
            f"{several}{spec.describe()} with heap_mb={spec.heap_mb} need about {needed} MiB; the engine has {have} "
            f"MiB, of which {free} MiB are available. Close other programs, or use {fewer}fewer brokers or a smaller "
            f"ClusterSpec.heap_mb."
        )


def is_local(client: Any) -> bool:
    """Whether the engine is reached through a socket of this host."""
    return str(client.api.base_url).startswith("http+docker://localhost")


def reach(client: Any) -> tuple[str, str]:
    """(address at which this host reaches published ports, address to which the engine binds them).

    The loopback address for an engine on this host; the engine's host for one over TCP or SSH.
    """
    url = urlsplit(client.api.base_url)
    host = getattr(getattr(client.api, "_custom_adapter", None), "ssh_host", None)
    if host is not None:
        host = urlsplit(host if "//" in host else f"ssh://{host}").hostname
    elif url.scheme in ("http", "https"):
        host = url.hostname
    if host in (None, "localhost", "127.0.0.1", "::1"):
        return "127.0.0.1", "127.0.0.1"
    return str(host), "0.0.0.0"


# The ports of a cluster in an engine on this host are bound to the loopback address. With a remote engine they are
# bound to all addresses of its host, because this host must reach them.

ALLOWED = "KAFKACHECK_OPEN_PORTS"
"""Environment variable: "yes" allows listeners that are not protected. It lies beside DOCKER_HOST, which names the
engine."""

LOOPBACK = "127.0.0.1"


def check_ports(spec: ClusterSpec, *, bind: str) -> None:
    """Raise UsageError for a listener without TLS and SASL that is published beyond the engine's own host.

    bind  the address to which the engine binds published ports, see `engine.reach`.
    """
    if bind == LOOPBACK or os.environ.get(ALLOWED) == "yes":
        return
    protocols = listener_protocols(spec)
    names = {name for member in spec.members for name in published(spec, member)}
    if open_to_all := sorted(name for name in names if protocols.get(name) != "SASL_SSL"):
        listed = ", ".join(f"{name} ({protocols.get(name, 'plain text')})" for name in open_to_all)
        raise UsageError(
            f"the engine is on another host, so the cluster's ports are open to everybody who reaches that host, and "
            f"these listeners have no TLS with SASL: {listed}. Use ClusterSpec(security='SASL_SSL') with KRaft, or, "
            f"in a network that you trust, set the environment variable {ALLOWED}=yes"
        )
