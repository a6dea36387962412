"""What a user sees of a cluster that is kept after a failure and used again."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.engine import connect

pytestmark = pytest.mark.cluster

FILE = """
import pytest
from pytest_kafkacheck import ClusterSpec

pytestmark = pytest.mark.kafkacheck(cluster=ClusterSpec(brokers=1, config={"num.io.threads": 5}))

def test_one(kafkacheck_cluster):
    assert kafkacheck_cluster.healthy()

def test_two(kafkacheck_cluster, request):
    print("run is", kafkacheck_cluster.run)
    assert request.config.getoption("kafkacheck_reuse"), "fails"
"""


SPECS = """
import pytest
from pytest_kafkacheck import ClusterSpec

def spec(threads):
    return pytest.mark.kafkacheck(
        cluster=ClusterSpec(brokers=1, heap_mb=256, config={"num.io.threads": threads})
    )

@spec(6)
def test_fails(kafkacheck_cluster):
    print("failed:", kafkacheck_cluster.run)
    assert False

@spec(7)
def test_passes(kafkacheck_cluster):
    print("passed:", kafkacheck_cluster.run)
"""


def pytest_in(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-v", "-rP", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_a_failed_test_keeps_its_cluster_and_the_next_session_uses_it(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(FILE)
    first = pytest_in(tmp_path, "--kafkacheck-keep")
    assert first.returncode == pytest.ExitCode.TESTS_FAILED, first.stdout
    assert first.stdout.count("starting 1 broker") == 1
    (run,) = re.findall(r"remove: kafkacheck cluster down (\w+)", first.stdout)
    client = connect()
    try:
        second = pytest_in(tmp_path, "--kafkacheck-reuse", "--kafkacheck-keep")
        assert second.returncode == pytest.ExitCode.OK, second.stdout
        assert f"using the kept cluster {run}" in second.stdout
        assert f"run is {run}" in second.stdout
        assert run in reaper.parts_by_run(client), "a session that reuses a cluster does not remove it"
        # A session without --kafkacheck-reuse starts its own cluster, and removes it.
        third = pytest_in(tmp_path)
        (other,) = re.findall(r"run is (\w+)", third.stdout)
        assert other != run
        assert other not in reaper.parts_by_run(client)
    finally:
        reaper.remove_run(client, run)
        client.close()


@pytest.mark.parametrize(
    "options",
    [
        pytest.param((), marks=pytest.mark.nightly),
        pytest.param(("-n", "1"), marks=pytest.mark.nightly),
        ("-n", "2", "--kafkacheck-share=all"),
    ],
)
def test_the_cluster_of_the_failed_test_is_kept(tmp_path: Path, options: tuple[str, ...]) -> None:
    (tmp_path / "test_it.py").write_text(SPECS)
    done = pytest_in(tmp_path, "--kafkacheck-keep", *options)
    kept = re.findall(r"remove: kafkacheck cluster down (\S+)", done.stdout)
    client = connect()
    try:
        (failed,), (passed,) = (re.findall(rf"{word}: (\S+)", done.stdout) for word in ("failed", "passed"))
        shared = "--kafkacheck-share=all" in options
        assert set(kept) == ({failed, passed} if shared else {failed}), done.stdout
        there = reaper.parts_by_run(client)
        assert failed in there
        assert (passed in there) is shared
    finally:
        for run in kept:
            reaper.remove_run(client, run)
        client.close()
