"""Only objects of dead owners on this host may be removed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterable
from typing import Any

import psutil
import pytest

from pytest_kafkacheck.cluster.docker import reaper


def test_own_objects_are_not_orphaned() -> None:
    assert not reaper.is_orphaned(reaper.labels("r1"))


def test_objects_of_an_ended_process_are_orphaned() -> None:
    program = (
        "import json; from pytest_kafkacheck.cluster.docker.reaper import labels; "
        "print(json.dumps(labels('r1')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert reaper.is_orphaned(json.loads(done.stdout))


def test_a_reused_process_id_does_not_count_as_the_owner() -> None:
    assert reaper.is_orphaned({**reaper.labels("r1"), reaper.OWNER: f"{os.getpid()}@1"})


def test_a_clock_that_is_set_does_not_make_orphans(monkeypatch: pytest.MonkeyPatch) -> None:
    """The start time in seconds since the epoch would change with the clock."""
    labels = reaper.labels("r1")
    monkeypatch.setattr(psutil.Process, "create_time", lambda _: 1.0)
    assert not reaper.is_orphaned(labels)


def test_a_zombie_process_counts_as_ended() -> None:
    with subprocess.Popen(["sleep", "600"]) as process:
        labels = reaper.labels("r1", pid=process.pid)
        assert not reaper.is_orphaned(labels)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE
        assert reaper.is_orphaned(labels)


def test_objects_from_before_the_last_boot_are_orphaned() -> None:
    assert reaper.is_orphaned({**reaper.labels("r1"), reaper.BOOT: "another boot"})


def test_with_a_remote_engine_another_boot_may_be_another_host_of_the_same_name() -> None:
    labels = {**reaper.labels("r1"), reaper.BOOT: "another boot", reaper.OWNER: "1@-1"}
    assert not reaper.is_orphaned(labels, local=False)
    assert not reaper.is_abandoned(parts(labels, age=HOUR), now=1e9, local=False)
    assert reaper.is_abandoned(parts(labels, age=25 * HOUR), now=1e9, local=False)


@pytest.mark.skipif(os.geteuid() != 0, reason="making a namespace of process ids needs root")
def test_process_ids_are_not_compared_across_process_namespaces() -> None:
    program = (
        "import json, sys; from pytest_kafkacheck.cluster.docker import reaper; "
        "print(reaper.is_orphaned(json.loads(sys.argv[1])))"
    )
    command = [sys.executable, "-c", program, json.dumps(reaper.labels("r1"))]
    inside = ["unshare", "--pid", "--fork", "--mount-proc", *command]
    for each in (command, inside):
        done = subprocess.run(each, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "False"


def test_objects_of_another_host_are_left_alone() -> None:
    labels = {**reaper.labels("r1"), reaper.HOST: "elsewhere", reaper.OWNER: "1@-1", reaper.BOOT: "x"}
    assert not reaper.is_orphaned(labels)


def test_objects_without_a_readable_owner_are_orphaned() -> None:
    assert reaper.is_orphaned({**reaper.labels("r1"), reaper.OWNER: "?"})


DEAD = {**reaper.labels("r1"), reaper.OWNER: "1@-1"}
FOREIGN = {**DEAD, reaper.HOST: "elsewhere"}
HOUR = 3600.0


def parts(*labels: dict[str, str], age: float = 0.0) -> list[reaper.Part]:
    return [reaper.Part("volume", "v", each, 1e9 - age) for each in labels]


@pytest.mark.parametrize(
    ("found", "gone"),
    [
        (parts(DEAD), True),
        (parts(reaper.labels("r1")), False),
        (parts(DEAD, reaper.labels("r1")), False),  # leased by another session
        (parts(DEAD, {**DEAD, reaper.KEPT: "yes"}, age=1000 * HOUR), False),
        (parts(FOREIGN, age=23 * HOUR), False),
        (parts(FOREIGN, age=25 * HOUR), True),
        (parts(FOREIGN, DEAD, age=1 * HOUR), False),
    ],
)
def test_a_run_is_abandoned_when_none_of_its_parts_is_needed(found: list[reaper.Part], gone: bool) -> None:
    assert reaper.is_abandoned(found, now=1e9) is gone


def test_the_age_of_foreign_runs_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKACHECK_FOREIGN_HOURS", "0.5")
    assert reaper.is_abandoned(parts(FOREIGN, age=HOUR), now=1e9)


class Engine:
    """Has objects of one run: containers by name, and networks by the time at which they were made."""

    def __init__(self, *containers: str, networks: Iterable[str]) -> None:
        labels = reaper.labels("r1")
        self.api = self
        self._containers = [
            {"Id": each, "Labels": labels, "Created": 0, "Names": [each]} for each in containers
        ]
        self._networks = [{"Id": "n", "Labels": labels, "Created": each, "Name": "n"} for each in networks]

    def containers(self, **_: object) -> list[dict[str, Any]]:
        return self._containers

    def networks(self, **_: object) -> list[dict[str, Any]]:
        return self._networks

    def volumes(self, **_: object) -> dict[str, None]:
        return {"Volumes": None}


TIMES = "2001-09-09T01:46:40Z", "2001-09-09T01:46:40.000000000Z", "2001-09-09T03:46:40.0000000+02:00"


def test_timestamps_of_the_engine() -> None:
    (found,) = reaper.parts_by_run(Engine(networks=TIMES)).values()
    assert [part.created for part in found] == [1e9] * len(TIMES)


def test_containers_are_removed_side_by_side_and_before_what_they_use() -> None:
    together = threading.Barrier(3, timeout=20)
    removed: list[str] = []

    class Removing(Engine):
        def remove_container(self, name: str, **_: object) -> None:
            together.wait()
            removed.append(name)

        def remove_network(self, name: str) -> None:
            removed.append(name)

    reaper.remove_run(Removing(*"abc", networks=TIMES[:1]), "r1")
    assert (sorted(removed[:3]), removed[3:]) == (["a", "b", "c"], ["n"])
