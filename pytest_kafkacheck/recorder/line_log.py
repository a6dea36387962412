"""The file into which a recorder writes: a history as JSON lines, in nanoseconds of the host's monotonic clock."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workloads.history.lines.fields import VERSION
from workloads.history.lines.parse import HEADER


class LineLog:
    """Appends lines. Thread-safe: callbacks of clients come on threads of their own.

    requires, allow  of line 1, see `workloads.history.lines.parse.Header`.
    """

    def __init__(
        self, path: Path, *, run: str, requires: Sequence[str] | None = None, allow: Sequence[str] = ()
    ) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._file = path.open("x", encoding="utf-8")
        header: dict[str, Any] = {HEADER: VERSION, "unit": "ns", "run": run, "allow": [*allow]}
        self._write(header if requires is None else header | {"requires": [*requires]})

    def append(self, f: str, **fields: Any) -> None:
        """Write a line, without what is None. After `close` it is ignored: a client may still get answers then."""
        with self._lock:
            if not self._file.closed:
                self._write({"f": f} | {name: each for name, each in fields.items() if each is not None})

    def close(self) -> None:
        """May be called again."""
        with self._lock:
            self._file.close()

    def _write(self, row: Mapping[str, Any]) -> None:
        # Text that is no JSON, such as an error of a foreign library, is written as its repr.
        self._file.write(json.dumps(row, default=repr) + "\n")
