"""What client libraries log in a worker stays little, whatever they log."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from workloads.workers.main import PER_SECOND, log_to_stderr

SENDER = logging.getLogger("kafka.producer.sender")
STORM = 5000
"""Log records. A Sender of kafka-python that cannot use its metadata logs about 7,000 a second, with tracebacks."""

SECONDS = 3


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    logger = logging.getLogger("kafka")
    before = logger.level, logger.propagate, [*logger.handlers]
    yield
    logger.setLevel(before[0])
    logger.propagate, logger.handlers = before[1:]


@pytest.fixture
def _ticking() -> Iterator[None]:
    """Log records carry times that are evenly spread over `SECONDS` seconds."""
    numbers = itertools.count()

    def make(*arguments: Any, **options: Any) -> logging.LogRecord:
        record = logging.LogRecord(*arguments, **options)
        record.created = 1_000_000 + SECONDS * next(numbers) / STORM
        return record

    before = logging.getLogRecordFactory()
    logging.setLogRecordFactory(make)
    yield
    logging.setLogRecordFactory(before)


@pytest.mark.usefixtures("_ticking")
def test_a_storm_is_a_few_lines_for_each_second_without_tracebacks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log_to_stderr()
    for _ in range(STORM):
        try:
            raise KeyError("no broker of this id")
        except KeyError:
            SENDER.exception("Uncaught error in kafka producer I/O thread")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == SECONDS * PER_SECOND
    assert all("Uncaught error in kafka producer I/O thread" in line for line in lines)


def test_what_is_no_warning_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr()
    SENDER.info("Closing the Kafka producer")
    SENDER.warning("a" * 10_000)
    (line,) = capsys.readouterr().err.splitlines()
    assert len(line) < 500
