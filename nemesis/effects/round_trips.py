"""Round trips from one node to another: the time that the node needs to open a connection."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence

from nemesis.cluster import Node

TRIES = 9
"""Connections, all at the same time."""

LIMIT = 8.0
"""Seconds for a connection. A slower one is not measured."""


def measure(source: Node, receiver: Node) -> list[float]:
    """Milliseconds of each connection that was opened within `LIMIT` seconds, in ascending order."""
    _, output = source.look(script(receiver.addresses[0], receiver.probe_port), timeout=LIMIT + 5.0)
    return sorted(int(each) / 1000 for each in re.findall(r"^took (\d+)", output, re.MULTILINE))


def script(address: str, port: int) -> str:
    """Prints ``took <microseconds>`` for each connection."""
    connect = (
        f'begun=${{EPOCHREALTIME/[.,]/}}; exec 3<>"/dev/tcp/{address}/{port}" && '
        f'echo "took $((${{EPOCHREALTIME/[.,]/}} - begun))"'
    )
    one = f"timeout {LIMIT} bash -c '{connect}' 2>/dev/null &"
    return "\n".join([*([one] * TRIES), "wait"])


def shows_delay(took: Sequence[float], ms: float, jitter_ms: float) -> bool:
    """Whether connections took as long as with packets that are delayed by `ms`, more or less by `jitter_ms`."""
    if not took:
        return False
    if jitter_ms < ms:
        return min(took) >= ms - jitter_ms
    return statistics.median(took) >= ms / 2
