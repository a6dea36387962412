"""What was written once is in the log once."""

from __future__ import annotations

from analyzers.checks.check import Check

DUPLICATE = Check(
    anomaly="duplicate",
    over="values",
    where="first_offset < last_offset",
    time="coalesce(sent_at, polled_at)",
    shows={
        "process": "sender",
        "op": "value",
        "offset": "first_offset",
        "last_offset": "last_offset",
        "value": "value",
    },
)
