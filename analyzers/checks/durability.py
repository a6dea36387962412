"""What was acknowledged is in the log at the end."""

from __future__ import annotations

from analyzers.checks.check import Check

SEND = {"process": "sender", "op": "value", "offset": "acked_offset", "value": "value"}

# A completed final read answers for every write it had to find, and a log start beyond the write excuses
# it. Without one, a write is lost when reading has passed it; nobody knows about one further on.
LOST_WRITE = Check(
    anomaly="lost-write",
    over="values",
    where="""
        acked and (
            (settled and not in_final and not coalesce(acked_offset < final_start, false))
            or (not settled and not polled and acked_offset <= top)
        )
    """,
    time="acked_at",
    shows=SEND,
)

UNSEEN = Check(
    anomaly="unseen",
    over="values",
    where="acked and not settled and not polled and not coalesce(acked_offset <= top, false)",
    time="acked_at",
    shows=SEND | {"outstanding": "until - acked_at"},
)

# Whatever is below the log start is below the end, and whoever read it finally also read it.
EXPIRED = Check(
    anomaly="expired",
    over="values",
    where="not polled and acked_offset < final_start",
    time="acked_at",
    shows=SEND | {"log_start": "final_start"},
)
