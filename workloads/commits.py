"""What a member of a consumer group records when it commits: its polls are on disk before the request is sent."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from workloads.clients.protocol import CommitReport, Log
from workloads.history.writer import Writer


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
