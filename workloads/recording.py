"""What a worker writes into the history: the records that it sent and polled, and its reads as a whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from workloads.clients.protocol import Completion, Log, Polled
from workloads.history.writer import Writer
from workloads.keys import Keyed
from workloads.payload import amount_of, decode, source_of

_UNKNOWN = (None, None)
"""Broker and time of a record whose fetch is unknown."""

_NO_KEY = (None, None)
"""Key of a record without one, and whether it is a tombstone."""


class Sent(NamedTuple):
    """A send whose completion is outstanding. `number` is its index in the history; times in ns, see the schema.

    transaction  op of the transaction to which it belongs.
    source       value of the record from which it is made.
    amount       what it adds to its account, see `workloads.bank`.
    """

    op: int
    number: int
    log: Log
    invoked: int
    intended: int | None = None
    transaction: int | None = None
    source: int | None = None
    keyed: Keyed | None = None
    amount: int | None = None


class Records:
    """Writes rows of the records table, numbered in the order of recording. For one thread."""

    def __init__(self, writer: Writer, *, run: str, process: int, session: int | None) -> None:
        self._writer = writer
        self._run, self._process, self._session = run, process, session
        self._index = 0

    def invoke(
        self,
        op: int,
        log: Log,
        invoked: int,
        intended: int | None = None,
        *,
        transaction: int | None = None,
        source: int | None = None,
        keyed: Keyed | None = None,
        amount: int | None = None,
    ) -> Sent:
        """Record that a send is about to happen. Call `flush` before it does."""
        sent = Sent(op, self._next_index(), log, invoked, intended, transaction, source, keyed, amount)
        self._send(sent, type="invoke")
        return sent

    def complete(self, sent: Sent, completion: Completion) -> None:
        """Record how a send ended."""
        outcome = completion.outcome
        self._send(
            sent, type=outcome.type, completed=completion.at, offset=outcome.offset, error=outcome.error
        )

    def polled(
        self,
        op: int,
        records: Iterable[Polled],
        *,
        invoked: int,
        completed: int,
        assignment: int,
        final: bool = False,
        committed: bool = False,
        generation: int | None = None,
    ) -> None:
        """Record what one poll returned; all of its records share the operation `op`. Times in ns.

        committed   whether the consumer reads with ``isolation.level=read_committed``.
        generation  of the assignment, if a group member polled.
        """
        row, run = self._writer.row, self._run
        rows = []
        for (topic, partition), offset, epoch, payload, fetched, keyed, _ in records:
            value, error = decode(payload, run, topic, partition)
            node, at = fetched or _UNKNOWN
            key, tombstone = keyed or _NO_KEY
            rows.append(
                row(
                    run=run,
                    op=op,
                    index=self._next_index(),
                    process=self._process,
                    session=self._session,
                    f="poll",
                    type="ok",
                    invoked=invoked,
                    completed=completed,
                    topic=topic,
                    partition=partition,
                    offset=offset,
                    value=value,
                    leader_epoch=epoch if epoch >= 0 else None,
                    assignment=assignment,
                    final=final,
                    error=error,
                    committed=committed,
                    generation=generation,
                    node=node,
                    fetched=at,
                    source=source_of(payload) if value is not None else None,
                    amount=amount_of(payload) if value is not None else None,
                    key=key,
                    tombstone=tombstone,
                )
            )
        self._writer.extend(rows)

    def flush(self) -> None:
        """Write what was recorded to disk."""
        self._writer.flush()

    def _send(
        self,
        sent: Sent,
        *,
        type: str,
        completed: int | None = None,
        offset: int | None = None,
        error: str | None = None,
    ) -> None:
        topic, partition = sent.log
        key, tombstone = sent.keyed or _NO_KEY
        row = self._writer.row(
            run=self._run,
            op=sent.op,
            index=sent.number,
            process=self._process,
            session=self._session,
            f="send",
            type=type,
            invoked=sent.invoked,
            completed=completed,
            topic=topic,
            partition=partition,
            offset=offset,
            value=sent.op,
            assignment=0,
            final=False,
            error=error,
            intended=sent.intended,
            transaction=sent.transaction,
            source=sent.source,
            amount=sent.amount,
            key=key,
            tombstone=tombstone,
        )
        self._writer.extend((row,))

    def _next_index(self) -> int:
        self._index += 1
        return self._index - 1


class Reads:
    """Writes rows of the operations table for reads as a whole, and for positions that were lost."""

    def __init__(self, writer: Writer, *, run: str, process: int, session: int | None, f: str) -> None:
        self._writer = writer
        self._run, self._process, self._session, self._f = run, process, session, f

    def record(
        self,
        op: int,
        log: Log,
        *,
        invoked: int,
        completed: int,
        start: int,
        end: int | None,
        error: str | None = None,
        value: str | None = None,
    ) -> None:
        """Record a read from offset `start` to `end` (exclusive), or the error that ended it. Times in ns."""
        topic, partition = log
        self._writer.append(
            run=self._run,
            op=op,
            process=self._process,
            session=self._session,
            f=self._f,
            type="ok" if error is None else "info",
            invoked=invoked,
            completed=completed,
            topic=topic,
            partition=partition,
            start_offset=start,
            end_offset=end,
            error=error,
            value=value,
        )
