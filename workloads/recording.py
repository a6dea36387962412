"""What a worker writes into the history: the records that it sent and polled, its reads as a whole, and its commits.

One row of the table `records` is about one record. A send has two rows: its invocation, which is on disk before the
record is handed to the client, and its completion. Compaction joins the two. A polled record has one row. `Records`
takes many sends, completions or polled records with one call, which costs less than a call for each; each of them
still has a row of its own.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any, Literal, NamedTuple

from workloads.clients.protocol import CommitReport, Completion, Log, PolledRecords
from workloads.history.writer import Writer
from workloads.keys import Keyed
from workloads.payload import decode_all

_UNKNOWN = (None, None)
"""Broker and time of a record whose fetch is unknown."""

_NO_KEY = (None, None, None)
"""Key of a record without one, and whether it is a tombstone."""


class Sends:
    """Sends that one call of `Records.invoke` recorded. Each of them has a row of its own: an operation and a number
    (the column `index`), of which `op` and `number` are those of the first one; those of the others follow.

    logs     where each is sent to.
    sources  value of the record from which each is made; empty if from none.
    keyed    the key of each; empty if they have none.
    amounts  what each adds to its account, see `workloads.bank`; empty if nothing.
    """

    def __init__(
        self,
        op: int,
        number: int,
        logs: Sequence[Log],
        invoked: int,
        *,
        intended: Sequence[int],
        sources: Sequence[int],
        keyed: Sequence[Keyed],
        amounts: Sequence[int],
    ) -> None:
        count = len(logs)
        self.op, self.logs, self.sources, self.keyed, self.amounts = op, logs, sources, keyed, amounts
        self.ops = range(op, op + count)
        self.number = number
        self.invoked = [invoked] * count
        """ns."""
        self.columns: dict[str, Sequence[Any]] = {
            "topic": [topic for topic, _ in logs],
            "partition": [partition for _, partition in logs],
        }
        """Of both rows of each send, as far as they differ from send to send."""
        if intended:
            self.columns["intended"] = intended
        if sources:
            self.columns["source"] = sources
        if keyed:
            self.columns["key"] = [each.key for each in keyed]
            self.columns["tombstone"] = [each.tombstone for each in keyed]
        if amounts:
            self.columns["amount"] = amounts

    def __len__(self) -> int:
        return len(self.logs)

    def __iter__(self) -> Iterator[tuple[int, Log, int | None, Keyed | None]]:
        """Operation, log, source and key of each."""
        return zip(
            self.ops, self.logs, self.sources or repeat(None), self.keyed or repeat(None), strict=False
        )


class Records:
    """Writes rows of the records table, numbered in the order of recording. For one thread."""

    def __init__(self, writer: Writer, *, run: str, process: int, session: int | None) -> None:
        self._writer = writer
        self._run = run
        self._known = {"run": run, "process": process, "session": session}
        self._of_sends = {**self._known, "f": "send", "assignment": 0, "final": False}
        self._index = 0

    def invoke(
        self,
        op: int,
        logs: Sequence[Log],
        invoked: int,
        intended: Sequence[int] = (),
        *,
        transaction: int | None = None,
        sources: Sequence[int] = (),
        keyed: Sequence[Keyed] = (),
        amounts: Sequence[int] = (),
    ) -> Sends:
        """Record that a send to each of the logs is about to happen: one row ``invoke`` for each send. Call `flush`
        before the first of them happens.

        op           of the first; those of the others follow.
        invoked      ns.
        intended     when each was due, in ns; empty if they have no time.
        transaction  op of the transaction to which they belong.
        sources      value of the record from which each is made; empty if from none.
        keyed        the key of each; empty if they have none.
        amounts      what each adds to its account; empty if nothing.
        """
        numbers = self._numbers(len(logs))
        begun = Sends(
            op, numbers.start, logs, invoked, intended=intended, sources=sources, keyed=keyed, amounts=amounts
        )
        if transaction is not None:
            begun.columns["transaction"] = [transaction] * len(logs)
        self._writer.extend(
            len(logs),
            {**self._of_sends, "type": "invoke", "invoked": invoked},
            {"op": (ops := [*begun.ops]), "value": ops, "index": [*numbers], **begun.columns},
        )
        return begun

    def complete(self, ended: Sequence[tuple[Sends, Completion]]) -> None:
        """Record how sends ended: one row for each. They may be of several calls of `invoke`."""
        if not ended:
            return
        ops = [completion.op for _, completion in ended]
        of = [(sends, completion.op - sends.op) for sends, completion in ended]
        names = {name for sends in {sends for sends, _ in of} for name in sends.columns}
        types, offsets, errors = zip(*[completion.outcome for _, completion in ended], strict=True)
        self._writer.extend(
            len(ended),
            self._of_sends,
            {
                "op": ops,
                "value": ops,
                "index": [sends.number + place for sends, place in of],
                "type": types,
                "invoked": [sends.invoked[place] for sends, place in of],
                "completed": [completion.at for _, completion in ended],
                "offset": offsets,
                "error": errors,
            }
            | {
                name: [column[place] if (column := sends.columns.get(name)) else None for sends, place in of]
                for name in names
            },
        )

    def polled(
        self,
        op: int,
        records: PolledRecords,
        *,
        invoked: int,
        completed: int,
        assignment: int,
        final: bool = False,
        committed: bool = False,
        generation: int | None = None,
    ) -> None:
        """Record what one poll returned: one row for each record; all of them share the operation `op`. Times in ns.

        committed   whether the consumer reads with ``isolation.level=read_committed``.
        generation  of the assignment, if a group member polled.
        """
        same = {
            **self._known, "op": op, "f": "poll", "type": "ok", "invoked": invoked, "completed": completed,
            "assignment": assignment, "final": final, "committed": committed, "generation": generation,
        }  # fmt: skip
        for batch in records.batches:
            topic, partition = batch.log
            decoded = decode_all(batch.payloads, self._run, topic, partition)
            node, fetched = batch.fetched or _UNKNOWN
            each: dict[str, Sequence[Any]] = {
                "index": self._numbers(len(batch.offsets)),
                "offset": batch.offsets,
                "value": decoded.values,
            }
            if batch.keyed:
                each["key"], each["tombstone"], _ = zip(
                    *[keyed or _NO_KEY for keyed in batch.keyed], strict=True
                )
            for name, column in (
                ("error", decoded.problems), ("source", decoded.sources), ("amount", decoded.amounts),
            ):  # fmt: skip
                if column:
                    each[name] = column
            self._writer.extend(
                len(batch.offsets),
                {
                    **same,
                    "topic": topic,
                    "partition": partition,
                    "leader_epoch": batch.leader_epoch if batch.leader_epoch >= 0 else None,
                    "node": node,
                    "fetched": fetched,
                },
                each,
            )

    def flush(self) -> None:
        """Write what was recorded to disk."""
        self._writer.flush()

    def _numbers(self, count: int) -> range:
        begin = self._index
        self._index += count
        return range(begin, self._index)


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


class Commit(NamedTuple):
    """A commit of one position whose completion is outstanding; the columns of its row that are known."""

    columns: Mapping[str, Any]


class Commits:
    """Writes rows of the operations table for the commits of one member. For one thread.

    records     the writer of the process's records: `begin` flushes it.
    operations  the writer of the rows; flushed as well, because the member's assignments tell whose polls they are.
    member      id of the member, as the coordinator gave it.
    """

    def __init__(
        self, *, records: Writer, operations: Writer, run: str, process: int, group: str, member: str
    ) -> None:
        self._records, self._operations = records, operations
        self._known = {"run": run, "process": process, "f": "commit", "group": group}
        self._member = member

    def begin(
        self,
        op: int,
        positions: Mapping[Log, int],
        *,
        generation: int | None,
        reset: bool = False,
        transaction: int | None = None,
    ) -> list[Commit]:
        """Call this before the request is sent. After it, a SIGKILL loses no record that the commit covers.

        Otherwise the history of a killed member would lack records that its group committed. The next owner starts
        behind them, which would look as if the group had skipped them.

        positions    the next offset to read of each log.
        reset        the offsets are deliberately others than the positions of the member.
        transaction  op of the `txn` that the offsets are sent to.
        """
        value: dict[str, Any] = {"member": self._member}
        if reset:
            value["reset"] = True
        if transaction is not None:
            value["transaction"] = transaction
        self._records.flush()
        self._operations.flush()
        now = time.monotonic_ns()
        return [
            Commit({
                "op": op, "topic": topic, "partition": partition, "end_offset": offset, "invoked": now,
                "generation": generation, "value": json.dumps(value),
            })
            for (topic, partition), offset in positions.items()
        ]  # fmt: skip

    def report(self, op: int, report: CommitReport, kind: str) -> None:
        """Record a commit that was sent within a poll. kind: the member's setting `commits_in_poll`. All rows must
        have been flushed before the member was allowed to make it."""
        value = json.dumps({"member": self._member, kind: True})
        for (topic, partition), offset in report.positions.items():
            self._operations.append(
                **self._known, op=op, topic=topic, partition=partition, end_offset=offset, value=value,
                type=report.ending.type, error=report.ending.error, invoked=report.invoked,
                completed=report.completed, generation=report.generation,
            )  # fmt: skip

    def complete(
        self,
        commits: Sequence[Commit],
        type: Literal["ok", "fail", "info"],
        *,
        completed: int,
        error: str | None = None,
    ) -> None:
        """Record how they ended; those sent to a transaction end with it. completed: ns."""
        for commit in commits:
            self._operations.append(
                **self._known, **commit.columns, type=type, completed=completed, error=error
            )
