"""What is read is what this run wrote, whole and where it was put."""

from __future__ import annotations

from analyzers.checks.check import Check

POLL = {"process": "process", "op": "op", "offset": "offset", "value": "value"}

FOREIGN_RECORD = Check(
    anomaly="foreign-record",
    over="steps",
    where="error = 'foreign' or error = 'misrouted'",
    time="time",
    shows=POLL | {"misrouted": "if(error = 'misrouted', 1, 0)"},
)

CORRUPT_RECORD = Check(
    anomaly="corrupt-record", over="steps", where="error = 'corrupt'", time="time", shows=POLL
)
