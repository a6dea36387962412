"""Producers of kafka-python and confluent-kafka whose public methods are recorded."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from pytest_kafkacheck.errors import UsageError

if TYPE_CHECKING:
    from pytest_kafkacheck.recorder.recorder import Outcome, Recorder, Sent, Transaction

SETTINGS = ("acks", "enable.idempotence", "retries", "max.in.flight.requests.per.connection")
"""With which causes are explained."""

SYNONYMS = {
    "request.required.acks": "acks",
    "message.send.max.retries": "retries",
    "max.in.flight": SETTINGS[3],
}
"""Other names that librdkafka has for them."""

LIBRDKAFKA = {"acks": "all", "enable.idempotence": "false"}
"""Its defaults, where a producer's settings do not name them: https://github.com/confluentinc/librdkafka, file
CONFIGURATION.md."""

REFUSALS = (TypeError, ValueError, AssertionError, BufferError)
"""With these, a library refuses a record before it takes it. After any other error, a broker may have it."""


def recorded_producer(
    client: Any,
    recorder: Recorder,
    *,
    by: str,
    session: str | None,
    transactional_id: str | None,
    settings: Mapping[str, Any] | None = None,
) -> Any:
    """Raises UsageError for something that is no producer of a known library."""
    kind = next((kind for method, kind in KINDS.items() if callable(getattr(client, method, None))), None)
    if kind is None:
        raise UsageError(
            f"{type(client).__name__}: expected a producer of kafka-python (with a method send) or of "
            f"confluent-kafka (with a method produce); report what "
            f"another client does by hand, with send, ack and fail"
        )
    return kind(
        client, recorder, by=by, session=session, transactional_id=transactional_id, settings=settings
    )


class RecordedProducer:
    """Delegates everything to the client, and records what concerns a history."""

    def __init__(
        self,
        client: Any,
        recorder: Recorder,
        *,
        by: str,
        session: str | None,
        transactional_id: str | None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self._client, self._recorder = client, recorder
        self._by, self._session = by, session
        self._transactional_id = transactional_id
        self._settings = self._known_settings(settings)
        self._transaction: Transaction | None = None
        self._threads: dict[int, int] = {}
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def __enter__(self) -> Self:
        self._client.__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        return self._client.__exit__(*error)

    def _known_settings(self, given: Mapping[str, Any] | None) -> dict[str, str]:
        """Of `SETTINGS`, as Kafka spells them. Empty where the client does not say them, and none are given."""
        raise NotImplementedError

    def begin_transaction(self, *arguments: Any, **options: Any) -> Any:
        name = self._transactional_id or _configured(self._client, "transactional_id")
        if name is None:
            raise UsageError(
                "producer(client, transactional_id=...): expected the id, which the client does not say"
            )
        result = self._client.begin_transaction(*arguments, **options)
        self._transaction = self._recorder.begin(name, by=self._by)
        return result

    def commit_transaction(self, *arguments: Any, **options: Any) -> Any:
        with self._ending("commit"):
            return self._client.commit_transaction(*arguments, **options)

    def abort_transaction(self, *arguments: Any, **options: Any) -> Any:
        with self._ending("abort"):
            return self._client.abort_transaction(*arguments, **options)

    @contextmanager
    def _ending(self, outcome: Outcome) -> Iterator[None]:
        transaction, self._transaction = self._transaction, None
        ending = self._recorder.now()
        try:
            yield
        except BaseException as error:
            if transaction is not None:
                self._recorder.end(transaction, outcome, type="info", ending=ending, error=error)
            raise
        if transaction is not None:
            self._recorder.end(transaction, outcome, ending=ending)

    def _writer(self) -> str:
        """The client, for sends that have an order: those of one thread."""
        with self._lock:
            number = self._threads.setdefault(threading.get_ident(), len(self._threads))
        by = f"{self._by}, thread {number}" if number else self._by
        self._recorder.client(by, "producer", self._settings)
        return by

    def _sending(self, topic: str, value: Any, key: Any, partition: int | None) -> Sent:
        return self._recorder.begin_send(
            topic,
            by=self._writer(),
            partition=partition,
            key=key,
            tombstone=value is None,
            session=self._session,
            transaction=self._transaction,
        )

    @contextmanager
    def _handing_over(self, sent: Sent) -> Iterator[None]:
        try:
            yield
        except REFUSALS as error:
            self._recorder.fail(sent, error)
            raise
        except BaseException as error:
            self._recorder.unknown(sent, error)
            raise


class KafkaPythonProducer(RecordedProducer):
    """A ``kafka.KafkaProducer``."""

    def _known_settings(self, given: Mapping[str, Any] | None) -> dict[str, str]:
        known = {name: _configured(self._client, name.replace(".", "_")) for name in SETTINGS}
        known |= {name: each for name, each in (given or {}).items() if name in SETTINGS}
        return {name: _spelt(name, each) for name, each in known.items() if each is not None}

    def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        headers: Any = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Any:
        sent = self._sending(topic, value, key, partition)
        with self._handing_over(sent):
            future = self._client.send(
                topic,
                value=value,
                key=key,
                headers=[*(headers or []), sent.header],
                partition=partition,
                timestamp_ms=timestamp_ms,
            )
        future.add_callback(lambda metadata: self._acknowledged(sent, metadata))
        future.add_errback(lambda error: self._recorder.unknown(sent, error))
        return future

    def _acknowledged(self, sent: Sent, metadata: Any) -> None:
        offset = metadata.offset if isinstance(metadata.offset, int) and metadata.offset >= 0 else None
        self._recorder.ack(sent, partition=metadata.partition, offset=offset)


class ConfluentProducer(RecordedProducer):
    """A ``confluent_kafka.Producer``. Its deliveries are reported by `poll` and `flush`, as ever."""

    def _known_settings(self, given: Mapping[str, Any] | None) -> dict[str, str]:
        if given is None:
            return {}
        named = {SYNONYMS.get(name, name): each for name, each in given.items()}
        known = {**LIBRDKAFKA, **{name: each for name, each in named.items() if name in SETTINGS}}
        return {name: _spelt(name, each) for name, each in known.items()}

    def __len__(self) -> int:
        return len(self._client)

    def produce(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        callback: Callable[[Any, Any], Any] | None = None,
        timestamp: int | None = None,
        headers: Any = None,
        on_delivery: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        chosen = None if partition is None or partition < 0 else partition
        sent = self._sending(topic, value, key, chosen)
        then = on_delivery or callback
        pairs = [*headers.items()] if isinstance(headers, dict) else [*(headers or [])]
        options: dict[str, Any] = {"value": value, "key": key, "timestamp": timestamp}
        given = {name: each for name, each in options.items() if each is not None}
        if chosen is not None:
            given["partition"] = chosen
        with self._handing_over(sent):
            self._client.produce(
                topic, headers=[*pairs, sent.header], on_delivery=self._delivered(sent, then), **given
            )

    def _delivered(self, sent: Sent, then: Callable[[Any, Any], Any] | None) -> Callable[[Any, Any], None]:
        def delivered(error: Any, message: Any) -> None:
            if error is None:
                offset = message.offset()
                known = offset if offset is not None and offset >= 0 else None
                self._recorder.ack(sent, partition=message.partition(), offset=known)
            else:
                self._recorder.unknown(sent, str(error))
            if then is not None:
                then(error, message)

        return delivered


KINDS: dict[str, type[RecordedProducer]] = {"produce": ConfluentProducer, "send": KafkaPythonProducer}
"""By the method that tells the library."""


def _spelt(name: str, value: Any) -> str:
    """``all`` for each name of it; ``true`` and ``false``."""
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    return "all" if name == "acks" and text == "-1" else text


def _configured(client: Any, name: str) -> Any:
    config = getattr(client, "config", None)
    return config.get(name) if isinstance(config, dict) else None
