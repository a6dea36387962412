"""How people reach a running cluster, and how they remove it."""

from __future__ import annotations

from pytest_kafkacheck.cluster.docker.cluster import DockerCluster


def connection_info(cluster: DockerCluster) -> str:
    """Several lines of text: bootstrap servers, address of every listener, and the commands for logs and removal."""
    servers = f"bootstrap servers: {','.join(cluster.bootstrap)}"
    if cluster.spec.security != "PLAINTEXT":
        servers += f" ({cluster.spec.security}: kafkacheck cluster properties {cluster.run})"
    nodes = [
        f"  {node.id:>3} {node.member.host:<14} {node.endpoint.host}:{port} ({listener})"
        for node in cluster.nodes.values()
        for listener, port in node.endpoint.ports.items()
    ]
    return "\n".join(
        [
            f"cluster {cluster.run}: {cluster.spec.describe()}",
            servers,
            *nodes,
            f"logs:   kafkacheck cluster logs {cluster.run} [NODE]",
            f"remove: kafkacheck cluster down {cluster.run}",
        ]
    )
