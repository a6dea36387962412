"""A session that reads after its write was acknowledged finds it."""

from __future__ import annotations

from analyzers.checks.check import Check

READ_YOUR_WRITES = Check(
    anomaly="read-your-writes",
    over="session_writes",
    where="read_end is not null and (seen is null or seen > read_end)",
    time="read_end",
    shows={
        "session": "session",
        "process": "process",
        "op": "value",
        "offset": "offset",
        "value": "value",
        "read_op": "read_op",
    },
)
