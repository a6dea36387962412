"""Random histories of an application between two topics."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from tests.support.random_histories.queues import COMMITTED, ISOLATION

ONE = 1 << 40
GUARANTEE = st.sampled_from(
    ["at-least-once", "at-most-once", "exactly-once", "exactly-once", *["order-per-key"] * 4, "aggregate"]
)
SELDOM = st.sampled_from([False] * 7 + [True])
KEY = st.sampled_from([1, 1, 1, 1, 2, None])
OFTEN_ZERO = st.sampled_from([0, 0, 0, 1])


@st.composite
def pipeline_history(draw: st.DrawFn, story: Any) -> Any:
    """Up to four inputs in up to two partitions, and a few outputs."""
    s = story()
    counts = [draw(st.sampled_from([4, 4, 3, 1])), draw(OFTEN_ZERO)]
    value = ONE
    for partition, count in enumerate(counts):
        found = {}
        for offset in range(count):
            kind = draw(st.sampled_from(["ok"] * 6 + ["info", "fail"]))
            if not draw(SELDOM):
                s.send(
                    value, offset, type=kind, key=draw(KEY), partition=partition,
                    transaction=draw(st.sampled_from([None, None, 7])),
                )  # fmt: skip
            if not draw(SELDOM):
                found[offset] = value
            value += 1
        if found and draw(SELDOM):
            found[count] = found[min(found)]
        if not draw(SELDOM):
            s.final(found, end=count, partition=partition, committed=draw(COMMITTED))
    inputs = st.integers(0, value - ONE - 1)
    written: dict[tuple[str, int, int], int | None] = {}
    for _ in range(draw(st.sampled_from([6, 8, 4, 2, 0]))):
        source = draw(st.sampled_from([None, ONE + 50])) if draw(SELDOM) else ONE + draw(inputs)
        topic, partition = draw(st.sampled_from(["o"] * 5 + ["p"])), draw(OFTEN_ZERO)
        place = topic, partition, draw(st.integers(0, 7))
        # A record has one timestamp, however many inputs it names.
        time = written.setdefault(place, draw(st.sampled_from([None, 5, 30, 55, 80, 110])))
        s.operation(
            "output", process=8, topic=topic, partition=partition, start_offset=place[2],
            value=json.dumps({"source": source, "written": time}),
        )  # fmt: skip
    guarantee = draw(GUARANTEE)
    for partition in range(2):
        if not draw(SELDOM):
            s.operation(
                "pipeline", process=8, type="info" if draw(SELDOM) else "ok", partition=partition, group="a",
                end_offset=draw(st.sampled_from([None, None, 1, 2, 3, 4])),
                value=json.dumps({"sink": "o", "guarantee": guarantee, **draw(ISOLATION)}),
            )  # fmt: skip
    for time in (20, 45, 70, 100) if draw(OFTEN_ZERO) else ():
        about = {
            "group": "a",
            "owner": "app:0",
            "member": "m",
            "position": draw(st.sampled_from([None, 1, 2, 3])),
        }
        s.observations.append({
            "process": 8, "time": time, "asked": time - 1, "kind": "group", "topic": "t",
            "partition": draw(OFTEN_ZERO), "node": 1, "value": json.dumps(about),
        })  # fmt: skip
    for key in range(draw(OFTEN_ZERO) + draw(OFTEN_ZERO)):
        about = {
            "sink": "o",
            "of_key": f"key-{key}",
            "wrong": draw(st.sampled_from([None, "2 of 3"])),
            "inputs": 3,
        }
        s.operation(
            "aggregate", process=8, type="info" if draw(SELDOM) else "ok", partition=draw(OFTEN_ZERO),
            value=json.dumps(about),
        )  # fmt: skip
    return s
