"""Compose projects as people have them, on an image that makes its settings from KAFKA_* variables."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import tarfile
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from docker.errors import ImageNotFound

from pytest_kafkacheck.cluster.docker.images import image_for
from tests.support.compose_project import COMPOSE
from tests.support.foreign_cluster import free_ports
from tests.support.real_cluster import wait_until

CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"

LOGGING = """Configuration:
  Appenders: {Console: {name: out, PatternLayout: {pattern: "[%d] %p %m (%c)%n"}}}
  Loggers: {Root: {level: INFO, AppenderRef: {ref: out}}}
"""

ENTRY = r"""#!/bin/bash
# Settings from the environment: KAFKA_LOG_DIRS=/data is log.dirs=/data. KAFKA_HEAP_OPTS is no setting.
env | grep '^KAFKA_' | grep -v '^KAFKA_HEAP' | while IFS='=' read -r name value; do
  name=${name#KAFKA_}; name=${name,,}; echo "${name//_/.}=$value"
done > /server.properties
if grep -q '^process.roles' /server.properties; then
  java -Xmx64m -XX:TieredStopAtLevel=1 -cp '/opt/kafka/libs/*' kafka.tools.StorageTool format --ignore-formatted \
    -t "$CLUSTER_ID" -c /server.properties $FORMAT || exit 1
fi
exec java ${KAFKA_HEAP_OPTS:--Xmx256m} -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:+ExitOnOutOfMemoryError \
  -Dlog4j2.configurationFile=/log4j2.yaml -cp '/opt/kafka/libs/*' kafka.Kafka /server.properties
"""


def image(engine: Any, version: str = "4.1.1") -> str:
    """The image; built from the broker image of that release where it is missing."""
    base = image_for(version, engine)
    files = {
        "Dockerfile": f'FROM {base}\nCOPY entry.sh log4j2.yaml /\nENTRYPOINT ["bash", "/entry.sh"]\n',
        "entry.sh": ENTRY,
        "log4j2.yaml": LOGGING,
    }
    name = f"kafkacheck-tests/kafka-from-environment:{hashlib.sha256(repr(files).encode()).hexdigest()[:12]}"
    try:
        engine.images.get(name)
    except ImageNotFound:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            for path, text in files.items():
                entry = tarfile.TarInfo(path)
                entry.size = len(text.encode())
                tar.addfile(entry, io.BytesIO(text.encode()))
        buffer.seek(0)
        engine.images.build(fileobj=buffer, custom_context=True, tag=name, rm=True)
    return name


def broker(node: int, port: int, *, nodes: int = 3, **settings: object) -> dict[str, Any]:
    """A service: one combined node of so many, published at `port` on the loopback address.

    settings  replace the defaults, by name of the variable without KAFKA_; None leaves one out.
    """
    voters = ",".join(f"{each}@kafka{each}:9093" for each in range(1, nodes + 1))
    found: dict[str, object] = {
        "NODE_ID": node,
        "PROCESS_ROLES": "broker,controller",
        "CONTROLLER_QUORUM_VOTERS": voters,
        "CONTROLLER_LISTENER_NAMES": "CONTROLLER",
        "LISTENERS": "CONTROLLER://:9093,INTERNAL://:9092,EXTERNAL://:9094",
        "ADVERTISED_LISTENERS": f"INTERNAL://kafka{node}:9092,EXTERNAL://localhost:{port}",
        "LISTENER_SECURITY_PROTOCOL_MAP": "CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT,EXTERNAL:PLAINTEXT",
        "INTER_BROKER_LISTENER_NAME": "INTERNAL",
        "LOG_DIRS": "/data",
        "OFFSETS_TOPIC_REPLICATION_FACTOR": min(nodes, 3),
        "OFFSETS_TOPIC_NUM_PARTITIONS": 1,
        "GROUP_INITIAL_REBALANCE_DELAY_MS": 0,
        "LOG_CLEANER_DEDUPE_BUFFER_SIZE": 8 << 20,
        **settings,
    }
    environment = {f"KAFKA_{name}": str(value) for name, value in found.items() if value is not None}
    return {
        "environment": {"CLUSTER_ID": CLUSTER_ID, **environment},
        "ports": [f"127.0.0.1:{port}:9094"],
    }


def brokers(number: int = 3, **settings: object) -> dict[str, dict[str, Any]]:
    """So many services as of `broker`."""
    ports = free_ports(number)
    return {
        f"kafka{node}": broker(node, port, nodes=number, **settings)
        for node, port in zip(range(1, number + 1), ports, strict=True)
    }


@contextmanager
def project(
    engine: Any,
    folder: Path,
    services: Mapping[str, Mapping[str, Any]],
    *,
    more: Mapping[str, Any] | None = None,
    up: tuple[str, ...] = (),
    version: str = "4.1.1",
) -> Iterator[str]:
    """Start a project. Gives its name; its containers run, and its brokers may not answer yet.

    services  without an image of their own get that of `image`.
    more      of the compose file beside its services.
    up        more arguments of ``docker-compose up``.
    """
    name, default = f"kcp{uuid.uuid4().hex[:8]}", image(engine, version)
    content = {
        "version": "2.4",
        "services": {key: {"image": default, **service} for key, service in services.items()},
        **(more or {}),
    }
    (folder / "compose.yml").write_text(json.dumps(content))
    command = [*COMPOSE, "-f", str(folder / "compose.yml"), "-p", name]

    def compose(*arguments: str) -> None:
        done = subprocess.run([*command, *arguments], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    try:
        compose("up", "-d", *up)
        yield name
    finally:
        compose("down", "-v", "-t", "1")


def container(engine: Any, name: str, service: str, number: int = 1) -> str:
    """The id of a service's container."""
    labels = [f"com.docker.compose.project={name}", f"com.docker.compose.service={service}"]
    found = engine.api.containers(
        all=True, filters={"label": [*labels, f"com.docker.compose.container-number={number}"]}
    )
    return str(found[0]["Id"])


def wait_log(
    engine: Any, name: str, services: Iterable[str], *, text: str = "Kafka Server started", limit: float = 120
) -> None:
    """Until each of the services has written that. Fails with the end of its log if it ends before."""
    for service in services:
        found = container(engine, name, service)

        def written(of: str = found) -> bool:
            log = engine.api.logs(of)
            assert engine.api.inspect_container(of)["State"]["Running"], log[-2000:].decode()
            return text.encode() in log

        wait_until(written, limit=limit)


def state(engine: Any, name: str) -> Callable[[], object]:
    """What a session must leave as it was, of a project: returns what looks at it."""

    def look() -> object:
        found = engine.api.containers(all=True, filters={"label": f"com.docker.compose.project={name}"})
        return sorted((each["Id"], each["State"]) for each in found)

    return look
