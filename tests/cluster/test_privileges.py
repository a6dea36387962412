"""Helper containers have the least that works, and no key is where everybody who lists containers sees it."""

from __future__ import annotations

import json

import pytest

from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.containers import execute
from pytest_kafkacheck.cluster.docker.plan import IDENTITY
from pytest_kafkacheck.cluster.docker.reattach import reattach

pytestmark = pytest.mark.cluster

NET_ADMIN, SYS_ADMIN = 1 << 12, 1 << 21
"""Bits of linux/capability.h."""


def capabilities(cluster: DockerCluster, container: str) -> int:
    status, output = execute(
        cluster.client.api, container, ["sed", "-n", "s/^CapEff:\t//p", "/proc/self/status"], timeout=30
    )
    assert status == 0, output
    return int(output, 16)


def test_helpers_have_one_capability_each(secured: DockerCluster) -> None:
    node = secured.nodes[1]
    assert node.disk.available()
    name = secured.client.api.inspect_container(node.container)["Name"].lstrip("/")
    assert capabilities(secured, node.pod) == NET_ADMIN
    assert capabilities(secured, f"{name}-sidecar") == SYS_ADMIN


def test_the_key_is_in_no_description_of_a_container(secured: DockerCluster) -> None:
    api = secured.client.api
    for container in api.containers(all=True, filters={"label": f"{reaper.RUN}={secured.run}"}):
        assert "PRIVATE KEY" not in json.dumps(api.inspect_container(container["Id"]))
    node = secured.nodes[1]
    assert node.execute(f"stat -c %a {IDENTITY} /k/server.properties")[1].split() == ["600", "600"]
    assert reattach(secured.client, secured.run).plan.identity == secured.plan.identity


def test_the_sidecar_without_a_disk_has_no_capability(cluster: DockerCluster) -> None:
    status, output = cluster.nodes[1].disk.run(
        "sed -n 's/^CapEff:\t//p' /proc/self/status; ls /k/data | wc -l"
    )
    assert status == 0
    effective, files = output.split()
    assert (int(effective, 16), int(files) > 0) == (0, True)
