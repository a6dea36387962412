"""Records what clients of a test do, as the test or a wrapped client reports it."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.recorder.identity import header_of, key_number, token_in, value_token
from pytest_kafkacheck.recorder.line_log import LineLog

Type = Literal["ok", "fail", "info"]
Outcome = Literal["commit", "abort"]


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A send that was begun. Give it to `Recorder.ack` or `Recorder.fail`; otherwise its outcome is unknown.

    header  for the headers of the record, if it shall be recognised by it and not by its value.
    """

    fields: Mapping[str, Any]
    header: tuple[str, bytes]

    @property
    def topic(self) -> str:
        return str(self.fields["topic"])


@dataclass(frozen=True, kw_only=True)
class Transaction:
    """A transaction that was begun."""

    fields: Mapping[str, Any]

    @property
    def op(self) -> str:
        return str(self.fields["op"])


class Recorder:
    """Records whatever a test reports by hand.

    log    takes what is recorded.
    run    id of the run.
    clock  returns monotonic ns.

    A client is named by `by`. It does one thing after another; clients of several threads have names of their own.
    """

    def __init__(self, log: LineLog, *, run: str, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._log, self._run, self._clock = log, run, clock
        self._lock = threading.Lock()
        self._numbers: Counter[str] = Counter()
        self._tokens: set[str] = set()
        self._open: dict[str, Transaction] = {}
        self._clients: dict[str, str] = {}
        self.topics: set[str] = set()
        """Those to which something was sent."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was sent."""
        return not self.topics

    def send(
        self,
        topic: str,
        value: Any,
        *,
        by: str = "test",
        partition: int | None = None,
        key: Any = None,
        session: str | None = None,
        transaction: Transaction | None = None,
    ) -> Sent:
        """A client is about to send a record with this value, which no other send of the test has.

        Raises UsageError for a value that was sent before: nobody could tell which of both is read.
        """
        token = value_token(value)
        with self._lock:
            if token in self._tokens:
                raise UsageError(
                    f"value {value!r} was sent before: expected one that no other send of this test has, or wrap the "
                    f"producer, whose records get a header that tells them apart"
                )
        return self.begin_send(
            topic,
            by=by,
            token=token,
            partition=partition,
            key=key,
            tombstone=value is None or None,
            session=session,
            transaction=transaction,
        )

    def begin_send(
        self,
        topic: str,
        *,
        by: str,
        token: str | None = None,
        partition: int | None = None,
        key: Any = None,
        tombstone: bool | None = None,
        session: str | None = None,
        transaction: Transaction | None = None,
    ) -> Sent:
        """As `send`, for a record with `Sent.header`, which makes any value unique."""
        with self._lock:
            self._numbers["sends"] += 1
            number = self._numbers["sends"]
            token = f"{by}:{number}" if token is None else token
            self._tokens.add(token)
            self.topics.add(topic)
        fields = {
            "process": by,
            "session": session,
            "topic": topic,
            "partition": partition,
            "value": token,
            "key": key_number(key),
            "tombstone": None if key is None else tombstone,
            "transaction": None if transaction is None else transaction.op,
            "index": number,
            "invoked": self._clock(),
        }
        of_invocation = {name: each for name, each in fields.items() if name != "index"}
        self._log.append("send", **of_invocation, type="invoke")
        return Sent(fields=fields, header=header_of(self._run, token))

    def ack(self, sent: Sent, *, partition: int, offset: int | None = None) -> None:
        """The broker acknowledged it, at this offset; None: it did not say at which."""
        self._complete(sent, "ok", partition=partition, offset=offset)

    def fail(self, sent: Sent, error: object = None) -> None:
        """It certainly did not happen: the client refused it. Where a broker may have it, leave it as it is."""
        self._complete(sent, "fail", error=error)

    def unknown(self, sent: Sent, error: object) -> None:
        """The client gave up, and a broker may have it."""
        self._complete(sent, "info", error=error)

    def poll(
        self,
        records: Iterable[tuple[str, int, int, Any]],
        *,
        by: str = "test",
        session: str | None = None,
        invoked: int | None = None,
        committed: bool | None = None,
        assignment: int | None = None,
        final: bool | None = None,
    ) -> None:
        """A client got records: topic, partition, offset and value of each, in the order in which it got them.

        invoked     monotonic ns at which it began to poll; None: now.
        assignment  a number that grows whenever the client is moved to another position.
        Records that no client of the test sent are left out: the topic may have been used before.
        """
        self.polled(
            [
                {"topic": topic, "partition": partition, "offset": offset, "value": value_token(value)}
                for topic, partition, offset, value in records
            ],
            by=by,
            session=session,
            invoked=invoked,
            committed=committed,
            assignment=assignment,
            final=final,
        )

    def polled(
        self, records: Iterable[Mapping[str, Any]], *, by: str, invoked: int | None, **fields: Any
    ) -> None:
        """As `poll`; each record has the fields of a line, with the identity that `token_of` returned as value."""
        now = self._clock()
        known = [dict(each) for each in records if each["value"] in self._tokens]
        if known:
            self._log.append(
                "poll",
                process=by,
                type="ok",
                invoked=now if invoked is None else invoked,
                completed=now,
                records=known,
                **fields,
            )

    def token_of(self, headers: Any, value: Any) -> str:
        """The identity of a record that was read."""
        token = token_in(headers, self._run)
        return value_token(value) if token is None else token

    def now(self) -> int:
        """Monotonic ns, for `poll`."""
        return self._clock()

    def commit(
        self,
        group: str,
        topic: str,
        partition: int,
        offset: int,
        *,
        member: str,
        by: str = "test",
        type: Type = "ok",
        generation: int | None = None,
        invoked: int | None = None,
        transaction: Transaction | None = None,
    ) -> None:
        """A member of a group committed a position: the next offset to read."""
        now = self._clock()
        self._log.append(
            "commit",
            process=by,
            type=type,
            group=group,
            member=member,
            topic=topic,
            partition=partition,
            end_offset=offset,
            generation=generation,
            transaction=None if transaction is None else transaction.op,
            invoked=now if invoked is None else invoked,
            completed=now,
        )

    def begin(self, transactional_id: str, *, by: str = "test") -> Transaction:
        """A client begins a transaction."""
        with self._lock:
            self._numbers["transactions"] += 1
            op = f"transaction-{self._numbers['transactions']}"
            fields = {"process": by, "op": op, "transactional_id": transactional_id, "invoked": self._clock()}
            self._open[op] = Transaction(fields=fields)
            return self._open[op]

    def end(
        self,
        transaction: Transaction,
        outcome: Outcome,
        *,
        type: Type = "ok",
        ending: int | None = None,
        error: object = None,
    ) -> None:
        """A client got the answer to its request to end a transaction. Only the first answer counts.

        type    ok: it was acknowledged; fail: nothing of it happened; info: unknown.
        ending  monotonic ns at which it was requested; None: now.
        """
        with self._lock:
            if self._open.pop(transaction.op, None) is None:
                return
        now = self._clock()
        self._log.append(
            "txn",
            **transaction.fields,
            type=type,
            outcome=outcome,
            ending=now if ending is None else ending,
            completed=now,
            error=None if error is None else _text(error),
        )

    def client(self, by: str, role: str, settings: Mapping[str, str]) -> None:
        """Record a client and the settings with which it sends, as Kafka spells them, as far as they are known.

        A verdict explains with them what a setting allowed. Does nothing for a client that was recorded before.
        """
        with self._lock:
            if by in self._clients:
                return
            self._clients[by] = role
        acks = settings.get("acks")
        config = {name: value for name, value in settings.items() if name != "acks"}
        self._worker(by, "started", acks=acks, config=config or None)

    def _worker(self, by: str, event: str, **fields: Any) -> None:
        self._log.append(
            "worker", process=by, role=self._clients[by], event=event, invoked=self._clock(), **fields
        )

    def close(self) -> None:
        """Transactions that are open stay unknown."""
        with self._lock:
            left, self._open = self._open, {}
            clients = list(self._clients)
        for by in clients:
            self._worker(by, "stopped")
        with self._lock:
            self._clients.clear()
        for each in left.values():
            self._log.append("txn", **each.fields, type="info", outcome="commit")

    def fault_rows(self) -> Callable[[Mapping[str, Any]], None]:
        """For one schedule of faults: takes its rows. Schedules of a test may have events of the same id."""
        with self._lock:
            self._numbers["schedules"] += 1
            number = self._numbers["schedules"]

        def take(row: Mapping[str, Any]) -> None:
            value = dict(row["value"])
            value["event"] = f"{value['event']}.{number}" if number > 1 else value["event"]
            columns = {
                name: each for name, each in row.items() if name not in ("f", "value", "process", "error")
            }
            self._log.append("fault", fault=row["f"], **columns, **value)

        return take

    def _complete(self, sent: Sent, type: Type, *, error: object = None, **more: Any) -> None:
        fields = {**sent.fields, **{name: each for name, each in more.items() if each is not None}}
        self._log.append(
            "send",
            **fields,
            type=type,
            completed=self._clock(),
            error=None if error is None else _text(error),
        )

    def name_client(self, role: str) -> str:
        """Such as ``producer 0``."""
        with self._lock:
            self._numbers[role] += 1
            return f"{role} {self._numbers[role] - 1}"


def _text(error: object) -> str:
    return error if isinstance(error, str) else f"{type(error).__name__}: {error}"
