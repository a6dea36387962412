"""Reattaches to a cluster that another session started, with the information in its labels."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from docker.errors import DockerException

from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.containers import read_file
from pytest_kafkacheck.cluster.docker.engine import reach
from pytest_kafkacheck.cluster.docker.lease import LeaseHeld, leased
from pytest_kafkacheck.cluster.docker.lifecycle import DockerMembership
from pytest_kafkacheck.cluster.docker.plan import (
    CLUSTER,
    ENDPOINT,
    FORMER_IDENTITY,
    IDENTITY,
    NODE,
    PART,
    ROLE,
    SPEC,
    Plan,
    uses_tls,
)
from pytest_kafkacheck.cluster.docker.repair import repair
from pytest_kafkacheck.cluster.spec.member import Endpoint, Member
from pytest_kafkacheck.cluster.spec.security import Identity
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import InfrastructureError, KafkacheckError, UsageError


def reattach(client: Any, run: str) -> DockerCluster:
    """The cluster of a run, in any state.

    Raises UsageError when there is no such cluster, InfrastructureError when parts of it are missing.
    """
    label = f"{reaper.RUN}={run}"
    containers = client.api.containers(all=True, filters={"label": label})
    pods = {each["Labels"][NODE]: each for each in containers if each["Labels"].get(PART) == "pod"}
    nodes = {each["Labels"][NODE]: each for each in containers if each["Labels"].get(PART) == "node"}
    if not nodes:
        raise UsageError(f"there is no cluster {run!r}; `kafkacheck cluster ls` lists those there are")
    if missing := sorted(nodes.keys() - pods.keys()):
        raise InfrastructureError(
            f"Cluster {run} is incomplete: node {', '.join(missing)} has no pod. Remove it: "
            f"kafkacheck cluster down {run}"
        )
    plan = _plan(client, run, next(iter(nodes.values())))
    cluster = DockerCluster(client, plan, {}, membership=DockerMembership)
    for node, container in nodes.items():
        role = json.loads(container["Labels"][ROLE])
        endpoint = json.loads(pods[node]["Labels"][ENDPOINT])
        member = Member(id=int(node), role=role["role"], rack=role["rack"])
        made = cluster.node(
            member,
            Endpoint(endpoint["host"], endpoint["ports"]),
            container=container["Id"],
            pod=pods[node]["Id"],
        )
        cluster.nodes[member.id] = made
    cluster.nodes = dict(sorted(cluster.nodes.items()))
    return cluster


@contextmanager
def take_over(
    client: Any, spec: ClusterSpec, say: Callable[[str], None] = lambda _: None
) -> Iterator[DockerCluster | None]:
    """Lease a kept cluster of that spec for the block; None when there is none that works and is not in use.

    The cluster is repaired first, and stays kept afterwards. `say` gets the reason for each cluster of that spec that
    is not used.
    """
    wanted = json.loads(json.dumps(spec.to_json()))
    for run, mark in reaper.kept(client).items():
        if json.loads(mark.labels[SPEC]) != wanted:
            continue
        with ExitStack() as stack:
            try:
                stack.enter_context(leased(client, run, what=f"cluster {run}", labels=reaper.labels(run)))
            except LeaseHeld as held:
                say(f"not using the kept cluster {run}: {held.holder} uses it")
                continue
            cluster = None
            try:
                cluster = reattach(client, run)
                repair(cluster)
            except (KafkacheckError, DockerException, OSError) as error:
                say(f"not using the kept cluster {run}: {error} To remove it: kafkacheck cluster down {run}")
                if cluster is not None:
                    cluster.close()
                continue
            stack.callback(cluster.close)
            yield cluster
            return
    yield None


def _plan(client: Any, run: str, container: Mapping[str, Any]) -> Plan:
    labels = container["Labels"]
    mark = reaper.kept(client).get(run)
    # A cluster may be changed before it is kept. The mark then has its current spec, the labels have the first one.
    spec = ClusterSpec.from_json(json.loads((mark.labels if mark else labels)[SPEC]))
    host, bind = reach(client)
    return Plan(
        run=run,
        spec=spec,
        image=container["Image"],
        owner={name: labels[name] for name in reaper.OWNERSHIP},
        cluster_id=labels[CLUSTER],
        host=host,
        bind=bind,
        identity=_identity(client, container, spec),
    )


def _identity(client: Any, container: Mapping[str, Any], spec: ClusterSpec) -> Identity | None:
    if not uses_tls(spec):
        return None
    found = container["Labels"].get(FORMER_IDENTITY)
    return Identity.from_json(json.loads(found or read_file(client.api, container["Id"], IDENTITY)))


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
