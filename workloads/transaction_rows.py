"""What a transactional producer records besides its sends: that it claimed its id, and how its transactions ended."""

from __future__ import annotations

import json
import time
from typing import Literal

from workloads.clients.outcome import Type
from workloads.history.writer import Writer


class TransactionRows:
    """Writes rows of the operations table for the transactions of one process. For one thread.

    operations  the writer of the rows.
    """

    def __init__(self, operations: Writer, *, run: str, process: int, transactional_id: str) -> None:
        self._operations = operations
        self._known = {"run": run, "process": process}
        self._id = transactional_id
        self._epoch: int | None = None

    def claimed(
        self, op: int, *, invoked: int, producer_id: int | None, epoch: int | None, error: str | None = None
    ) -> None:
        """The id was claimed, or the claim ended with `error` and it is unknown whether it took effect. ns."""
        self._epoch = epoch
        value = {"transactional_id": self._id, "epoch": epoch, "producer_id": producer_id}
        self._operations.append(
            **self._known,
            op=op,
            f="init",
            type="ok" if error is None else "info",
            invoked=invoked,
            completed=time.monotonic_ns(),
            value=json.dumps({name: each for name, each in value.items() if each is not None}),
            error=error,
        )
        self._operations.flush()

    def ended(
        self,
        op: int,
        type: Type,
        *,
        invoked: int,
        completed: int,
        outcome: Literal["commit", "abort"],
        ending: int | None,
        error: str | None = None,
    ) -> None:
        """A transaction ended.

        ending  when its outcome was requested; None if the client gave up before. Times in ns.
        """
        value = {
            "transactional_id": self._id,
            "epoch": self._epoch if self._epoch is not None else -1,
            "outcome": outcome,
            "ending": ending,
        }
        self._operations.append(
            **self._known,
            op=op,
            f="txn",
            type=type,
            invoked=invoked,
            completed=completed,
            value=json.dumps(value),
            error=error,
        )
