"""The transactional producer of kafka-python behind our protocol."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from kafka import OffsetAndMetadata, TopicPartition
from kafka.errors import KafkaError

from workloads.clients.connection import Address
from workloads.clients.kafka_python.producer import KafkaPythonProducer
from workloads.clients.protocol import OUTSIDE, DelegatingProducer, Ending, Log

UNKNOWN = -1
"""How kafka-python says that it has no producer id."""


class KafkaPythonTransactional(DelegatingProducer):
    """Implements `protocol.TransactionalProducer`. The constructor raises KafkaError when it cannot claim the id.

    timeout  seconds after which the coordinator aborts a transaction that its producer does not end.
    """

    def __init__(
        self,
        *,
        bootstrap: Iterable[Address],
        topics: tuple[str, ...],
        transactional_id: str,
        timeout: float,
        config: Mapping[str, Any],
    ) -> None:
        sending = KafkaPythonProducer(
            bootstrap=bootstrap,
            topics=topics,
            acks="all",
            idempotence=True,
            config={
                "transactional_id": transactional_id,
                "transaction_timeout_ms": int(timeout * 1000),
                **config,
            },
        )
        super().__init__(sending)
        self._producer = sending.library_producer
        try:
            self._producer.init_transactions()
        except BaseException:
            sending.close(0)
            raise
        claimed = self._manager.producer_id_and_epoch
        self.producer_id: int | None = claimed.producer_id if claimed.producer_id != UNKNOWN else None
        self.epoch: int | None = claimed.epoch if claimed.producer_id != UNKNOWN else None

    def begin(self) -> None:
        try:
            self._producer.begin_transaction()
        except KafkaError as error:
            raise ConnectionError(f"the producer cannot begin a transaction: {error!r}") from error

    def add_positions(self, positions: Mapping[Log, int], membership: Any, limit: float) -> Ending:
        if membership is None:
            return Ending("fail", OUTSIDE)
        offsets = {
            TopicPartition(*log): OffsetAndMetadata(offset, "", -1) for log, offset in positions.items()
        }
        error = _within(limit, lambda: self._producer.send_offsets_to_transaction(offsets, membership))
        # Whether the coordinator has them or not, they count only if the transaction is committed.
        return Ending("ok") if error is None else Ending("fail", error)

    def end(self, outcome: Literal["commit", "abort"], limit: float) -> Ending:
        if outcome == "commit" and self._manager.has_error():
            # The library refuses to request the commit, and nobody else will.
            return Ending("fail", type(self._manager.last_error).__name__)
        request = (
            self._producer.commit_transaction if outcome == "commit" else self._producer.abort_transaction
        )
        error = _within(limit, request)
        return Ending("ok") if error is None else Ending("info", error)

    @property
    def _manager(self) -> Any:
        return self._producer._transaction_manager


def _within(limit: float, request: Callable[[], Any]) -> str | None:
    """Make a request; return None once it is acknowledged, or the name of the error.

    In a thread: the library waits for ever if a coordinator dies while it waits for the answer.
    """
    errors: list[str] = []

    def run() -> None:
        try:
            request()
        except Exception as error:  # AssertionError and others leave its state machine as well
            errors.append(type(error).__name__)
        else:
            errors.append("")

    thread = threading.Thread(target=run, name="transaction", daemon=True)
    thread.start()
    thread.join(limit)
    if not errors:
        return f"no answer within {limit:g} s"
    return errors[0] or None
