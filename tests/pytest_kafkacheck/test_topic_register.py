"""Which topics of killed runs are known, wherever their directories are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_kafkacheck.cluster.docker.registers import RegisterFile, TopicRegister
from pytest_kafkacheck.experiment.run_topics import abandoned

CHILD = """
import sys
from pathlib import Path
from pytest_kafkacheck.cluster.docker.registers import TopicRegister
register = TopicRegister("c1", cache=Path(sys.argv[1]))
register.made(["log-1", "log-2", "log-3"])
register.deleted(["log-2"])
print("made", flush=True)
sys.stdin.read()
"""


def test_topics_are_abandoned_when_the_process_that_made_them_has_ended(tmp_path: Path) -> None:
    register = TopicRegister("c1", cache=tmp_path)
    assert register.abandoned() == set()
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"made\n"
        assert register.abandoned() == set(), "another worker needs them"
        child.kill()
    assert register.abandoned() == {"log-1", "log-3"}
    assert TopicRegister("c2", cache=tmp_path).abandoned() == set(), "of another cluster"
    register.deleted(["log-1"])
    assert register.abandoned() == {"log-3"}


def test_an_earlier_run_of_the_same_process_has_ended(tmp_path: Path) -> None:
    TopicRegister("c1", cache=tmp_path).made(["log-1"])
    assert TopicRegister("c1", cache=tmp_path).abandoned() == {"log-1"}


def test_a_damaged_file_hides_nothing_else(tmp_path: Path) -> None:
    register = TopicRegister("c1", cache=tmp_path)
    register.made(["log-1"])
    (file,) = (tmp_path / "topics").iterdir()
    file.write_bytes(file.read_bytes() + b'{"made": ["log-2"\n[1]\n')
    register.made(["log-3"])
    assert register.abandoned() == {"log-1", "log-3"}


def test_a_cache_that_cannot_be_written_is_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    register = TopicRegister("c1", cache=tmp_path / "file")
    register.made(["log-1"])
    assert register.abandoned() == set()


def test_files_of_clusters_that_are_long_gone_are_removed(tmp_path: Path) -> None:
    for cluster in ("old", "used"):
        TopicRegister(cluster, cache=tmp_path).made(["log-1"])
    (old,) = {*(tmp_path / "topics").iterdir()} - {RegisterFile("topics", "used", cache=tmp_path).path}
    os.utime(old, (1, 1))
    TopicRegister("new", cache=tmp_path).made(["log-2"])
    assert not old.exists()
    assert TopicRegister("used", cache=tmp_path).abandoned() == {"log-1"}


@pytest.mark.parametrize("alone", [True, False])
def test_a_run_that_shares_the_cluster_deletes_only_topics_of_processes_that_ended(
    tmp_path: Path, alone: bool
) -> None:
    """The directory of another worker's run lies beside its own as well."""
    (tmp_path / "run-0a1b2c3d").mkdir()
    names = ["log-0a1b2c3d", "log-55555555", "orders", "kafkacheck-clock-1"]
    of_directories = ["kafkacheck-clock-1", "log-0a1b2c3d"] if alone else []
    found = abandoned(
        names, home=tmp_path / "run-44444444", registered={"log-55555555", "gone-1"}, alone=alone
    )
    assert found == sorted([*of_directories, "log-55555555"])
