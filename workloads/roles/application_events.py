"""What an instance of an application did that brokers do not see: when it began and ended by itself, and which errors
of Kafka it printed."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

from workloads.roles.context import WorkerContext
from workloads.user_program import readable, shortened

KIND = "application"
"""Of the rows of the observations table. The value is ``{"instance": "app:0", "event": "started"}``, ``"ended"`` with
``"status": int`` (below 0: the number of a signal), where no fault and no harness ended it, or ``"printed"`` with
``"line": text``. `time` is when it was seen; of what a fault interrupted, nothing may have been."""

MOST_LINES = 200
"""That are recorded of one process."""

MOST_BYTES = 1 << 20
"""That are read at one look."""

_ERROR = re.compile(
    r"\b[A-Z]\w*(?:Error|Exception)\b|\b_[A-Z]{3,}(?:_[A-Z]+)*\b|\b(?:Local|Broker): [A-Z]|\b[A-Z]+_[A-Z]+_OUT\b"
)
"""Names of errors in Java and Python, of librdkafka, and its descriptions."""


class ApplicationEvents:
    """log: what the instance prints goes there, after what is in it by now."""

    def __init__(self, context: WorkerContext, instance: int, log: Path) -> None:
        self._context, self._instance, self._log = context, f"app:{instance}", log
        self._at = log.stat().st_size if log.exists() else 0
        self._rest = b""
        self._lines = 0

    def started(self) -> None:
        self._record(event="started")

    def ended(self, status: int | None) -> None:
        self.look()
        self._record(event="ended", status=status)

    def look(self) -> None:
        """Record the errors that it has printed since the last look."""
        if self._lines >= MOST_LINES:
            return
        try:
            with self._log.open("rb") as file:
                file.seek(self._at)
                data = file.read(MOST_BYTES)
        except OSError:
            return
        self._at += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            text = line.decode(errors="replace").strip()
            if _ERROR.search(text) and self._lines < MOST_LINES:
                self._lines += 1
                self._record(event="printed", line=shortened(readable(text)))

    def _record(self, **value: Any) -> None:
        self._context.writer("observations").append(
            run=self._context.run,
            process=self._context.process,
            time=time.monotonic_ns(),
            kind=KIND,
            value=json.dumps({"instance": self._instance, **value}, sort_keys=True),
        )
