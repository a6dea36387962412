"""Consumers of kafka-python and confluent-kafka whose public methods are recorded.

The public methods do not say when a member of a group was given another position, nor when a client moved its
position by itself. So each step of such a client that is not to the next offset begins another assignment, and proves
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

from pytest_kafkacheck.errors import UsageError

if TYPE_CHECKING:
    from pytest_kafkacheck.recorder.recorder import Recorder

MOVES = frozenset({
    "assign", "unassign", "incremental_assign", "incremental_unassign", "subscribe", "unsubscribe", "seek",
    "seek_to_beginning", "seek_to_end",
})  # fmt: skip
"""Methods after which a consumer may go on anywhere."""


def recorded_consumer(
    client: Any,
    recorder: Recorder,
    *,
    by: str,
    session: str | None,
    committed: bool | None,
    resets: bool | None,
) -> Any:
    """Raises UsageError for something that is no consumer of a known library."""
    kind = next((kind for method, kind in KINDS.items() if callable(getattr(client, method, None))), None)
    if kind is None or not callable(getattr(client, "poll", None)):
        raise UsageError(
            f"{type(client).__name__}: expected a consumer of kafka-python or of confluent-kafka; report what "
            f"another client gets by hand, with poll"
        )
    return kind(client, recorder, by=by, session=session, committed=committed, resets=resets)


class RecordedConsumer:
    """Delegates everything to the client, and records what its polls return."""

    def __init__(
        self,
        client: Any,
        recorder: Recorder,
        *,
        by: str,
        session: str | None,
        committed: bool | None,
        resets: bool | None,
    ) -> None:
        self._client, self._recorder, self._by = client, recorder, by
        self._committed = self._isolation() if committed is None else committed
        self._resets = self._may_reset() if resets is None else resets
        self._session = session
        self._assignment = 0
        self._next: dict[tuple[str, int], int] = {}

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._client, name)
        if name not in MOVES:
            return attribute

        def move(*arguments: Any, **options: Any) -> Any:
            self._begin_assignment()
            return attribute(*arguments, **options)

        return move

    def __enter__(self) -> Self:
        self._client.__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        return self._client.__exit__(*error)

    def _isolation(self) -> bool | None:
        return None

    def _may_reset(self) -> bool:
        return True

    def _begin_assignment(self) -> None:
        self._assignment += 1
        self._next.clear()

    def _record(self, records: Iterable[Mapping[str, Any]], invoked: int) -> None:
        line: list[Mapping[str, Any]] = []
        for record in records:
            log, offset = (record["topic"], record["partition"]), record["offset"]
            if self._resets and self._next.get(log, offset) != offset:
                self._write(line, invoked)
                line = []
                self._begin_assignment()
            self._next[log] = offset + 1
            line.append(record)
        self._write(line, invoked)

    def _write(self, records: list[Mapping[str, Any]], invoked: int) -> None:
        self._recorder.polled(
            records,
            by=self._by,
            invoked=invoked,
            session=self._session,
            committed=self._committed,
            assignment=self._assignment,
        )


class KafkaPythonConsumer(RecordedConsumer):
    """A ``kafka.KafkaConsumer``."""

    def poll(self, *arguments: Any, **options: Any) -> Any:
        invoked = self._recorder.now()
        batches = self._client.poll(*arguments, **options)
        self._record([self._fields(each) for records in batches.values() for each in records], invoked)
        return batches

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        invoked = self._recorder.now()
        record = next(self._client)
        self._record([self._fields(record)], invoked)
        return record

    def _fields(self, record: Any) -> Mapping[str, Any]:
        return kafka_python_fields(record, self._recorder)

    def _isolation(self) -> bool | None:
        level = _configured(self._client, "isolation_level")
        return None if level is None else level == "read_committed"

    def _may_reset(self) -> bool:
        is_member = _configured(self._client, "group_id") is not None
        return is_member or _configured(self._client, "auto_offset_reset") != "none"


class ConfluentConsumer(RecordedConsumer):
    """A ``confluent_kafka.Consumer``, which does not say how it was configured."""

    def poll(self, *arguments: Any, **options: Any) -> Any:
        invoked = self._recorder.now()
        message = self._client.poll(*arguments, **options)
        self._take([] if message is None else [message], invoked)
        return message

    def consume(self, *arguments: Any, **options: Any) -> Any:
        invoked = self._recorder.now()
        messages = self._client.consume(*arguments, **options)
        self._take(messages, invoked)
        return messages

    def _take(self, messages: Iterable[Any], invoked: int) -> None:
        self._record([self._fields(each) for each in messages if each.error() is None], invoked)

    def _fields(self, message: Any) -> Mapping[str, Any]:
        return {
            "topic": message.topic(),
            "partition": message.partition(),
            "offset": message.offset(),
            "value": self._recorder.token_of(message.headers(), message.value()),
        }


def kafka_python_fields(record: Any, recorder: Recorder) -> Mapping[str, Any]:
    """Those of a line, of a record that kafka-python returned."""
    epoch = getattr(record, "leader_epoch", None)
    fields = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "value": recorder.token_of(record.headers, record.value),
    }
    return fields | ({"leader_epoch": epoch} if isinstance(epoch, int) and epoch >= 0 else {})


KINDS: dict[str, type[RecordedConsumer]] = {"consume": ConfluentConsumer, "poll": KafkaPythonConsumer}
"""By the method that tells the library."""


def _configured(client: Any, name: str) -> Any:
    config = getattr(client, "config", None)
    return config.get(name) if isinstance(config, dict) else None
