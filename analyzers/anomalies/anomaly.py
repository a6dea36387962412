"""What an anomaly is: its meaning, what it does to a verdict, and what is shown as evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Severity = Literal["invalid", "unknown", "note"]


@dataclass(frozen=True, kw_only=True)
class Anomaly:
    name: str
    definition: str
    """Exactly when it is reported, and what one of its count stands for."""
    sentence: str
    """For the reader of a verdict; follows the count, which decides about each ``(s)``."""
    evidence: Mapping[str, str]
    """What an example holds besides topic, partition, time and the faults active then."""
    jepsen: str | None = None
    """Jepsen's name, where `jepsen.tests.kafka` reports the like."""
    severity: Severity = "invalid"
    """``invalid``: a promise was broken. ``unknown``: whether it was kept cannot be told. ``note``: Kafka does
    not promise otherwise; reported, never judged."""

    @property
    def link(self) -> str:
        """Where it is explained, from the root of the project."""
        return f"docs/anomalies.md#{self.name}"

    def summary(self, count: int) -> str:
        return self.sentence.replace("(s)", "" if count == 1 else "s")


WRITER = {
    "process": "the process that wrote it",
    "op": "its send",
    "value": "what was written: writer and sequence number",
}
POLLER = {"process": "the process that polled it", "op": "its poll", "value": "what was polled"}
SESSION = {"session": "the session; negative: process -1-n, which stands for itself"}
