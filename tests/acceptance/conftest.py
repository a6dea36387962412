"""kafkacheck as its users run it: pytest in a separate process, in a folder with one test file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tenacity import Retrying, retry_if_not_result, stop_after_delay, wait_fixed

from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.engine import connect

TEST = """
from pytest_kafkacheck import AppendLog, ClusterSpec, Experiment, isolate

def test_acknowledged_writes_survive(kafkacheck):
    run = kafkacheck(Experiment(
        workload=AppendLog(partitions=3, acks="all", topic_config={"min.insync.replicas": 2}),
        faults=[isolate("leader", at=1, lasting=4)],
    ))
    run.assert_valid()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An empty folder with the README's test, with a shorter fault."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "test_readme.py").write_text(TEST)
    return folder


@pytest.fixture
def owned() -> Iterator[Callable[[int], list[str]]]:
    """Lists the containers and networks that belong to a process (by its id)."""
    client = connect()

    def find(pid: int) -> list[str]:
        label = {"label": reaper.RUN}
        containers = client.api.containers(all=True, filters=label)
        networks = client.api.networks(filters=label)
        return [
            each.get("Name") or each["Names"][0]
            for each in containers + networks
            if each["Labels"].get(reaper.OWNER, "").startswith(f"{pid}@")
        ]

    yield find
    client.close()


class Session:
    """A pytest session in a separate process."""

    def __init__(self, folder: Path, *arguments: str, python: str = sys.executable) -> None:
        self.folder = folder
        self._output = folder / "output.txt"
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [
                    python,
                    "-m",
                    "pytest",
                    "-v",
                    "-p",
                    "no:cacheprovider",
                    "--import-mode=importlib",
                    *arguments,
                ],
                cwd=folder,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                # A background job of a shell script ignores SIGINT, and its children inherit that.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
                env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
            )
        self.pid = self._process.pid

    @property
    def output(self) -> str:
        return self._output.read_text(errors="replace")

    def wait_for(self, text: str, *, limit: float = 120) -> None:
        """Wait until the session has printed a text."""

        def is_printed() -> bool:
            assert self._process.poll() is None or text in self.output, (
                f"ended before {text!r}:\n{self.output}"
            )
            return text in self.output

        Retrying(stop=stop_after_delay(limit), wait=wait_fixed(0.1), retry=retry_if_not_result(bool))(
            is_printed
        )

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def wait(self, *, limit: float = 240) -> int:
        return self._process.wait(timeout=limit)

    def descendants(self) -> list[Any]:
        import psutil

        return psutil.Process(self.pid).children(recursive=True)

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(timeout=30)


@pytest.fixture
def session(project: Path) -> Iterator[Callable[..., Session]]:
    """Starts sessions in `project`, and kills those that still run at the end of the test."""
    started: list[Session] = []

    def start(*arguments: str, python: str = sys.executable) -> Session:
        started.append(Session(project, *arguments, python=python))
        return started[-1]

    yield start
    for each in started:
        each.end()
