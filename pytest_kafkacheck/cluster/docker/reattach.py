"""A running cluster as its labels tell of it: put together by a session that did not start it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from docker.errors import DockerException

from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.engine import reach
from pytest_kafkacheck.cluster.docker.membership import DockerMembership
from pytest_kafkacheck.cluster.docker.plan import CLUSTER, ENDPOINT, IDENTITY, NODE, PART, ROLE, SPEC, Plan
from pytest_kafkacheck.cluster.docker.repair import repair
from pytest_kafkacheck.cluster.spec.certificates import Identity
from pytest_kafkacheck.cluster.spec.member import Endpoint, Member
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import InfrastructureError, KafkacheckError, UsageError


def reattach(client: Any, run: str) -> DockerCluster:
    """The cluster of a run, whatever state it is in.

    Raises UsageError when there is none, InfrastructureError when parts of it are missing.
    """
    label = f"{reaper.RUN}={run}"
    containers = client.api.containers(all=True, filters={"label": label})
    pods = {each["Labels"][NODE]: each for each in containers if each["Labels"].get(PART) == "pod"}
    nodes = {each["Labels"][NODE]: each for each in containers if each["Labels"].get(PART) == "node"}
    if not nodes:
        raise UsageError(f"there is no cluster {run!r}; `kafkacheck cluster ls` lists those there are")
    if missing := sorted(nodes.keys() - pods.keys()):
        raise InfrastructureError(
            f"Cluster {run} is not whole: node {', '.join(missing)} has no pod. Remove it: "
            f"kafkacheck cluster down {run}"
        )
    plan = _plan(client, run, next(iter(nodes.values())))
    cluster = DockerCluster(client, plan, {}, membership=DockerMembership)
    for node, container in nodes.items():
        told = json.loads(container["Labels"][ROLE])
        endpoint = json.loads(pods[node]["Labels"][ENDPOINT])
        member = Member(id=int(node), role=told["role"], rack=told["rack"])
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
    """A kept cluster of that spec which serves and which nobody else uses, for as long as the block runs; or None.

    What its last user left broken is mended. `say` is told why one that was there is not taken. It is kept afterwards
    as well.
    """
    wanted = json.loads(json.dumps(spec.to_json()))
    for run, sign in reaper.kept(client).items():
        if json.loads(sign.labels[SPEC]) != wanted:
            continue
        if not reaper.take_lease(client, run):
            say(f"not using the kept cluster {run}: another session uses it")
            continue
        try:
            cluster = None
            try:
                cluster = reattach(client, run)
                repair(cluster)
            except (KafkacheckError, DockerException, OSError) as error:
                say(f"not using the kept cluster {run}: {error} To remove it: kafkacheck cluster down {run}")
                if cluster is not None:
                    cluster.close()
                continue
            try:
                yield cluster
            finally:
                cluster.close()
            return
        finally:
            reaper.release_lease(client, run)
    yield None


def _plan(client: Any, run: str, container: Mapping[str, Any]) -> Plan:
    labels = container["Labels"]
    sign = reaper.kept(client).get(run)
    # A cluster that was changed before it was kept is what the sign says, not what it was made as.
    spec = ClusterSpec.from_json(json.loads((sign.labels if sign else labels)[SPEC]))
    host, bind = reach(client)
    return Plan(
        run=run,
        spec=spec,
        image=container["Image"],
        owner={name: labels[name] for name in reaper.OWNERSHIP},
        cluster_id=labels[CLUSTER],
        host=host,
        bind=bind,
        identity=Identity.from_json(json.loads(labels[IDENTITY])) if IDENTITY in labels else None,
    )
