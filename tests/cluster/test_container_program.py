"""The program that stands for a container, as a command of an application, on a real engine."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_kafkacheck.cluster.docker import container_program, reaper
from pytest_kafkacheck.cluster.docker.images import agent_image
from tests.support.real_cluster import own, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.nightly]

LOOP = 'trap "echo bye; exit 4" TERM; echo begun; while :; do sleep 0.1; done'

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start(engine: Any, tmp_path: Path) -> Iterator[Start]:
    run, started = own("container-program"), []

    def start(script: str | None = None) -> subprocess.Popen[bytes]:
        if script is not None:
            engine.api.create_container(
                agent_image(), ["bash", "-c", script], name=run, labels=reaper.labels(run)
            )
        with (tmp_path / "log").open("ab") as log:
            command = [sys.executable, "-P", str(container_program.__file__), run]
            started.append(subprocess.Popen(command, stdout=log, stderr=log))
        return started[-1]

    yield start
    for each in started:
        each.kill()
        each.wait()
    reaper.remove_run(engine, run)


@pytest.fixture
def printed(tmp_path: Path) -> Callable[[], str]:
    return lambda: (tmp_path / "log").read_text()


def test_it_passes_output_and_status_on(start: Start, printed: Callable[[], str]) -> None:
    assert start("echo out; echo err >&2; exit 3").wait(60) == 3
    assert sorted(printed().split()) == ["err", "out"]


@pytest.mark.parametrize(
    ("number", "status", "last"), [(signal.SIGTERM, 4, "bye"), (signal.SIGINT, 137, "begun")]
)
def test_signals_are_those_of_the_container(
    start: Start, printed: Callable[[], str], number: signal.Signals, status: int, last: str
) -> None:
    program = start(LOOP)
    wait_until(lambda: "begun" in printed())
    program.send_signal(number)
    assert program.wait(60) == status
    assert printed().split()[-1] == last


def test_what_a_killed_program_left_running_is_started_anew(
    engine: Any, start: Start, printed: Callable[[], str]
) -> None:
    first = start(LOOP)
    wait_until(lambda: "begun" in printed())
    first.kill()
    first.wait(60)
    assert engine.api.inspect_container(own("container-program"))["State"]["Running"]
    second = start()
    wait_until(lambda: printed().count("begun") == 2)
    second.terminate()
    assert second.wait(60) == 4


def test_a_container_that_is_not_there(start: Start, printed: Callable[[], str]) -> None:
    assert start().wait(60) == container_program.NOT_STARTED
    name = own("container-program")
    assert printed().startswith(f"the container {name} cannot be started: No such container")


def test_a_command_that_is_not_in_the_image(engine: Any, start: Start, printed: Callable[[], str]) -> None:
    run = own("container-program")
    engine.api.create_container(agent_image(), ["no-such-program"], name=run, labels=reaper.labels(run))
    assert start().wait(60) == container_program.NOT_STARTED
    assert "no-such-program" in printed()
    assert "Traceback" not in printed()
