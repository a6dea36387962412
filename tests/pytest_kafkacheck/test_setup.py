"""Setup: what it finds, what it refuses, and what its errors say to do."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_kafkacheck.cluster.docker import images
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from pytest_kafkacheck.setup import debian, engine, everything, image_build, java
from pytest_kafkacheck.spark import parse_settings


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("output", "number"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "25" 2025-09-16', 25),
        ("no such thing", None),
    ],
)
def test_release_of_a_java_program(tmp_path: Path, output: str, number: int | None) -> None:
    assert java.release(program(tmp_path / "java", f"echo '{output}' >&2")) == number


def test_a_missing_program_has_no_release(tmp_path: Path) -> None:
    assert java.release(tmp_path / "absent") is None


def test_java_home_comes_first_and_an_old_java_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = program(tmp_path / "old" / "bin" / "java", "echo 'version \"11.0.2\"' >&2")
    new = program(tmp_path / "new" / "bin" / "java", "echo 'version \"21\"' >&2")
    monkeypatch.setenv("PATH", f"{new.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("JAVA_HOME", str(old.parents[1]))
    assert java.find_java() == new
    newer = program(tmp_path / "newer" / "bin" / "java", "echo 'version \"23\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(newer.parents[1]))
    assert java.find_java() == newer
    assert java.find_java(minimum=99) is None


def test_without_root_the_error_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    lines: list[str] = []
    with pytest.raises(InfrastructureError, match=r"sudo apt-get install maven debootstrap"):
        debian.install(["maven", "debootstrap"], why="no image", say=lines.append)
    assert lines == []


def test_a_failing_command_is_reported_with_its_last_lines() -> None:
    with pytest.raises(InfrastructureError, match=r"(?s)status 3; its last lines:\nwhy"):
        debian.run(["sh", "-c", "echo why; exit 3"])
    with pytest.raises(InfrastructureError, match="absent-program"):
        debian.run(["absent-program"])


def test_an_engine_that_was_named_is_not_replaced_by_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:1/{tmp_path.name}")
    with pytest.raises(InfrastructureError, match="DOCKER_HOST"):
        engine.ensure_engine(lambda _: None)


REFUSED = """
import socket
from pytest_kafkacheck.setup import doctor, engine

def refuse(*_):
    raise PermissionError(13, "Permission denied")

socket.socket.connect = refuse
print(*(f"{each.what}\\n{each.remedy}" for each in doctor.examine() if each.name == "engine"))
engine.ensure_engine(print)
"""


def test_a_user_without_permission_reads_how_to_get_it() -> None:
    """Root, as whom tests may run, has every permission: only the refusal of the kernel is not real. In a process of
    its own, because the Docker SDK leaves its socket open when it cannot connect."""
    environment = {name: value for name, value in os.environ.items() if name != "DOCKER_HOST"}
    done = subprocess.run([sys.executable, "-c", REFUSED], env=environment, capture_output=True, text=True)
    what, remedy = done.stdout.splitlines()
    assert what.endswith("has no permission on the Docker engine's socket unix:///var/run/docker.sock.")
    for way in ("the group docker", "a rootless engine", "DOCKER_HOST="):
        assert way in remedy
    assert done.stderr.endswith(f"InfrastructureError: {what}\n{remedy}\n")


def test_images_are_named_after_what_they_are_built_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = images.compose_dir() / "image"
    folder = tmp_path / "image"
    folder.mkdir()
    for file in source.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    before = images.local_image("4.1.1")
    monkeypatch.setattr(images, "compose_dir", lambda: tmp_path)
    assert images.local_image("4.1.1") == before
    (folder / "pom.xml").write_text("<project/>")
    assert images.local_image("4.1.1") != before
    assert images.local_image("4.1.1").startswith("kafkacheck/kafka:4.1.1-")


def test_the_last_value_of_a_spark_setting_wins() -> None:
    assert parse_settings(["spark.a=1", "spark.b=x=y", "spark.a=2"]) == {"spark.a": "2", "spark.b": "x=y"}
    for wrong in ("spark.a", "executor.memory=4g", "=4g"):
        with pytest.raises(UsageError, match=r"expected spark\.KEY=VALUE"):
            parse_settings([wrong])


def test_archives_are_made_while_the_next_image_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """The archive of the first image waits until the build of the second one has begun."""
    second_begun, archived = threading.Event(), []

    def build(_: object, version: str, __: object) -> None:
        if version == "two":
            second_begun.set()

    def archive(_: object, version: str, *__: object) -> None:
        assert second_begun.wait(10)
        archived.append(version)
        if version == "two":
            raise InfrastructureError("no space left on device")

    monkeypatch.setattr(everything, "ensure_java", lambda _: Path("java"))
    monkeypatch.setattr(everything, "ensure_quick_start", lambda *_: None)
    monkeypatch.setattr(everything, "ensure_engine", lambda _: None)
    monkeypatch.setattr(everything, "ensure_image", build)
    monkeypatch.setattr(everything, "connect", lambda: SimpleNamespace(close=lambda: None))
    monkeypatch.setattr(everything, "image_for", lambda version, _: version)
    monkeypatch.setattr(everything, "ensure_class_archives", archive)
    with pytest.raises(InfrastructureError, match="no space left"):
        everything.ensure_all(print, versions=["one", "two"])
    assert sorted(archived) == ["one", "two"]


def test_the_mirror_is_found_on_a_machine_that_has_never_fetched_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until its first update apt prints no origins."""
    lists = tmp_path / "lists"
    program(
        tmp_path / "apt-get",
        f'if [ "$1" = update ]; then touch {lists}; elif [ -e {lists} ]; then echo "http://mirror/debian Debian"; fi',
    )
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert image_build.mirror() == ["http://mirror/debian"]


def test_the_log_of_an_engine_is_where_nobody_can_put_a_link_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine.tempfile, "tempdir", str(tmp_path))
    logs = [engine.new_log() for _ in range(2)]
    assert logs[0] != logs[1]
    assert [log.parent.stat().st_mode & 0o777 for log in logs] == [0o700, 0o700]
    assert not logs[0].exists()
