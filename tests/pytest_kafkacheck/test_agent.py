"""The agent's script without a cluster: what it prints, and what it does when its session is gone."""

from __future__ import annotations

import base64
import os
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_kafkacheck.cluster.nodes import agent as agents
from pytest_kafkacheck.cluster.nodes.agent import SCRIPT, Agent
from pytest_kafkacheck.cluster.nodes.health import end_network_faults

NO_NFT = "nft() { echo healed >&2; }\n"


class Pod:
    """Starts agents as processes of this host, with an nft that does nothing."""

    def __init__(self) -> None:
        self.started: list[subprocess.Popen[bytes]] = []

    def open(self, command: Sequence[str], environment: Mapping[str, str]) -> socket.socket:
        ours, theirs = socket.socketpair()
        *shell, script, name = command
        call = [*shell, f"nft() {{ :; }}\ntc() {{ :; }}\n{script}", name]
        with theirs:
            process = subprocess.Popen(call, stdin=theirs, stdout=theirs, env={**os.environ, **environment})
        self.started.append(process)
        return ours

    def end(self) -> None:
        for process in self.started:
            process.terminate()
            process.wait(timeout=20)


@pytest.fixture
def pod() -> Iterator[Pod]:
    pod = Pod()
    yield pod
    pod.end()


def test_a_heartbeat_does_not_start_an_agent_again_that_was_ended(
    pod: Pod, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such an agent would live on in the turn of another worker, and its heal would undo that one's faults."""
    monkeypatch.setattr(agents, "HEARTBEAT", 0.02)
    others = set(threading.enumerate())
    with closing(Agent(pod.open, pod="here")) as agent:
        assert agent.shell("echo here", timeout=5) == (0, "here")
        (heartbeats,) = [each for each in set(threading.enumerate()) - others if "heartbeat" in each.name]
        assert agent.end()
        heartbeats.join(timeout=5)
        assert not heartbeats.is_alive()
        assert len(pod.started) == 1
        assert agent.shell("echo again", timeout=5) == (0, "again")


def test_after_network_faults_were_ended_the_next_command_gets_an_agent(pod: Pod) -> None:
    """All agents of the node end, that of this session as well, which it must not take for alive."""
    with closing(Agent(pod.open, pod="here")) as agent:
        assert agent.shell("true", timeout=5) == (0, "")
        node: Any = SimpleNamespace(agent=agent, look=lambda *_, **__: pod.end())
        end_network_faults(node)
        assert agent.shell("echo here", timeout=5) == (0, "here")


@pytest.mark.parametrize("commands", [[], ["echo hi"], ["echo hi; exit 3", "sleep 9"]])
def test_it_prints_only_answers(commands: list[str]) -> None:
    """Output before the first command could be lost with the engine's answer."""
    lines = [
        f"{number} 0.5 {base64.b64encode(command.encode()).decode()}\n"
        for number, command in enumerate(commands, 7)
    ]
    done = subprocess.run(
        ["bash", "-c", NO_NFT + SCRIPT.replace("2>/dev/null", "", 1)],
        input="".join(lines),
        env={"TTL": "5", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=30,
    )
    answers = {"echo hi": "0 aGk=", "echo hi; exit 3": "3 aGk=", "sleep 9": "124 "}
    assert done.stdout.splitlines() == [
        f"{number} {answers[command]}" for number, command in enumerate(commands, 7)
    ]
    assert done.stderr == "healed\n", "its input has ended"
