"""The transactional producer of confluent-kafka behind our protocol."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Literal

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from workloads.clients.confluent.producer import ConfluentProducer
from workloads.clients.confluent.settings import COMMON, call_within
from workloads.clients.connection import Address
from workloads.clients.protocol import OUTSIDE, DelegatingProducer, Ending, Log

CLAIM_LIMIT = 3.0
"""Seconds for the coordinator to give the producer id."""

GRACE = 0.5
"""Seconds in which the library may report by itself that a limit is over."""

STATISTICS_INTERVAL = 250
"""Milliseconds between two statistics of the library: nothing else has the producer id and its epoch."""

STATISTICS_LIMIT = 1.0
"""Seconds to wait for the first ones that have the id."""


class ConfluentTransactionalProducer(DelegatingProducer):
    """Implements `protocol.TransactionalProducer`. The constructor claims the id, or raises KafkaException.

    timeout   seconds after which the coordinator aborts a transaction that its producer does not end.
    settings  of librdkafka, which take precedence over ours.
    """

    def __init__(
        self,
        *,
        bootstrap: Iterable[Address],
        topics: tuple[str, ...],
        transactional_id: str,
        timeout: float,
        settings: Mapping[str, Any],
    ) -> None:
        self.producer_id: int | None = None
        self.epoch: int | None = None
        self._sending = ConfluentProducer(
            bootstrap=bootstrap,
            topics=topics,
            acks="all",
            idempotence=True,
            config={
                **settings,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": int(timeout * 1000),
                # The library accepts no longer time for a request.
                "socket.timeout.ms": min(COMMON["socket.timeout.ms"], int(timeout * 1000)),
                "statistics.interval.ms": STATISTICS_INTERVAL,
                "stats_cb": self._read,
            },
        )
        super().__init__(self._sending)
        try:
            self._sending.library.init_transactions(CLAIM_LIMIT)
        except BaseException:
            self._sending.close(0)
            raise
        deadline = time.monotonic() + STATISTICS_LIMIT
        while self.producer_id is None and (left := deadline - time.monotonic()) > 0:
            self._sending.serve(left)

    def begin(self) -> None:
        try:
            self._sending.library.begin_transaction()
        except KafkaException as error:
            raise ConnectionError(f"the producer can begin no transaction: {error.args[0]}") from error

    def add_positions(self, positions: Mapping[Log, int], membership: Any, limit: float) -> Ending:
        if membership is None:
            return Ending("fail", OUTSIDE)
        offsets = [TopicPartition(*log, offset) for log, offset in positions.items()]
        try:
            # The library's own limit does not hold while the group's coordinator is down (librdkafka #5456).
            send = partial(self._sending.library.send_offsets_to_transaction, offsets, membership, limit)
            call_within(limit + GRACE, send)
        except TimeoutError:
            return Ending("info", f"no answer within {limit:g} s")
        except KafkaException as error:
            # Positions count only with the commit. A transaction that has to be aborted, or whose producer has ended,
            # is never committed; one whose request had no answer may still be.
            cause: KafkaError = error.args[0]
            is_over = cause.txn_requires_abort() or cause.fatal()
            return Ending("fail" if is_over else "info", cause.name())
        return Ending("ok")

    def end(self, outcome: Literal["commit", "abort"], limit: float) -> Ending:
        deadline = time.monotonic() + limit
        library = self._sending.library
        try:
            (library.commit_transaction if outcome == "commit" else library.abort_transaction)(limit)
        except KafkaException as error:
            cause: KafkaError = error.args[0]
            if outcome == "commit" and cause.txn_requires_abort() and self._aborts(deadline):
                return Ending("fail", cause.name())
            # Without an answer, and after a fatal error such as fencing, an earlier try may have taken effect.
            return Ending("info", cause.name())
        return Ending("ok")

    def _aborts(self, deadline: float) -> bool:
        """Whether the coordinator acknowledges the abort, which proves that the commit never takes effect."""
        try:
            self._sending.library.abort_transaction(max(deadline - time.monotonic(), 0.1))
        except KafkaException:
            return False
        return True

    def _read(self, statistics: str) -> None:
        eos = json.loads(statistics).get("eos", {})
        if eos.get("producer_id", -1) >= 0:
            self.producer_id, self.epoch = eos["producer_id"], eos["producer_epoch"]
