"""Random histories of share groups."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

ONE = 1 << 40
SELDOM = st.sampled_from([False] * 7 + [True])
PARTITION = st.sampled_from([0, 0, 0, 0, 1])
GROUP = st.sampled_from(["q"] * 6 + ["p"])
KIND = st.sampled_from(["accept", "accept", "release", "release", "reject"])
ANSWER = st.sampled_from(["ok"] * 6 + ["info", "fail", None])
OUTCOME = st.sampled_from([("ok", None)] * 5 + [("ok", 7), ("fail", 7), ("info", 7), ("info", None)])
"""Of a send, and its transaction."""
COMMITTED = st.sampled_from([None, None, True])
ISOLATION = st.sampled_from([{}, {"isolation": "read_uncommitted"}, {"isolation": "read_committed"}])
POLICY = st.sampled_from([{}, {}, {}, {"policy": "earliest"}, {"policy": "latest"}])
LONG = 15_000_000_000


@st.composite
def queue_history(draw: st.DrawFn, story: Any) -> Any:
    """Up to three records in up to two partitions, and a few deliveries, which often meet."""
    s = story()
    for partition in range(2):
        found = {}
        for offset in range(3):
            value = ONE + 10 * partition + offset
            if not draw(SELDOM):
                kind, transaction = draw(OUTCOME)
                s.send(
                    value, offset, partition=partition, at=(offset, offset + 1), type=kind, transaction=transaction
                )  # fmt: skip
            if not draw(SELDOM):
                found[offset] = value
        s.final(found, end=3, partition=partition, committed=draw(COMMITTED))
    for number in range(draw(st.sampled_from([0, 2, 4, 6, 8]))):
        offset, partition, group = draw(st.integers(0, 2)), draw(PARTITION), draw(GROUP)
        far = LONG if draw(SELDOM) else 0
        began = draw(st.integers(100, 130)) + far
        ended = began + draw(st.integers(1, 8))
        since = None if draw(SELDOM) else began - draw(st.sampled_from([0, 5, 20, 45]))
        about = {
            "value": ONE,
            "deliveries": draw(st.sampled_from([1, 1, 2, 2, 3, 4, 0, None])),
            "since": since,
        }
        columns = {"start_offset": offset, "partition": partition, "group": group, "process": 5 + number % 3}
        s.operation(
            "delivery", op=100 + number, at=(began, ended), value=json.dumps(about),
            type="info" if draw(SELDOM) else "ok", **columns,
        )  # fmt: skip
        if draw(SELDOM):
            continue
        columns |= {"op": 200 + number, "value": json.dumps({"delivery": 100 + number, "kind": draw(KIND)})}
        asked = ended + draw(st.integers(0, 20))
        s.operation("acknowledgement", at=(asked, None), type="info", **columns)
        if (answer := draw(ANSWER)) is not None:
            s.operation(
                "acknowledgement", at=(asked, asked + draw(st.integers(1, 9))), type=answer, **columns
            )
    for group in ("q", "p"):
        for partition in range(2):
            about = {"lock": draw(st.sampled_from([10, 30, 60]))}
            if not draw(SELDOM):
                about["delivery_limit"] = draw(st.sampled_from([2, 3, 3]))
            about |= draw(ISOLATION)
            if draw(SELDOM):
                about["began"] = draw(st.integers(0, 3))
            about |= draw(POLICY)
            if not draw(SELDOM):
                s.operation(
                    "queue", process=8, group=group, partition=partition, value=json.dumps(about),
                    end_offset=draw(st.integers(0, 3)), type="info" if draw(SELDOM) else "ok",
                )  # fmt: skip
    if draw(st.sampled_from([False, False, True])):
        s.harness(
            "worker", {"role": "share-consumer", "process": 5, "event": draw(st.sampled_from(["killed", "stopped"]))},
            at=(draw(st.integers(100, 140)), LONG),
        )  # fmt: skip
    return s
