"""The quick start of Spark's JVM: when it is found, when it is not used, and what happens when it fails."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from analyzers.spark.internals import quick_start
from analyzers.spark.internals.quick_start import (
    ARCHIVE,
    START,
    SWITCH,
    find_quick_start,
    make_quick_start,
)
from analyzers.spark.settings import Size, java_options
from tests.support.real_cluster import wait_until
from workloads.java_runtime import find_java

ROOT = Path(__file__).parents[2]


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Java in a folder of its own, with an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in (*quick_start.CONFIGURES, SWITCH):
        monkeypatch.delenv(name, raising=False)
    java = tmp_path / "java-99" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.touch()
    (tmp_path / "java-99" / "release").write_text('JAVA_VERSION="99"')
    return java


def prepare(java: Path) -> Path:
    folder = quick_start.folder_of(java)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ARCHIVE).touch()
    start = {"command": ["java", "-cp", "jars/*"], "jars": quick_start.digest_of_jars()}
    (folder / START).write_text(json.dumps(start))
    return folder


def test_a_prepared_quick_start_is_found(java: Path) -> None:
    assert find_quick_start(java) is None
    folder = prepare(java)
    found = find_quick_start(java)
    assert found is not None
    assert (found.archive, found.command) == (folder / ARCHIVE, ("java", "-cp", "jars/*"))


def test_another_java_has_another_archive(java: Path) -> None:
    prepare(java)
    (java.parents[1] / "release").write_text('JAVA_VERSION="99.1"')
    assert find_quick_start(java) is None


def test_spark_that_was_installed_again_has_another_archive(
    java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar = tmp_path / "pyspark" / "jars" / "spark-core.jar"
    jar.parent.mkdir(parents=True)
    jar.touch()
    monkeypatch.setattr(quick_start.pyspark, "__file__", str(tmp_path / "pyspark" / "__init__.py"))
    prepare(java)
    assert find_quick_start(java) is not None
    os.utime(jar, (1, 1))
    assert find_quick_start(java) is None


@pytest.mark.parametrize(
    "text", ["", '["java", ', "7", '["java"]', '{"jars": "JARS"}', '{"command": [7], "jars": "JARS"}']
)
def test_an_incomplete_quick_start_is_not_used(java: Path, text: str) -> None:
    folder = prepare(java)
    (folder / START).write_text(text.replace("JARS", quick_start.digest_of_jars()))
    assert find_quick_start(java) is None
    prepare(java)
    (folder / ARCHIVE).unlink()
    assert find_quick_start(java) is None


@pytest.mark.parametrize(("name", "value"), [("SPARK_HOME", "/opt/spark"), (SWITCH, "off"), (SWITCH, "0")])
def test_the_environment_can_exclude_the_quick_start(
    java: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    prepare(java)
    monkeypatch.setenv(name, value)
    assert find_quick_start(java) is None
    # Nor is one made: the program does not exist.
    assert make_quick_start(java, program="no_such_module") is None


def test_a_program_that_records_no_classes_is_named(java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick_start, "launcher_command", lambda _: ("java",))
    with pytest.raises(RuntimeError, match=f"could not be recorded with {java}.*no_such_module"):
        make_quick_start(java, program="no_such_module")
    assert find_quick_start(java) is None


SLEEPER = """
import os, pathlib, time
pathlib.Path("unfinished").write_text(str(os.getpid()))
pathlib.Path("unfinished").rename("pid")
time.sleep(60)
"""

MAKE = """
import sys
from pathlib import Path
from analyzers.spark.internals import quick_start
quick_start.launcher_command = lambda _: ("java",)
quick_start.make_quick_start(Path(sys.argv[1]), program="sleeper")
"""


def test_what_a_killed_setup_left_running_keeps_the_lock(
    java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise it writes its archive beside that of the next setup, where nobody removes it."""
    (tmp_path / "sleeper.py").write_text(SLEEPER)
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    setup = subprocess.Popen(
        [sys.executable, "-c", MAKE, str(java)], cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}
    )
    try:
        wait_until((tmp_path / "pid").exists, 30)
    finally:
        setup.kill()
        setup.wait()
    left = int((tmp_path / "pid").read_text())
    monkeypatch.setattr(quick_start, "launcher_command", lambda _: ("java",))
    try:
        assert make_quick_start(java, program="no_such_module") is None
    finally:
        os.kill(left, signal.SIGKILL)
    with (quick_start.folder_of(java) / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
    with pytest.raises(RuntimeError, match="no_such_module"):
        make_quick_start(java, program="no_such_module")


@pytest.mark.spark
@pytest.mark.parametrize(
    "content", [None, b"", b"no archive at all" * 1000], ids=["absent", "empty", "garbage"]
)
def test_the_jvm_ignores_an_invalid_archive(tmp_path: Path, content: bytes | None) -> None:
    java = find_java()
    assert java is not None
    broken = tmp_path / "classes.jsa"
    if content is not None:
        broken.write_bytes(content)
    flags = java_options("small", scratch=tmp_path, archive=broken)
    done = subprocess.run([java, *flags, "-version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
    assert "version" in done.stderr.splitlines()[0]


@pytest.mark.spark
@pytest.mark.parametrize("size", ["small", "large"])
def test_both_jvms_take_classes_from_the_archive(size: Size, tmp_path: Path) -> None:
    java = find_java()
    assert java is not None
    quick = find_quick_start(java)
    assert quick is not None, "kafkacheck setup makes it, unless the environment configures Spark"
    flags = java_options(size, scratch=tmp_path, archive=quick.archive)
    (class_path,) = (quick.command[at + 1] for at, part in enumerate(quick.command) if part == "-cp")
    done = subprocess.run(
        [
            java,
            *flags,
            "-Xlog:class+load",
            "-cp",
            class_path,
            "org.apache.spark.deploy.SparkSubmit",
            "--version",
        ],
        capture_output=True,
        text=True,
    )
    (line,) = (
        line for line in done.stdout.splitlines() if " org.apache.spark.deploy.SparkSubmit source: " in line
    )
    assert line.endswith("shared objects file (top)")
