"""The transactions of the run, each as its coordinator reports it: state, producer, and the partitions in it.

One row per transactional id of which the broker is the coordinator. The value is ``{"transactional_id": text,
"state": text, "producer_id": int, "epoch": int, "started": ms or -1, "partitions": ["topic-0", ...]}``. While a
transaction ends, `partitions` are those without a marker. Brokers have these requests since Kafka 3.0.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from kafka.protocol.admin import ListTransactionsRequest

from workloads.clients.coordination import highest_version, transaction_states, transactional_ids
from workloads.probes.probe import IDLE, Ask, Row, Source


class TransactionProbe:
    kind = "transaction"
    interval = 0.2
    asks: Source = "every broker"

    def __init__(self, topics: Mapping[str, int], run: str) -> None:  # noqa: ARG002
        self._run = run
        self._is_known: bool | None = None
        self._idle_until = 0.0

    def sample(self, ask: Ask) -> Iterator[Row]:
        if time.monotonic() < self._idle_until:
            return
        if self._is_known is None:
            self._is_known = highest_version(ask, ListTransactionsRequest.API_KEY) >= 0
        of_run = [each for each in (transactional_ids(ask) if self._is_known else ()) if self._run in each]
        if not of_run:
            self._idle_until = time.monotonic() + IDLE
            return
        for name, found in transaction_states(ask, of_run).items():
            yield {
                "value": {
                    "transactional_id": name,
                    "state": found.state,
                    "producer_id": found.producer_id,
                    "epoch": found.epoch,
                    "started": found.started,
                    "partitions": [f"{topic}-{number}" for topic, number in found.logs],
                }
            }


PROBE = TransactionProbe
