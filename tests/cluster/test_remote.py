"""An engine over TCP, at an address that is not the loopback's: clusters, faults and logs work as they do here."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from rounds import objects, round_of

from pytest_kafkacheck.cluster import lifecycle
from pytest_kafkacheck.cluster.cluster import running
from pytest_kafkacheck.cluster.engine import connect, reach
from pytest_kafkacheck.cluster.spec import ClusterSpec

pytestmark = pytest.mark.cluster


def pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


@pytest.fixture
def remote(engine: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client that knows the engine by the address of its bridge; TCP there is passed on to the engine's socket."""
    (config,) = engine.api.inspect_network("bridge")["IPAM"]["Config"]
    open_sockets: list[socket.socket] = []

    def serve(listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listening.accept()
                backend = socket.socket(socket.AF_UNIX)
                backend.connect("/var/run/docker.sock")
                open_sockets.extend((client, backend))
                for ends in ((client, backend), (backend, client)):
                    threading.Thread(target=pump, args=ends, daemon=True).start()

    with socket.create_server((config["Gateway"], 0)) as listening:
        host, port = listening.getsockname()
        threading.Thread(target=serve, args=(listening,), daemon=True).start()
        monkeypatch.setenv("DOCKER_HOST", f"tcp://{host}:{port}")
        client = connect()
        assert reach(client) == (host, "0.0.0.0")
        yield client
        client.close()
        listening.shutdown(socket.SHUT_RDWR)
    for each in open_sockets:
        each.close()


def test_a_cluster_in_an_engine_elsewhere(engine: Any, remote: Any, tmp_path: Path) -> None:
    host, _ = reach(remote)
    with running(remote, ClusterSpec(), run="remote", logs=tmp_path) as cluster:
        assert {address.host for address in cluster.brokers.values()} == {host}
        round_of(cluster)
        node = cluster.nodes[2]
        assert node.shell("nft list tables")[0] == 0
        node.freeze()
        assert not cluster.serving(2)
        node.thaw()
        lifecycle.wait_settled(cluster)
        cluster.save_logs(tmp_path)
        assert b"Kafka Server started" in (tmp_path / "kafka1.log").read_bytes()
    assert objects(engine, "remote") == []
