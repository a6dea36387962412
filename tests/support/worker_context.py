"""The context of a role without a worker process around it, and the rows that the role records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from workloads.clients.connection import Address
from workloads.history.schema import TABLES
from workloads.history.segments import read, segments
from workloads.roles.context import WorkerContext

NO_BROKERS: Mapping[int, Address] = {}


def worker_context(
    home: Path,
    role: str,
    options: Mapping[str, Any],
    *,
    topics: Mapping[str, int],
    brokers: Mapping[int, Address] | Iterable[Address] = NO_BROKERS,
    session: int | None = None,
    run: str = "r",
    library: str = "kafka-python",
    report: Callable[[str], None] = print,
) -> WorkerContext:
    """That of client process 4. brokers: by number, or numbered from 1."""
    numbered = brokers if isinstance(brokers, Mapping) else dict(enumerate(brokers, start=1))
    order = {
        "role": role, "process": 4, "session": session, "run": run, "home": str(home), "library": library,
        "topics": dict(topics), "options": dict(options),
        "brokers": {str(node): address.to_json() for node, address in numbered.items()},
    }  # fmt: skip
    return WorkerContext(order, report=report)


def rows_on_disk(home: Path, table: str = "operations") -> list[dict[str, Any]]:
    """All rows of the run directory that are in its segments."""
    paths = segments(home / "history", table)
    return [row for path in paths for row in read(path, TABLES[table]).to_pylist()]
