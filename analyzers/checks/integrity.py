"""What is read is what this run wrote, whole and where it was put."""

from __future__ import annotations

from analyzers.checks.check import Check


def _payload(error: str) -> Check:
    return Check(
        anomaly=f"{error}-read",
        over="polls",
        where=f"error = '{error}'",
        time="time",
        shows={"process": "process", "op": "op", "offset": "offset", "value": "value"},
    )


FOREIGN_READ = _payload("foreign")
CORRUPT_READ = _payload("corrupt")
MISROUTED_READ = _payload("misrouted")
