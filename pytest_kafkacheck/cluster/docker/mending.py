"""What a guardian does when the session of an attached cluster was killed; see `attach.guarded`.

First it takes the leases of the nodes, so that a session that begins now waits for it. Then it lets all nodes run,
which takes a moment. Last it attaches to the cluster itself, as a session does, which removes rules and makes clocks
right, and restores what the session found in Kafka.
"""

from __future__ import annotations

import json
import logging
import secrets
import sys
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import Any

from docker.errors import APIError, DockerException
from tenacity import RetryError, Retrying, retry_if_result, stop_after_delay, wait_fixed

from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.attach import DONE, AttachedCluster, attached
from pytest_kafkacheck.cluster.docker.attach_lease import leases
from pytest_kafkacheck.cluster.docker.engine import connect
from pytest_kafkacheck.cluster.docker.registers import TopicRegister
from pytest_kafkacheck.cluster.kafka import topics
from pytest_kafkacheck.cluster.kafka.dynamic import Snapshot, restore
from pytest_kafkacheck.errors import KafkacheckError
from workloads.clients.connection import Address
from workloads.clients.security import Security

log = logging.getLogger(__name__)

LIMIT = 60.0
"""Seconds after which no further attempt begins. In ZooKeeper mode, a broker that starts before its old session has
expired ends again, and with Kafka's default settings a session lasts for 18 s."""

PAUSE = 2.0
"""Seconds between two attempts."""


def let_run(api: Any, container: str) -> bool:
    """Thaw a container, continue its processes, or start it. Does nothing to one that runs.

    Returns whether it had ended.
    """
    state = api.inspect_container(container)["State"]
    if state["Paused"]:
        api.unpause(container)
    if state["Running"]:
        api.kill(container, signal="SIGCONT")
        return False
    api.start(container)
    return True


def let_all_run(api: Any, containers: Sequence[str]) -> bool:
    """As `let_run`, for containers that may be gone. Returns whether one of them had ended."""
    ended = []
    for container in containers:
        with suppress(APIError):
            ended.append(let_run(api, container))
    return any(ended)


def mend(cluster: AttachedCluster, before: Snapshot) -> None:
    """Restore what was there before, and delete topics of runs. Raises OSError and KafkacheckError."""
    for line in restore(cluster.brokers, before):
        log.info("restored: %s", line)
    register = TopicRegister(cluster.registered_as)
    for topic in sorted(abandoned := register.abandoned()):
        topics.delete(cluster.brokers, topic)
    register.deleted(abandoned)


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
        let_all_run(client.api, containers)
        if remembered:
            given = json.loads(remembered)
            security = Security.from_json(given["security"]) if given["security"] else None
            addresses = {
                int(node): Address(at[0], at[1], security) for node, at in given["addresses"].items()
            }

            def is_mended() -> bool:
                is_complete = False
                with (
                    suppress(*errors),
                    attached(client, what, security=security, addresses=addresses, mends=True) as cluster,
                ):
                    mend(cluster, Snapshot.from_json(given["before"]))
                    is_complete = True
                return not let_all_run(client.api, containers) and is_complete

            with suppress(RetryError):
                Retrying(
                    stop=stop_after_delay(LIMIT),
                    wait=wait_fixed(PAUSE),
                    retry=retry_if_result(lambda done: not done),
                )(is_mended)


if __name__ == "__main__":
    main()
