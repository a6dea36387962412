"""What is known of a run besides the tables of its history: how its times are shown, and what its brokers logged."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import Literal

Unit = Literal["s", "ms", "us"]
"""In which times are shown: the unit of an imported file, and s for one in ns."""


def seconds(time: int | None, began: int | None) -> float | None:
    """s since the run's first operation, from ns; None if either is unknown."""
    return None if time is None or began is None else (time - began) / 1e9


LINE = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d),(\d{3}) \w+ +\S+ \[[^\]]*\] (.*)")
"""Time (UTC), ms, message: the pattern of the project's images."""

PREFIX = re.compile(r"^\[[^\]]*\]:? ")
"""Kafka repeats who speaks before most messages."""

OF_LOGS = (
    (re.compile(r"(?:Leader|Follower) (?P<log>\S+)(?: with topic id \S+)? starts at leader epoch .*"), 200),
    (re.compile(r"Truncating partition (?P<log>\S+) with TruncationState.*"), 200),
    (re.compile(r"Truncating to \d+ has no effect as the largest offset in the log is -?\d+.*"), 120),
    (re.compile(r"Completed load of log .*"), 120),
)
"""Messages about one log, and the characters that are shown of each. The log is named in the message or before it."""

OF_CLUSTER = (
    (re.compile(r"Fencing broker \d+ .*"), 160),
    (re.compile(r"UNCLEAN partition change for .*"), 200),
    (re.compile(r"Becoming the active controller at epoch .*"), 120),
    (re.compile(r"Completed transition to Leader(?:State)?\b.*"), 60),
    (re.compile(r"The request from broker \d+ to unfence has been granted.*"), 160),
)
"""Messages about the quorum and about brokers that it excludes or admits."""


@dataclass(frozen=True, kw_only=True)
class Clock:
    """Relates the dates of log lines to the times of a history. All in ns."""

    monotonic: int
    unix: int
    """The same instant."""
    began: int
    """Of the run's first operation, CLOCK_MONOTONIC."""

    def seconds(self, unix: int) -> float:
        """Since the run's first operation."""
        return (unix - self.unix + self.monotonic - self.began) / 1e9


CUT = re.compile(r"Truncating partition (\S+) with TruncationState\(offset=(\d+)")
"""The log and the offset from which a follower drops its records. If it has none there, another line follows."""

FOLLOWS = re.compile(r"Follower \S+ starts at leader epoch \d+ from offset (\d+)")
"""The end of a log, exclusive, as its broker begins to follow another one. Only with KRaft."""

LEADS = re.compile(r"Leader \S+ (?:with topic id \S+ )?starts at leader epoch [1-9]")

NO_CUT = re.compile(r"Truncating to (\d+) has no effect")

UNCLEAN = re.compile(r"UNCLEAN partition change for (\S+?)[: ]")


@dataclass(frozen=True, kw_only=True)
class LogLine:
    time: float
    """s since the run's first operation."""
    node: str
    text: str


def log_lines(
    node: str, lines: Iterable[str], clock: Clock, *, logs: Collection[str], first: float, last: float
) -> Iterator[LogLine]:
    """Those about elections and cuts of these logs, from `first` to `last` (s)."""
    for line in lines:
        match = LINE.match(line)
        if match is None:
            continue
        date, millis, message = match.groups()
        text = _about(message, logs)
        if text is None:
            continue
        moment = datetime.strptime(date, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC)
        time = clock.seconds((int(moment.timestamp()) * 1000 + int(millis)) * 10**6)
        if first <= time <= last:
            yield LogLine(time=time, node=node, text=text)


@dataclass(frozen=True, kw_only=True)
class BrokerLogs:
    """The files with what the brokers of a run logged."""

    files: Mapping[str, Path]
    """By node."""
    clock: Clock

    def about(self, log: str) -> list[LogLine]:
        """The lines about elections and cuts of one log, in order of time. A file that cannot be read is left out."""
        found: list[LogLine] = []
        for node, file in sorted(self.files.items()):
            with suppress(OSError), file.open(errors="replace") as lines:
                of_node = log_lines(node, lines, self.clock, logs=[log], first=-inf, last=inf)
                found += (each for each in of_node if _names(each.text, log) or NO_CUT.match(each.text))
        return sorted(found, key=lambda each: each.time)


def _about(message: str, logs: Collection[str]) -> str | None:
    """The message without its prefix, cut to a length; None for one about something else."""
    text = PREFIX.sub("", message)
    for pattern, length in OF_LOGS:
        if pattern.match(text):
            return _cut(text, length) if any(_names(message, log) for log in logs) else None
    return next((_cut(text, length) for pattern, length in OF_CLUSTER if pattern.match(text)), None)


def _names(message: str, log: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(log)}(?![\w-])", message) is not None


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[:length].rstrip() + " ..."


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    settings: Mapping[str, str] = field(default_factory=dict)
    """Of its producers, as Kafka spells them, as far as an experiment states them."""
    logs: Mapping[str, Path] = field(default_factory=dict)
    """What each node printed, by its name."""
    clock: tuple[int, int] | None = None
    """The time of the history and the date (Unix) of one instant, ns; None where that is not known."""
    unit: Unit = "s"
    """In which times are shown."""
    clients: Mapping[int, str] = field(default_factory=dict)
    """Names by process number, where the history does not use numbers itself."""

    def broker_logs(self, began: int | None) -> BrokerLogs | None:
        """None where there are none, or where their dates cannot be related to the history.

        began  time of the run's first operation.
        """
        if not self.logs or self.clock is None or began is None:
            return None
        monotonic, unix = self.clock
        return BrokerLogs(files=self.logs, clock=Clock(monotonic=monotonic, unix=unix, began=began))


NONE = Surroundings()
