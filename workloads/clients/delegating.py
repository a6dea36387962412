"""A producer that leaves sending to another one."""

from __future__ import annotations

from workloads.clients.protocol import Completion, Log, Producer
from workloads.keys import Keyed


class DelegatingProducer:
    """Implements `protocol.Producer` by the producer `inner`: transactions add to it, and change nothing of it."""

    def __init__(self, inner: Producer) -> None:
        self._inner = inner

    @property
    def in_flight(self) -> int:
        return self._inner.in_flight

    def send(self, op: int, log: Log, payload: bytes, keyed: Keyed | None = None) -> None:
        self._inner.send(op, log, payload, keyed)

    def take(self, timeout: float) -> list[Completion]:
        return self._inner.take(timeout)

    def problem(self) -> str | None:
        return self._inner.problem()

    def leader_epoch(self, log: Log) -> int:
        return self._inner.leader_epoch(log)

    def close(self, timeout: float) -> list[Completion]:
        return self._inner.close(timeout)
