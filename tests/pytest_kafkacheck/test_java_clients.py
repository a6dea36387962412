"""kafka-clients comes from a folder, from a broker image or by Maven, whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_kafkacheck.cli.main import main
from pytest_kafkacheck.errors import InfrastructureError
from pytest_kafkacheck.setup import debian, java_clients


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(java_clients, "find_java", lambda: None)
    return tmp_path / "cache" / "kafkacheck" / "java-clients"


def listed(cache: Path, release: str) -> list[str]:
    return sorted(file.name for file in (cache / release).iterdir())


def test_a_folder_gives_what_a_client_needs_and_nothing_else(
    tmp_path: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    libs = tmp_path / "libs"
    libs.mkdir()
    for name in (
        "kafka-clients-3.7.2.jar",
        "zstd-jni-1.5.jar",
        "lz4-java-1.8.jar",
        "slf4j-api-1.7.jar",
        "kafka.jar",
    ):
        (libs / name).write_bytes(b"jar")
    order = ["setup", "--clients", "3.7.2", "--clients-from", str(libs)]
    assert main(order) == 0
    assert listed(cache, "3.7.2") == ["kafka-clients-3.7.2.jar", "lz4-java-1.8.jar", "zstd-jni-1.5.jar"]
    assert main([*order[:2], "3.7.1", *order[3:]]) == 2
    assert "there is no kafka-clients-3.7.1.jar in this folder" in capsys.readouterr().err
    assert [each.name for each in cache.iterdir()] == ["3.7.2"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--clients", "3.7"], "--clients '3.7': expected a release of kafka-clients, such as '3.7.2'"),
        (["--clients", "2.1.0"], "--clients '2.1.0': expected a release of kafka-clients from 2.8.0 on"),
        (["--clients-from", "libs"], "--clients-from: say which releases to take by --clients"),
    ],
)
def test_wrong_uses_of_setup_are_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["setup", *arguments]) == 2
    assert capsys.readouterr().err.strip().endswith(said)


def test_a_release_that_maven_does_not_find_is_one_sentence(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise InfrastructureError("Maven's output, a page of it")

    monkeypatch.setattr(java_clients, "is_copied_from_image", lambda _: False)
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/mvn")
    monkeypatch.setattr(debian, "run", fail)
    with pytest.raises(
        InfrastructureError, match=r"^Maven could not get kafka-clients 3\.3\.9: either there is no"
    ):
        java_clients.ensure_java_client("3.3.9", print)
    assert not list(cache.iterdir())
