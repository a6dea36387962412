"""A Kafka cluster in containers that are made without kafkacheck, with names, certificates and users of their own."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker.errors import NotFound

from pytest_kafkacheck.cluster.docker.attach import attached
from pytest_kafkacheck.cluster.docker.containers import archive
from pytest_kafkacheck.cluster.docker.images import image_for
from pytest_kafkacheck.cluster.spec.client_settings import read_client_settings
from pytest_kafkacheck.cluster.spec.security import Identity, issue_identity, security_properties
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from tests.support.real_cluster import wait_until
from workloads.clients.security import Security

USER, PASSWORD = "alice", "wonder-land"

PROPERTIES = """process.roles={roles}
node.id={node}
controller.quorum.voters=7@{first}:9093
controller.listener.names=C
listeners={listeners}P://:9092,O://:9094
inter.broker.listener.name=P
advertised.listeners=P://{name}:9092,O://localhost:{port}
log.dirs=/tmp/data
offsets.topic.replication.factor=1
"""

SCRIPT = """java -cp '/opt/kafka/libs/*' kafka.tools.StorageTool format -t AAAAAAAAAAAAAAAAAAAAAA -c /s.properties
exec java -Xmx256m -cp '/opt/kafka/libs/*' kafka.Kafka /s.properties"""

CLIENT = """# As Kafka's own tools take it.
security.protocol=SASL_SSL
sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\
    username="{user}" password="{password}";
ssl.truststore.type=PEM
ssl.truststore.location={ca}
"""


@dataclass(frozen=True)
class Foreign:
    """names   of its containers, as `attached` takes them.
    config  a file with the settings of its clients.
    """

    names: str
    config: Path

    @property
    def security(self) -> Security | None:
        return read_client_settings(self.config)


def free_ports(number: int) -> list[int]:
    """Other tests, and other sessions on this host, have clusters of their own."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def client_config(folder: Path, identity: Identity) -> Path:
    """A file with the settings of clients, and beside it the certificate of the authority."""
    ca, file = folder / "ca.pem", folder / "client.properties"
    ca.write_text(identity.ca)
    file.write_text(CLIENT.format(user=USER, password=PASSWORD, ca=ca))
    return file


@contextmanager
def two_nodes(engine: Any, folder: Path) -> Iterator[Foreign]:
    """Nodes 7 and 8. Node 7 is the only controller. Clients on this host need TLS, a name and a password.

    folder  for the settings of clients.
    """
    network = f"kctest-{uuid.uuid4().hex[:8]}"
    names = {7: f"{network}-orders", 8: f"{network}-billing"}
    # Not valid for 127.0.0.1, at which the ports are published.
    identity = issue_identity(["localhost"])
    secured = security_properties(
        {"C": "PLAINTEXT", "P": "PLAINTEXT", "O": "SASL_SSL"},
        mechanism="PLAIN",
        controller="C",
        identity=identity,
        users={USER: PASSWORD},
    )
    # Between the brokers there is no SASL.
    del secured["sasl.mechanism.inter.broker.protocol"]
    api = engine.api
    api.create_network(network, driver="bridge")
    try:
        for port, (node, name) in zip(free_ports(len(names)), names.items(), strict=True):
            roles, listeners = ("broker,controller", "C://:9093,") if node == 7 else ("broker", "")
            properties = PROPERTIES.format(
                roles=roles, node=node, first=names[7], listeners=listeners, name=name, port=port
            ) + "".join(f"{key}={value}\n" for key, value in secured.items())
            made = api.create_container(
                image_for("4.1.1", engine),
                name=name,
                entrypoint=["sh", "-c", SCRIPT],
                ports=[9094],
                host_config=api.create_host_config(
                    port_bindings={9094: ("127.0.0.1", port)}, network_mode=network
                ),
            )
            api.put_archive(made["Id"], "/", archive({"/s.properties": properties.encode()}))
            api.start(made["Id"])
        found = Foreign(",".join(names.values()), client_config(folder, identity))

        def answers() -> bool:
            with (
                suppress(UsageError, InfrastructureError),
                attached(engine, found.names, security=found.security) as cluster,
            ):
                return set(cluster.nodes) == set(names)
            return False

        wait_until(answers, limit=120)
        yield found
    finally:
        for name in names.values():
            with suppress(NotFound):
                api.remove_container(name, force=True, v=True)
        api.remove_network(network)
