"""Only what a dead owner of this host left behind may be removed."""

from __future__ import annotations

import os
import subprocess
import sys

from pytest_kafkacheck.cluster import reaper


def test_own_objects_are_not_orphaned() -> None:
    assert not reaper.orphaned(reaper.labels("r1"))


def test_objects_of_an_ended_process_are_orphaned() -> None:
    program = (
        "import json; from pytest_kafkacheck.cluster.reaper import labels; print(json.dumps(labels('r1')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    import json

    assert reaper.orphaned(json.loads(done.stdout))


def test_a_reused_process_id_does_not_save_them() -> None:
    labels = reaper.labels("r1")
    labels[reaper.OWNER] = f"{os.getpid()}@1.00"
    assert reaper.orphaned(labels)


def test_objects_from_before_the_last_boot_are_orphaned() -> None:
    assert reaper.orphaned({**reaper.labels("r1"), reaper.BOOT: "another boot"})


def test_objects_of_another_host_are_left_alone() -> None:
    labels = {**reaper.labels("r1"), reaper.HOST: "elsewhere", reaper.OWNER: "1@1.00", reaper.BOOT: "x"}
    assert not reaper.orphaned(labels)


def test_objects_without_a_readable_owner_are_orphaned() -> None:
    assert reaper.orphaned({**reaper.labels("r1"), reaper.OWNER: "?"})
