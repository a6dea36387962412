"""A consumer gets the log in order and without holes."""

from __future__ import annotations

from analyzers.checks.check import Check

POLL = {"process": "process", "op": "op", "offset": "offset", "previous": "previous", "value": "value"}

NONMONOTONIC_POLL = Check(
    anomaly="nonmonotonic-poll", over="polls", where="offset <= previous", time="time", shows=POLL
)

# Offsets need not be dense (transaction markers, compaction): a hole is one only where somebody
# polled a record. `below` lies under `offset`, so it also rules out polls that went backwards.
POLL_SKIP = Check(
    anomaly="poll-skip",
    over="polls",
    where="below > previous",
    time="time",
    shows=POLL | {"skipped": "below"},
)
