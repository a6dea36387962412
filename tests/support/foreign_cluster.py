"""A Kafka cluster in containers that are made without kafkacheck, with names of their own."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from docker.errors import NotFound

from pytest_kafkacheck.cluster.docker.attach import attached
from pytest_kafkacheck.cluster.docker.images import image_for
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from tests.support.real_cluster import wait_until

PROPERTIES = """process.roles={roles}
node.id={node}
controller.quorum.voters=7@{first}:9093
controller.listener.names=C
listeners={listeners}P://:9092,O://:9094
inter.broker.listener.name=P
advertised.listeners=P://{name}:9092,O://127.0.0.1:{port}
log.dirs=/tmp/data
listener.security.protocol.map=C:PLAINTEXT,P:PLAINTEXT,O:PLAINTEXT
offsets.topic.replication.factor=1
"""

SCRIPT = """java -cp '/opt/kafka/libs/*' kafka.tools.StorageTool format -t AAAAAAAAAAAAAAAAAAAAAA -c /tmp/s.properties
exec java -Xmx256m -cp '/opt/kafka/libs/*' kafka.Kafka /tmp/s.properties"""


def free_ports(number: int) -> list[int]:
    """Other tests, and other sessions on this host, have clusters of their own."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@contextmanager
def two_nodes(engine: Any) -> Iterator[str]:
    """Nodes 7 and 8, as `attached` names them. Node 7 is the only controller."""
    network = f"kctest-{uuid.uuid4().hex[:8]}"
    names = {7: f"{network}-orders", 8: f"{network}-billing"}
    api = engine.api
    api.create_network(network, driver="bridge")
    try:
        for port, (node, name) in zip(free_ports(len(names)), names.items(), strict=True):
            roles, listeners = ("broker,controller", "C://:9093,") if node == 7 else ("broker", "")
            properties = PROPERTIES.format(
                roles=roles, node=node, first=names[7], listeners=listeners, name=name, port=port
            )
            made = api.create_container(
                image_for("4.1.1", engine),
                name=name,
                entrypoint=["sh", "-c", f"printf '{properties}' > /tmp/s.properties\n{SCRIPT}"],
                ports=[9094],
                host_config=api.create_host_config(
                    port_bindings={9094: ("127.0.0.1", port)}, network_mode=network
                ),
            )
            api.start(made["Id"])
        what = ",".join(names.values())

        def answers() -> bool:
            with suppress(UsageError, InfrastructureError), attached(engine, what) as cluster:
                return set(cluster.nodes) == set(names)
            return False

        wait_until(answers, limit=120)
        yield what
    finally:
        for name in names.values():
            with suppress(NotFound):
                api.remove_container(name, force=True, v=True)
        api.remove_network(network)
