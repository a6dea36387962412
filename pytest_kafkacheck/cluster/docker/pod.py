"""The pod: a container that owns a node's network namespace, and with it the node's name, addresses and ports.

Prior art is the pause container of Kubernetes: a pod's containers join the network namespace of a container that does
nothing, so that they can be restarted without losing their address. A node here is two containers in the same way:

    pod      bash, sleeping; has the network, the published ports, NET_ADMIN, nft and tc; the agent runs here
    node     java; network_mode=container:<pod>, so it has no network settings of its own

What this makes simple:

- A broker can be killed, started, upgraded or replaced by a new container, and keeps its ports and addresses. Clients
  and peers see a restart of one broker, not a new broker. A container of its own could get another address at a
  restart, and other published ports when it is replaced.
- Faults survive restarts: rules live in the namespace, so a broker that restarts during a partition is still cut off.
- Kafka's image stays as it is. The tools for faults are in the pod's image, and only the pod has NET_ADMIN.

What is hard: the pod must run before its node, and after a restart of the engine as well (`repair` starts it). A node
that is attached to, and not started by kafkacheck, owns its network itself; there a sidecar joins the node's
namespace instead, and must join the new one after each start (`attach.AttachedNode`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_kafkacheck.cluster.docker.images import agent_image

HOLD = 'trap "exit 0" TERM INT; while :; do sleep 3600 & wait $!; done'

RIGHTS: dict[str, Any] = {
    "cap_drop": ["ALL"],
    "cap_add": ["NET_ADMIN"],
    "security_opt": ["no-new-privileges"],
}
"""Of a pod, and of the sidecar of an attached node: it may change its own network namespace, and nothing else."""


def create_pod(
    api: Any,
    *,
    name: str,
    host: str,
    network: str,
    ports: Mapping[int, tuple[str, int]],
    labels: Mapping[str, str],
) -> str:
    """Create a pod, and do not start it. Returns its container's id.

    host     the name by which its peers resolve it, on the network with the id `network`.
    ports    port in its namespace to (address, port) on the engine's host.
    """
    return str(
        api.create_container(
            image=agent_image(),
            name=name,
            command=["bash", "-c", HOLD],
            hostname=host,
            labels=dict(labels),
            ports=list(ports),
            host_config=api.create_host_config(port_bindings=dict(ports), **RIGHTS),
            networking_config=api.create_networking_config(
                {network: api.create_endpoint_config(aliases=[host])}
            ),
        )["Id"]
    )
