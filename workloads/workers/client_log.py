"""What client libraries log in a worker process, limited and on standard error."""

from __future__ import annotations

import logging
import sys

PER_SECOND = 5
"""Log records: a client that cannot connect logs thousands."""


class _Limited(logging.Filter):
    """Lets through a number of records per second, without their tracebacks."""

    def __init__(self, per_second: int) -> None:
        super().__init__()
        self._per_second = per_second
        self._second, self._count = 0, 0

    def filter(self, record: logging.LogRecord) -> bool:
        second = int(record.created)
        if second != self._second:
            self._second, self._count = second, 0
        self._count += 1
        record.exc_info = record.exc_text = None
        return self._count <= self._per_second


def log_to_stderr() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message).300s"))
    handler.addFilter(_Limited(PER_SECOND))
    logger = logging.getLogger("kafka")
    logger.setLevel(logging.WARNING)
    logger.addHandler(handler)
    logger.propagate = False
