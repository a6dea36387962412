"""What a guardian does when the session of an attached cluster was killed; see `guardian`.

First it takes the leases of the nodes, so that a session that begins now waits for it. Then it lets all nodes run,
which takes a moment. Last it attaches to the cluster itself, makes clocks right, and restores what the session found
in Kafka.
"""

from __future__ import annotations

import json
import logging
import secrets
import sys
from contextlib import ExitStack, suppress
from typing import Any

from docker.errors import APIError, DockerException

from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.attach import AttachedCluster, attached, leases
from pytest_kafkacheck.cluster.docker.engine import connect
from pytest_kafkacheck.cluster.docker.guardian import DONE
from pytest_kafkacheck.cluster.docker.leftovers import wrong_clock
from pytest_kafkacheck.cluster.docker.node import DockerNode
from pytest_kafkacheck.cluster.kafka.settling import wait_settled
from pytest_kafkacheck.cluster.kafka.snapshot import Snapshot, restore
from pytest_kafkacheck.errors import InfrastructureError, KafkacheckError
from workloads.clients.security import Security

log = logging.getLogger(__name__)


def let_run(api: Any, container: str) -> None:
    """Thaw a container, continue its processes, or start it. Does nothing to one that runs."""
    state = api.inspect_container(container)["State"]
    if state["Paused"]:
        api.unpause(container)
    if state["Running"]:
        api.kill(container, signal="SIGCONT")
    else:
        api.start(container)


def mend(cluster: AttachedCluster, before: Snapshot) -> None:
    """Make clocks right, and restore what was there before. Raises OSError, and KafkacheckError of `restore`."""
    for node in tuple(cluster.nodes.values()):
        if _has_wrong_clock(node):
            node.clock.clear()
            # Kafka computes from the wall clock when it may connect to a peer again.
            node.restart()
            wait_settled(cluster)
    for line in restore(cluster.brokers, before):
        log.info("restored: %s", line)


def _has_wrong_clock(node: DockerNode) -> bool:
    # A host on which clocks cannot be read cannot set them either.
    with suppress(InfrastructureError):
        return wrong_clock(node) is not None
    return False


def main() -> None:
    what, containers = sys.argv[1], json.loads(sys.argv[2])
    remembered, _, end = sys.stdin.read().rpartition("\n")
    if end == DONE:
        return
    client = connect()
    # There is nobody to report errors to: the next session finds a cluster that does not settle.
    errors = KafkacheckError, DockerException, OSError
    with ExitStack() as stack:
        with suppress(*errors):
            # A session that begins once the nodes run must not come before the rest is mended.
            owner = reaper.labels(f"mend-{secrets.token_hex(4)}")
            stack.enter_context(leases(client, what, owner=owner, mends=True))
        for container in containers:
            with suppress(APIError):
                let_run(client.api, container)
        if remembered:
            given = json.loads(remembered)
            security = Security.from_json(given["security"]) if given["security"] else None
            with suppress(*errors), attached(client, what, security=security, mends=True) as cluster:
                mend(cluster, Snapshot.from_json(given["before"]))


if __name__ == "__main__":
    main()
