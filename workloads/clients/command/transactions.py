"""The transactional producer of a client process behind our protocol."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from workloads.clients.command import messages, settings
from workloads.clients.command.messages import Refusal
from workloads.clients.command.process import ClientProcess, Release
from workloads.clients.command.producer import CommandProducer
from workloads.clients.connection import Address
from workloads.clients.delegating import DelegatingProducer
from workloads.clients.protocol import OUTSIDE, Ending, Log

CLAIM_LIMIT = 6.0
"""Seconds to claim an id: metadata, coordinator, and the end of what the id's last owner left open."""


class CommandTransactional(DelegatingProducer):
    """Implements `protocol.TransactionalProducer`. Raises Refusal where the client cannot claim the id."""

    def __init__(
        self,
        process: ClientProcess,
        release: Release,
        *,
        bootstrap: Iterable[Address],
        topics: tuple[str, ...],
        transactional_id: str,
        timeout: float,
        config: Mapping[str, Any],
    ) -> None:
        bootstrap = tuple(bootstrap)
        self._process = process
        self._sending = CommandProducer(
            process,
            release,
            bootstrap=bootstrap,
            topics=topics,
            acks="all",
            role="transactional",
            limit=CLAIM_LIMIT,
            config={
                **settings.producer(bootstrap, acks="all", idempotence=True, settings=config),
                "transactional.id": transactional_id,
                "transaction.timeout.ms": str(round(timeout * 1000)),
            },
        )
        super().__init__(self._sending)
        opened = self._sending.opened
        self.producer_id, self.epoch = process.understood(
            "open",
            lambda: (messages.parse_number(opened, "producer"), messages.parse_number(opened, "epoch")),
        )

    def begin(self) -> None:
        try:
            self._process.call("begin")
        except Refusal as error:
            raise ConnectionError(f"the producer cannot begin a transaction: {error}") from error

    def add_positions(self, positions: Mapping[Log, int], membership: Any, limit: float) -> Ending:
        if membership is None:
            return Ending("fail", OUTSIDE)
        self._sending.flush()
        try:
            self._process.call(
                "add-offsets", offsets=messages.offsets(positions), membership=membership, limit=limit,
                timeout_ms=round(limit * 1000),
            )  # fmt: skip
        except Refusal as error:
            # They count only with the commit, and after anything but ok nobody requests one.
            return Ending("fail", error.name)
        return Ending("ok")

    def end(self, outcome: Literal["commit", "abort"], limit: float) -> Ending:
        self._sending.flush()
        try:
            self._process.call("end", outcome=outcome, limit=limit, timeout_ms=round(limit * 1000))
        except Refusal as error:
            return Ending("fail" if outcome == "commit" and error.aborted else "info", error.name)
        return Ending("ok")
