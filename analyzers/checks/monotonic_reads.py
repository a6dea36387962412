"""A session never finds less than it has found before."""

from __future__ import annotations

from analyzers.checks.check import Check

SESSION_NONMONOTONIC_READ = Check(
    anomaly="session-nonmonotonic-read",
    over="session_reads",
    where="end_offset < reached",
    time="time",
    shows={
        "session": "session",
        "process": "process",
        "op": "op",
        "offset": "end_offset",
        "reached": "reached",
    },
)
