"""What is read was written, and not taken back."""

from __future__ import annotations

from analyzers.checks.check import Check

READ = {"process": "poller", "op": "poll", "offset": "polled_offset", "value": "value"}

PHANTOM_READ = Check(
    anomaly="phantom-read", over="values", where="polled and not sent", time="polled_at", shows=READ
)

ABORTED_READ = Check(
    anomaly="aborted-read", over="values", where="failed and read", time="polled_at", shows=READ
)
