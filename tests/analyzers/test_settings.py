"""What Spark is told by the size of a history, and what becomes of a quick start that is not as it was left."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from analyzers.spark import class_archive
from analyzers.spark.class_archive import ARCHIVE, COMMAND, find_quick_start
from analyzers.spark.settings import core_settings, is_connect, is_local, java_options, size_of, sql_settings
from pytest_kafkacheck.setup.java import find_java


def test_small_plans_are_interpreted_and_large_ones_compiled() -> None:
    sizes = [sql_settings(rows) for rows in (20_000, 20_001, 200_000, 200_001)]
    assert sql_settings(None) == sizes[0]
    for key, by_size in {
        "spark.sql.codegen.wholeStage": ["false", "true", "true", "true"],
        "spark.sql.codegen.factoryMode": ["NO_CODEGEN", "FALLBACK", "FALLBACK", "FALLBACK"],
        "spark.sql.constraintPropagation.enabled": ["false", "true", "true", "true"],
        "spark.sql.optimizer.disableHints": ["true", "true", "true", "false"],
        "spark.sql.autoBroadcastJoinThreshold": ["-1", "-1", "-1", "10MB"],
    }.items():
        assert [settings[key] for settings in sizes] == by_size
    assert (size_of(None), size_of(1_000), size_of(10_000_000)) == ("small", "small", "large")


@pytest.mark.parametrize(
    ("rows", "cores", "partitions"),
    [
        (1_000, 64, 1),
        (200_000, 64, 1),
        (200_001, 64, 2),
        (600_000, 2, 4),
        (600_000, 64, 128),
        (10_000_000, 2, 20),
        (10**9, 2, 200),
    ],
)
def test_partitions_grow_with_the_rows(rows: int, cores: int, partitions: int) -> None:
    assert sql_settings(rows, cores=cores)["spark.sql.shuffle.partitions"] == str(partitions)


def test_only_an_embedded_spark_is_bound_to_this_machine(tmp_path: Path) -> None:
    assert [is_local(each) for each in ("local[*]", "local", "local-cluster[2,1,1024]", "yarn")] == [
        True, True, False, False,
    ]  # fmt: skip
    assert is_connect("sc://host:15002")
    assert "spark.driver.host" in core_settings("local[2]", scratch=tmp_path, heap="1g")
    assert "spark.driver.host" not in core_settings("spark://host:7077", scratch=tmp_path, heap="1g")


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Java of which something was prepared, in a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in class_archive.CONFIGURES:
        monkeypatch.delenv(name, raising=False)
    java = tmp_path / "java-99" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.touch()
    (tmp_path / "java-99" / "release").write_text('JAVA_VERSION="99"')
    return java


def prepare(java: Path) -> Path:
    folder = class_archive._folder(java)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ARCHIVE).touch()
    (folder / COMMAND).write_text(json.dumps(["java", "-cp", "jars/*"]))
    return folder


def test_what_was_prepared_is_found(java: Path) -> None:
    assert find_quick_start(java) is None
    folder = prepare(java)
    found = find_quick_start(java)
    assert found is not None
    assert (found.archive, found.command) == (folder / ARCHIVE, ("java", "-cp", "jars/*"))


def test_another_java_has_another_archive(java: Path) -> None:
    prepare(java)
    (java.parents[1] / "release").write_text('JAVA_VERSION="99.1"')
    assert find_quick_start(java) is None


@pytest.mark.parametrize("text", ["", '["java", ', "7", '[["java"]]'])
def test_what_was_prepared_by_halves_is_not_used(java: Path, text: str) -> None:
    folder = prepare(java)
    (folder / COMMAND).write_text(text)
    assert find_quick_start(java) is None
    prepare(java)
    (folder / ARCHIVE).unlink()
    assert find_quick_start(java) is None


def test_a_spark_that_the_environment_configures_is_asked_itself(
    java: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(java)
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    assert find_quick_start(java) is None


@pytest.mark.spark
@pytest.mark.parametrize(
    "content", [None, b"", b"no archive at all" * 1000], ids=["absent", "empty", "garbage"]
)
def test_the_jvm_passes_over_an_archive_that_is_none(tmp_path: Path, content: bytes | None) -> None:
    there = find_java()
    assert there is not None
    broken = tmp_path / "classes.jsa"
    if content is not None:
        broken.write_bytes(content)
    flags = java_options("small", scratch=tmp_path, archive=broken)
    done = subprocess.run([there, *flags, "-version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
    assert "version" in done.stderr.splitlines()[0]
