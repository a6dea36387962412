"""Makes kafka-python wait while the network gate is closed."""

from __future__ import annotations

import time
from typing import Any

from kafka.errors import KafkaTimeoutError
from kafka.net.selector import NetworkSelector

from workloads.clients.network_gate import GATE

INTERVAL = 0.02
"""Seconds between two looks at a closed gate."""

INSTALLED = "_kafkacheck_gated"


def install() -> None:
    """Patch kafka-python's event loop in this process. May be called again.

    Raises AttributeError when the library has changed too much.
    """
    if getattr(NetworkSelector, INSTALLED, False):
        return
    for name in ("wait_read", "wait_write"):
        _guard(name)
    setattr(NetworkSelector, INSTALLED, True)


def _guard(name: str) -> None:
    wait = getattr(NetworkSelector, name)

    async def guarded(net: Any, fileobj: Any, timeout_at: float | None = None) -> Any:
        ready = await wait(net, fileobj, timeout_at)
        if GATE.is_closed:
            GATE.tried += 1
        while GATE.is_closed:
            if timeout_at is not None and time.monotonic() > timeout_at:
                raise KafkaTimeoutError("the gate to the brokers is closed")
            await net.sleep(INTERVAL)
        return ready

    setattr(NetworkSelector, name, guarded)
