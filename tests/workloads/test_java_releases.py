"""Java clients by name: which release is meant, what it needs of this machine, and what is said without that."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support.java_client import java_command
from workloads.append_log import AppendLog
from workloads.bank import Bank
from workloads.clients.command.library import introduce
from workloads.clients.java import program
from workloads.clients.java.releases import DEFAULT_RELEASE, is_java, release_in
from workloads.clients.library import check_library, versioned
from workloads.conformance import check_workload
from workloads.groups import Groups
from workloads.queue import Queue
from workloads.stored import built_in
from workloads.workload import libraries_of


def test_a_name_means_one_release() -> None:
    assert [is_java(name) for name in ("java", "java-3.7.2", "javascript", "kafka-python")] == [
        True, True, False, False,
    ]  # fmt: skip
    assert (release_in("java"), release_in("java-3.7.2")) == (DEFAULT_RELEASE, "3.7.2")
    assert (versioned("java", None), versioned("java", "2.8.0")) == ("java", "java-2.8.0")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"client_version": "3.7.2"},
            "AppendLog.client_version='3.7.2' with library='kafka-python': only library",
        ),
        (
            {"library": "java-3.7.2", "client_version": "4.1.0"},
            "only library='java' has releases to choose from",
        ),
        (
            {"library": "java", "client_version": "3.7"},
            "client_version='3.7': expected a release of kafka-clients",
        ),
        ({"library": "java", "client_version": 3}, "AppendLog.client_version=3: expected a release"),
        (
            {"library": "java", "client_version": "2.7.0"},
            "'2.7.0': expected a release of kafka-clients from 2.8.0",
        ),
        (
            {"library": "java-latest"},
            "client library 'java-latest': 'latest': expected a release of kafka-clients",
        ),
        ({"library": "java-"}, "client library 'java-': '': expected a release"),
        ({"library": "java", "client": {"acks": 1}}, "AppendLog.client['acks']: kafkacheck sets this itself"),
    ],
)
def test_wrong_releases_are_refused(values: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError) as refused:
        AppendLog(**values)  # type: ignore[arg-type]
    assert said in str(refused.value)


def test_each_workload_gives_its_clients_the_release() -> None:
    assert libraries_of(AppendLog(library="java", client_version="3.2.0")) == {"java-3.2.0"}
    assert libraries_of(AppendLog(library="java-3.2.0")) == {"java-3.2.0"}
    assert libraries_of(Bank()) == {"kafka-python"}
    assert libraries_of(Queue()) == {"java", "kafka-python"}
    assert libraries_of(Queue(client_version="4.4.0")) == {"java-4.4.0", "kafka-python"}
    Groups(library="java", protocol="consumer")
    for kind in built_in().values():
        if kind.declaration.name not in ("pipeline", ""):
            workload = kind(library="java", client_version="4.3.0")
            check_workload(workload)
            assert "java-4.3.0" in libraries_of(workload)
            assert kind.from_json(json.loads(json.dumps(workload.to_json()))) == workload


def test_what_is_missing_is_named_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    jar = tmp_path / "client.jar"
    monkeypatch.setattr(program, "JAR", jar)
    check_library("java-3.7.2")
    with pytest.raises(program.NoJavaClient, match=r"client\.jar is not built .* run `make java-client`"):
        introduce("java-3.7.2")
    jar.write_bytes(b"")
    with pytest.raises(program.NoJavaClient, match=r"run `kafkacheck setup --clients 3\.7\.2`"):
        introduce("java-3.7.2")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(program.NoJavaClient, match="neither JAVA_HOME nor PATH has one"):
        introduce("java-3.7.2")


def test_a_client_starts_with_its_archive_and_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its archive is of this jar and this Java, so another jar gets another one."""
    *java, _ = java_command()
    installed = program.jars_of(DEFAULT_RELEASE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    own = program.jars_of(DEFAULT_RELEASE)
    shutil.copytree(installed, own, ignore=shutil.ignore_patterns("*.jsa", "lock"))
    assert not [part for part in program.command(DEFAULT_RELEASE) if "SharedArchive" in part]
    program.ensure_archive(DEFAULT_RELEASE, Path(java[0]))
    (archive,) = own.glob("*.jsa")
    assert f"-XX:SharedArchiveFile={archive}" in program.command(DEFAULT_RELEASE)
    archive.chmod(0o600)
    archive.write_bytes(b"no archive")
    introduce.cache_clear()
    hello = introduce("java")
    introduce.cache_clear()
    assert (hello.library, hello.version, hello.has_clock) == (
        "org.apache.kafka:kafka-clients",
        DEFAULT_RELEASE,
        True,
    )
    assert {"share-groups", "group-consumer", "reported-ends"} <= hello.capabilities
