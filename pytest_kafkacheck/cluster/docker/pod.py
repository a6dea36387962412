"""The pod: a container that owns a node's network namespace, name, addresses and ports.

The node's own container joins it, so that it can be killed, started and replaced and keeps all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_kafkacheck.cluster.docker.images import agent_image

HOLD = 'trap "exit 0" TERM INT; while :; do sleep 3600 & wait $!; done'


def create_pod(
    api: Any,
    *,
    name: str,
    host: str,
    network: str,
    ports: Mapping[int, tuple[str, int]],
    labels: Mapping[str, str],
) -> str:
    """Create and start a pod; returns its container's id.

    host   the name its peers know it by, on the network with that id.
    ports  port in its namespace to (address, port) on the engine's host.
    """
    container = str(
        api.create_container(
            image=agent_image(),
            name=name,
            command=["bash", "-c", HOLD],
            hostname=host,
            labels=dict(labels),
            ports=list(ports),
            host_config=api.create_host_config(cap_add=["NET_ADMIN"], port_bindings=dict(ports)),
            networking_config=api.create_networking_config(
                {network: api.create_endpoint_config(aliases=[host])}
            ),
        )["Id"]
    )
    api.start(container)
    return container
