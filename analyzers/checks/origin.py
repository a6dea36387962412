"""What is read was written, and not taken back."""

from __future__ import annotations

from analyzers.checks.check import Check

READ = {"process": "poller", "op": "poll", "offset": "polled_offset", "value": "value"}

PHANTOM_READ = Check(
    anomaly="phantom-read", over="values", where="polled and not sent", time="polled_at", shows=READ
)

# Who reads uncommitted may be shown what a transaction takes back.
G1A = Check(
    anomaly="G1a",
    over="values",
    where="failed and polled and (not transactional or read_committed)",
    time="polled_at",
    shows=READ,
)

FUTURE_READ = Check(
    anomaly="future-read", over="values", where="returned_at < begun_at", time="returned_at", shows=READ
)
