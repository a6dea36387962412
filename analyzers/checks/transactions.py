"""A transaction is visible as a whole, after its commit, and only from the producer that owns its id."""

from __future__ import annotations

from analyzers.checks.check import Check

PART = {
    "process": "process",
    "op": "value",
    "value": "value",
    "offset": "offset",
    "transaction": "transaction",
}

TORN_TRANSACTION = Check(
    anomaly="torn-transaction",
    over="transactional_writes",
    where="arrays_overlap(missed, saw)",
    time="invoked",
    shows=PART | {"reader": "array_min(array_intersect(missed, saw))"},
)

PRECOMMITTED_READ = Check(
    anomaly="precommitted-read",
    over="transactional_writes",
    where="first_read < ending or array_contains(within, transaction)",
    time="first_read",
    shows=PART | {"ending": "ending"},
)

ZOMBIE_WRITE = Check(
    anomaly="zombie-write",
    over="transactional_writes",
    where="invoked > fenced and (kind = 'ok' or offset is not null or polled)",
    time="invoked",
    shows=PART | {"fenced": "fenced"},
)

READ_ABOVE_LSO = Check(
    anomaly="read-above-lso",
    over="committed_polls",
    where="last_stable <= offset",
    time="time",
    shows={
        "process": "process",
        "op": "op",
        "value": "value",
        "offset": "offset",
        "last_stable": "last_stable",
    },
)
