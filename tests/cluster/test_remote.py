"""Clusters, faults and logs work with an engine over TCP or SSH as well."""

from __future__ import annotations

import getpass
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pytest_kafkacheck.cluster.docker import lifecycle
from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.docker.engine import connect, reach
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import UsageError
from tests.support.engine_relay import relayed
from tests.support.real_cluster import objects, own, round_of, wait_until

pytestmark = pytest.mark.cluster

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/sbin")


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@pytest.fixture
def remote(engine: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client that reaches the engine over TCP, at the bridge's address."""
    with relayed(engine) as (host, port):
        monkeypatch.setenv("DOCKER_HOST", f"tcp://{host}:{port}")
        monkeypatch.setenv("KAFKACHECK_OPEN_PORTS", "yes")  # the bridge is reached from this host only
        client = connect()
        assert reach(client) == (host, "0.0.0.0")
        yield client
        client.close()


@pytest.fixture
def behind_ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client that reaches the engine through an SSH server on the loopback address, with keys of its own."""
    if SSHD is None:
        pytest.skip("no SSH server is installed: apt-get install openssh-server")
    home = tmp_path / "home" / ".ssh"
    home.mkdir(parents=True)
    for name in ("host", "id_ed25519"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(home / name)], check=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (home / "known_hosts").write_text(f"[127.0.0.1]:{port} {(home / 'host.pub').read_text()}")
    Path("/run/sshd").mkdir(exist_ok=True)
    options = {
        "ListenAddress": "127.0.0.1",
        "AuthorizedKeysFile": home / "id_ed25519.pub",
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
        "PermitRootLogin": "yes",
    }
    command = [SSHD, "-D", "-f", "/dev/null", "-p", str(port), "-h", str(home / "host")]
    server = subprocess.Popen([*command, *(f"-o{name}={value}" for name, value in options.items())])
    try:
        monkeypatch.setenv("HOME", str(home.parent))
        monkeypatch.setenv("DOCKER_HOST", f"ssh://{getpass.getuser()}@127.0.0.1:{port}")

        wait_until(lambda: _listens(port), limit=10)
        client = connect()
        yield client
        client.close()
    finally:
        server.terminate()
        server.wait(timeout=10)


@pytest.mark.nightly
def test_a_cluster_in_an_engine_over_ssh(engine: Any, behind_ssh: Any, tmp_path: Path) -> None:
    assert behind_ssh.api.base_url == "http+docker://ssh"
    exercise(engine, behind_ssh, tmp_path)


@pytest.mark.nightly
def test_a_cluster_in_an_engine_over_tcp(engine: Any, remote: Any, tmp_path: Path) -> None:
    exercise(engine, remote, tmp_path)


def test_ports_that_everybody_could_use_are_refused(
    engine: Any, remote: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KAFKACHECK_OPEN_PORTS")
    with (
        pytest.raises(UsageError, match=r"EXTERNAL \(PLAINTEXT\).*SASL_SSL.*KAFKACHECK_OPEN_PORTS=yes"),
        running(remote, ClusterSpec(brokers=1), run=own("open"), logs=tmp_path),
    ):
        pass
    assert objects(engine, own("open")) == []


def exercise(engine: Any, remote: Any, tmp_path: Path) -> None:
    host, _ = reach(remote)
    with running(remote, ClusterSpec(), run=own("remote"), logs=tmp_path) as cluster:
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
    assert objects(engine, own("remote")) == []
