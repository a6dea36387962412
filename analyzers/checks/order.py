"""What one process does to a log goes forward: within an operation, and from one to the next."""

from __future__ import annotations

from analyzers.checks.check import Check

STEP = {"process": "process", "op": "op", "offset": "offset", "previous": "previous", "value": "value"}


def _back(anomaly: str, f: str, where: str) -> Check:
    return Check(
        anomaly=anomaly,
        over="steps",
        where=f"f = '{f}' and {where} and offset <= previous",
        time="time",
        shows=STEP | {"key": "key"},
    )


# Offsets need not be dense (transaction markers, compaction): a hole is one only where a record is
# known to be. `below` lies under `offset`, so it also rules out steps that went backwards.
def _over(anomaly: str, f: str, where: str) -> Check:
    return Check(
        anomaly=anomaly,
        over="gaps",
        where=f"f = '{f}' and {where} and below > previous",
        time="time",
        shows=STEP | {"skipped": "below"},
    )


NONMONOTONIC_POLL = _back("nonmonotonic-poll", "poll", "not within")
INT_NONMONOTONIC_POLL = _back("int-nonmonotonic-poll", "poll", "within")
NONMONOTONIC_SEND = _back("nonmonotonic-send", "send", "not within")
INT_NONMONOTONIC_SEND = _back("int-nonmonotonic-send", "send", "within")
POLL_SKIP = _over("poll-skip", "poll", "not within")
INT_POLL_SKIP = _over("int-poll-skip", "poll", "within")
INT_SEND_SKIP = Check(
    anomaly="int-send-skip",
    over="gaps",
    where="f = 'send' and below > previous",
    time="time",
    shows=STEP | {"skipped": "below"},
)

REALTIME_ORDER = Check(
    anomaly="realtime-order",
    over="acknowledgements",
    where="overtaken < invoked",
    time="time",
    shows={
        "process": "process",
        "op": "op",
        "offset": "offset",
        "value": "value",
        "overtaker": "overtaker",
        "stale": "invoked - overtaken",
    },
)
