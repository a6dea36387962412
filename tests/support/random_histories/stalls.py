"""Random histories of readers that stop earlier or later, with faults in between."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

TENTH = 100_000_000
"""ns. Everything happens at full seconds."""

TIME = st.integers(0, 40)
OFFSET = st.integers(0, 12)
SOMETIMES = st.sampled_from([False, False, False, True])
RARELY = st.sampled_from([False] * 9 + [True])
ONE = 1 << 40
READERS = (5, 6, 7)


def at(began: int, lasted: int = 0) -> tuple[int, int]:
    return began * 10 * TENTH, (began + lasted) * 10 * TENTH


@st.composite
def stall_history(draw: st.DrawFn, story: Any) -> Any:
    """Records follow one another at a steady pace, and each reader gets the first ones of them."""
    s = story()
    s.has_phases = False
    pace, records = draw(st.sampled_from([1, 1, 1, 2])), draw(st.sampled_from([4, 12, 30]))
    for number in range(records):
        kind = "info" if draw(RARELY) else "ok"
        s.send(ONE + number, number, at=at(number * pace), type=kind, partition=int(draw(RARELY)))
    for process in READERS:
        committed, partition, lag = (
            draw(st.sampled_from([None, False, True, True])),
            int(draw(RARELY)),
            draw(OFFSET),
        )
        for offset in range(draw(st.sampled_from([0, 1, 2, 3, 8, 20, 30]))):
            more = {"committed": committed, "partition": partition, "final": draw(RARELY)}
            more["generation"] = 1 if process == READERS[0] and draw(RARELY) else None
            s.poll(ONE + offset, offset, process=process, at=at(offset * pace + lag), **more)
        draw_client(draw, s, process)
    for number in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        draw_fault(draw, s, f"e{number}")
    if draw(RARELY):
        kind = draw(st.sampled_from(["ok", "info"]))
        s.harness("recovery", {"problem": None, "limit": 60}, type=kind, at=at(draw(TIME), draw(OFFSET)))
    if draw(RARELY):
        s.harness("phase", {"phase": "final"}, at=at(draw(TIME)))
    if draw(st.booleans()):
        ends = {
            "start_offset": draw(st.sampled_from([0, 0, 0, 2, 4])),
            "end_offset": draw(st.sampled_from([0, 3, 20, 30])),
        }
        s.operation("final-read", process=99, at=at(50), **ends)
    if draw(RARELY):
        s.observations.append({
            "process": 900, "time": 1, "asked": 0, "kind": "partition", "topic": "t", "partition": 0, "node": 1,
            "leader": 1, "leader_epoch": 0, "log_start": draw(OFFSET),
        })  # fmt: skip
    return s


def draw_client(draw: st.DrawFn, s: Any, process: int) -> None:
    value = {"role": "reader", "process": process}
    limit = {} if draw(RARELY) else {"poll_limit": draw(st.sampled_from([10, 10, 20, 30]))}
    s.harness("worker", value | limit | {"event": "started"}, at=at(0))
    ended = draw(st.sampled_from(["stopped"] * 7 + ["killed"]))
    s.harness("worker", value | {"event": ended}, at=at(draw(st.sampled_from([10, 30, 60]))))


def draw_fault(draw: st.DrawFn, s: Any, event: str) -> None:
    began = draw(TIME)
    stages = {"inject": began} | ({} if draw(SOMETIMES) else {"heal": began + draw(st.integers(0, 20))})
    for stage, time in stages.items():
        value = {"event": event, "stage": stage, "target": "leader", "nodes": [2], "effective": True}
        more = {"process": -1, "type": "info", "topic": None, "partition": None}
        s.operation("isolate", value=json.dumps(value), at=at(time), **more)
