"""One session holds a lease at a time, whatever races for it and however the sessions before it ended."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.lease import LeaseHeld, leased
from tests.support.repetitions import repetitions

pytestmark = pytest.mark.cluster

RACERS, ROUNDS = repetitions(6, shorter=3), 4

RACER = """
import os, sys, time
from pathlib import Path
from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.engine import connect
from pytest_kafkacheck.cluster.docker.lease import LeaseHeld, leased
client, key, folder = connect(), sys.argv[1], Path(sys.argv[2])
print("ready", flush=True)
for line in sys.stdin:
    try:
        with leased(client, key, what=key, labels=reaper.labels(key)):
            with (folder / "held").open("x"):
                time.sleep(0.2)
            (folder / "held").unlink()
        print("held", flush=True)
    except LeaseHeld:
        print("refused", flush=True)
    except FileExistsError:
        print("together", flush=True)
"""


@pytest.fixture
def key(engine: Any) -> Iterator[str]:
    """What is leased. Claims that are left are removed."""
    name = f"raced-{uuid.uuid4().hex[:8]}"
    yield name
    for volume in claims(engine, name):
        engine.api.remove_volume(volume, force=True)


def claims(engine: Any, key: str) -> list[str]:
    found = engine.api.volumes(filters={"label": f"{reaper.CLAIM}={key}"})["Volumes"] or ()
    return [each["Name"] for each in found]


def test_of_many_processes_that_find_the_lease_of_a_dead_one_never_two_hold_it(
    engine: Any, key: str, tmp_path: Path
) -> None:
    dead = {**reaper.labels(key), reaper.OWNER: "1@-1", reaper.CLAIM: key}
    command = [sys.executable, "-W", "ignore", "-c", RACER, key, str(tmp_path)]
    racers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(RACERS)
    ]
    try:
        ends = [(racer.stdin, racer.stdout) for racer in racers if racer.stdin and racer.stdout]
        assert [out.readline() for _, out in ends] == ["ready\n"] * RACERS
        for number in range(ROUNDS):
            engine.api.create_volume(f"kafkacheck-{key}-dead-{number}", labels=dead)
            for go, _ in ends:
                go.write("go\n")
                go.flush()
            outcomes = [out.readline().strip() for _, out in ends]
            assert set(outcomes) <= {"held", "refused"}, outcomes
            assert "held" in outcomes
            assert claims(engine, key) == []
    finally:
        for racer in racers:
            racer.communicate()


def test_a_second_session_is_told_who_holds_it(engine: Any, key: str) -> None:
    other = {**reaper.labels(key, pid=1)}
    with leased(engine, key, what="cluster mine", labels=other):
        before = claims(engine, key)
        with (
            pytest.raises(LeaseHeld, match=r"cluster mine is in use by process 1 on \S+; wait until"),
            leased(engine, key, what="cluster mine", labels=reaper.labels(key)),
        ):
            pass
        assert claims(engine, key) == before, "the other's lease was not released"
    with leased(engine, key, what="cluster mine", labels=reaper.labels(key)):
        pass


def test_workers_of_one_session_share_its_lease(engine: Any, key: str) -> None:
    ours = reaper.labels(key)
    with leased(engine, key, what=key, labels=ours), leased(engine, key, what=key, labels=ours):
        assert len(claims(engine, key)) == 2
    assert claims(engine, key) == []
