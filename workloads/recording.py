"""What a process writes into the history: sends, polls, reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from workloads.clients.protocol import Completion, Log, Polled
from workloads.history.writer import Writer
from workloads.payload import decode


class Sent(NamedTuple):
    """A send whose completion is outstanding. `number` is its index in the history, `invoked` in ns."""

    op: int
    number: int
    log: Log
    invoked: int


class Records:
    """Rows of the records table, numbered in the order of recording. For one thread."""

    def __init__(self, writer: Writer, *, run: str, process: int, session: int | None) -> None:
        self._writer = writer
        self._run, self._process, self._session = run, process, session
        self._index = 0

    def invoke(self, op: int, log: Log, invoked: int) -> Sent:
        """A send that is about to happen. Flush before it does."""
        sent = Sent(op, self._next(), log, invoked)
        self._send(sent, "invoke", None, None, None)
        return sent

    def complete(self, sent: Sent, completion: Completion) -> None:
        outcome = completion.outcome
        self._send(sent, outcome.type, completion.at, outcome.offset, outcome.error)

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
    ) -> None:
        """What one poll returned; all of it shares the operation `op`. Times in ns.

        committed  whether the consumer reads only what is committed.
        """
        for log, offset, epoch, payload in records:
            value, problem = decode(payload, self._run, *log)
            self._writer.append(
                (
                    self._run, op, self._next(), self._process, self._session, "poll", "ok",
                    invoked, completed, *log, offset, value, epoch if epoch >= 0 else None,
                    assignment, None, final, problem, None, None, committed, None, None,
                )
            )  # fmt: skip

    def flush(self) -> None:
        self._writer.flush()

    def _send(
        self, sent: Sent, kind: str, completed: int | None, offset: int | None, error: str | None
    ) -> None:
        self._writer.append(
            (
                self._run, sent.op, sent.number, self._process, self._session, "send", kind,
                sent.invoked, completed, *sent.log, offset, sent.op, None, 0, None, False, error,
                None, None, None, None, None,
            )
        )  # fmt: skip

    def _next(self) -> int:
        self._index += 1
        return self._index - 1


class Reads:
    """Rows of the operations table for reads as a whole."""

    def __init__(self, writer: Writer, *, run: str, process: int, session: int | None, f: str) -> None:
        self._writer = writer
        self._head = (run, process, session, f)

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
    ) -> None:
        """A read from offset `start` to `end` (exclusive), or what it failed by. Times in ns."""
        run, process, session, f = self._head
        kind = "ok" if error is None else "info"
        row: Sequence[object] = (
            run, op, process, session, f, kind, invoked, completed, *log, start, end, None, error, None, None,
        )  # fmt: skip
        self._writer.append(tuple(row))
