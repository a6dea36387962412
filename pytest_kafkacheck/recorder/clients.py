"""Clients of a test, wrapped so that a recorder knows what they do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_kafkacheck.recorder.consumers import recorded_consumer
from pytest_kafkacheck.recorder.producers import recorded_producer
from pytest_kafkacheck.recorder.recorder import Recorder


class ClientRecorder(Recorder):
    """Records clients of kafka-python and confluent-kafka, and whatever a test reports by hand."""

    def producer(
        self,
        client: Any,
        *,
        session: str | None = None,
        transactional_id: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Any:
        """The producer of kafka-python or confluent-kafka, whose sends and transactions are recorded.

        session           names the user for whom it writes: behind all that the session had read and written before.
        transactional_id  needed for a transactional producer of confluent-kafka.
        settings          with which a producer of confluent-kafka was made, because it does not say them. Causes of
                          findings are explained with acks, enable.idempotence and their like.
        Each record gets a header, by which it is recognised when it is read. Use what is returned instead of the
        client; all other methods are the client's own.
        """
        return recorded_producer(
            client,
            self,
            by=self.name_client("producer"),
            session=session,
            transactional_id=transactional_id,
            settings=settings,
        )

    def consumer(
        self,
        client: Any,
        *,
        session: str | None = None,
        committed: bool | None = None,
        resets: bool | None = None,
    ) -> Any:
        """The consumer of kafka-python or confluent-kafka, whose polls are recorded.

        session    as for `producer`.
        committed  whether it reads with isolation.level=read_committed; None: what the client says, else unknown.
        resets     whether it may move its position by itself, as a member of a group and with auto.offset.reset other
                   than none; None: what the client says, else True. Steps back and gaps of such a client are no
                   findings.
        """
        return recorded_consumer(
            client, self, by=self.name_client("consumer"), session=session, committed=committed, resets=resets
        )
