"""Refuses clusters whose ports anybody in the network of a remote engine could use.

The ports of a cluster in an engine on this host are bound to the loopback address. With a remote engine they are
bound to all addresses of its host, because this host must reach them.
"""

from __future__ import annotations

import os

from pytest_kafkacheck.cluster.spec.properties import listener_protocols, published
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import UsageError

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
