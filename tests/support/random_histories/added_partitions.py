"""Random histories of topics that grow while groups and share groups read them."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from tests.support.stories import added_partitions as grown
from tests.support.stories.groups import commit, member
from tests.support.stories.transactions import A, observe, txn

TIME = st.integers(0, 14)
SPAN = st.tuples(TIME, st.integers(0, 4)).map(lambda t: (t[0], t[0] + t[1]))
OFFSET = st.integers(0, 4)
PARTITION = st.sampled_from([0, 1, 1, 1])
SELDOM = st.sampled_from([False] * 5 + [True])


@st.composite
def added_history(draw: st.DrawFn, story: Any) -> Any:
    """Two partitions of one topic, of which the second one is mostly new. Few offsets and moments."""
    s = story()
    for partition in (0, 1):
        for offset in range(4):
            if not draw(SELDOM):
                kind = draw(st.sampled_from(["ok"] * 5 + ["info", "fail"]))
                value = ((1 + partition) << 40) + offset
                known = None if draw(SELDOM) else offset
                s.send(value, known, partition=partition, at=draw(SPAN), type=kind)
                if draw(SELDOM):
                    s.poll(value, offset, partition=partition, process=9, at=draw(SPAN))
    match draw(st.sampled_from(["created", "created", "altered", "altered", "fault", None])):
        case "created":
            grown.created(s, draw(st.sampled_from([1, 1, 2, None])))
        case "altered":
            kind, change = (
                draw(st.sampled_from(["ok", "ok", "info", "fail"])),
                draw(st.sampled_from(["partitions"] * 3 + ["config"])),
            )
            grown.altered(s, (draw(st.integers(0, 4)), 20), kind=kind, change=change)
        case "fault":
            grown.added_by_a_fault(s, draw(st.sampled_from([1, 1, 2])))
    for number in range(draw(st.integers(0, 5))):
        start, policy = (
            draw(st.sampled_from([None, 1, 2, 3, 4])),
            draw(st.sampled_from(["latest", "latest", None, "earliest"])),
        )
        event = draw(st.sampled_from(["assigned"] * 4 + ["revoked"]))
        group = draw(st.sampled_from(["g", "g", "h"]))
        process = 5 if group == "g" else 6
        at = draw(SPAN)
        member(
            s,
            process,
            event,
            at,
            start=start,
            partition=draw(PARTITION),
            policy=policy,
            group=group,
            generation=number,
        )
        if draw(SELDOM):
            s.poll(
                None,
                draw(OFFSET),
                partition=draw(PARTITION),
                process=process,
                at=draw(SPAN),
                generation=number,
            )
    for _ in range(draw(st.integers(0, 2))):
        kind = draw(st.sampled_from(["ok", "ok", "ok", "info", "fail"]))
        offset, group = draw(st.integers(0, 8)), draw(st.sampled_from(["g", "h"]))
        commit(
            s,
            5 if group == "g" else 6,
            offset,
            draw(SPAN),
            partition=draw(PARTITION),
            group=group,
            kind=kind,
            reset=draw(SELDOM),
        )
    for number in range(draw(st.integers(0, 3))):
        about = json.dumps({"value": 1, "deliveries": 1, "since": 0})
        s.operation(
            "delivery", op=900 + number, process=7, at=draw(SPAN), start_offset=draw(OFFSET), value=about, group="q",
            type=draw(st.sampled_from(["ok", "ok", "info"])), partition=draw(PARTITION),
        )  # fmt: skip
    for partition in (0, 1):
        if partition or draw(st.booleans()):
            about = {"lock": 30} | draw(st.sampled_from([{}, {"began": draw(OFFSET)}, {"policy": "latest"}]))
            s.operation(
                "queue", process=8, partition=partition, end_offset=draw(st.sampled_from([4, 4, 1])),
                value=json.dumps(about), group="q", type="info" if draw(SELDOM) else "ok",
            )  # fmt: skip
    for partition in (0, 1):
        if not draw(SELDOM):
            start = draw(st.sampled_from([0, 0, 0, 1]))
            more: dict[str, Any] = {"value": '{"committed": true}'} if draw(SELDOM) else {}
            s.operation(
                "final-read", process=99, partition=partition, at=(draw(st.integers(6, 30)), 40), start_offset=start,
                end_offset=draw(st.integers(1, 4)), type=draw(st.sampled_from(["ok", "ok", "ok", "info"])), **more,
            )  # fmt: skip
    if draw(SELDOM):
        txn(s, A, (0, 9), kind=draw(st.sampled_from(["ok", "info"])))
    if draw(SELDOM):
        observe(
            s,
            None,
            draw(TIME),
            high=draw(st.integers(0, 8)),
            end=draw(st.integers(0, 8)),
            partition=draw(PARTITION),
        )
    if draw(SELDOM):
        s.operation(
            "read",
            process=20,
            at=(3, 9),
            partition=draw(PARTITION),
            start_offset=0,
            end_offset=draw(st.integers(0, 8)),
        )
    if draw(st.booleans()):
        s.fault("inject").fault("heal")
        s.operations[-1] |= {"invoked": 20, "completed": 22}
        for number in range(draw(st.integers(1, 3))):
            kind, began = draw(st.sampled_from(["ok", "ok", "info", "fail"])), draw(st.integers(20, 25))
            s.send((3 << 40) + number, None, partition=draw(PARTITION), at=(began, began + 2), type=kind)
    return s
