"""The agent's script without a cluster: what it prints, and what it does when its session is gone."""

from __future__ import annotations

import base64
import subprocess

import pytest

from pytest_kafkacheck.cluster.nodes.agent import SCRIPT

NO_NFT = "nft() { echo healed >&2; }\n"


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
