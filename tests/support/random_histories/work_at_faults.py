"""Random histories of clients and of the faults that hit them.

Faults begin at 40, 80 and 120 s. Nearly everything else happens at a limit of some rule before one of them, or 1 ns
earlier or later.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from tests.support.random_histories.pipelines import ONE, SELDOM
from workloads.history.schema import NEMESIS

S = 1_000_000_000
FAULTS = (40, 80, 120)

TIME = st.builds(
    lambda fault, before, off: round((fault - before) * S) + off,
    st.sampled_from(FAULTS),
    st.sampled_from([-2, 0, 0, 0.5, 1, 1, 2, 5, 5, 6, 30, 35]),
    st.sampled_from([-1, 0, 0, 0, 1]),
)

KIND = st.sampled_from(["ok"] * 5 + ["info", "fail"])
PARTITION = st.sampled_from([0, 0, 1])
OFFSET = st.integers(0, 7)
MARK = st.sampled_from(["assigned"] * 6 + ["revoked", "lost", "joined"])

INSTANCES = {2: 0, 3: 0, 4: 1}
"""By process. Process 3 replaces process 2."""

MEMBERS = {"app:0": ["m2", "m2", "m3"], "app:1": ["m4"], None: [None]}
"""By owner. Which process a member is of, only the times say."""

ROLES = {1: "producer", 5: "member", 6: "share-consumer", 7: "reader"}


@st.composite
def client_history(draw: st.DrawFn, story: Any) -> Any:
    s = story()
    replaced = draw(TIME)
    for process in (*INSTANCES, *ROLES):
        began = (
            replaced + draw(st.sampled_from([0, 0, S]))
            if process == 3
            else draw(st.sampled_from([0, 0, 0, 50 * S]))
        )
        ended = replaced if process == 2 else draw(st.sampled_from([None, None, None, 80 * S, 200 * S]))
        about = {"role": ROLES.get(process, "app"), "process": process}
        if process in INSTANCES:
            about["instance"] = INSTANCES[process]
        elif draw(SELDOM):
            about["observes"] = True
        if not draw(SELDOM):
            s.harness("worker", about | {"event": "started"}, at=(began, began))
        if ended is not None and not draw(SELDOM):
            s.harness(
                "worker", about | {"event": draw(st.sampled_from(["killed", "ended"]))}, at=(ended, ended)
            )
    for number, fault in enumerate(draw(st.permutations(FAULTS))[: draw(st.integers(1, 3))]):
        draw_fault(draw, s, f"e{number}", fault * S)
    draw_inputs(draw, s)
    draw_group(draw, s)
    draw_clients(draw, s)
    return s


def draw_fault(draw: st.DrawFn, s: Any, event: str, at: int) -> None:
    f = draw(st.sampled_from(["kill-client"] * 3 + ["rebalance", "cut-clients", "isolate"]))
    hit = (
        draw(st.sampled_from([[2], [2, 4], [3], [3], [5, 6], [1, 5, 6, 7], [5]]))
        if f == "kill-client"
        else None
    )
    target = f"group:{draw(st.sampled_from(['a', 'g', 'h']))}" if f == "rebalance" else "app:0"
    for stage, began in (("inject", at), ("heal", at + S)):
        value = {"event": event, "stage": stage, "target": target, "nodes": [1], "effective": True}
        s.operation(
            f, process=NEMESIS, type="info", at=(began, began + 10), topic=None, partition=None,
            value=json.dumps(value if hit is None else value | {"processes": hit}),
        )  # fmt: skip


def draw_inputs(draw: st.DrawFn, s: Any) -> None:
    """Up to eight in each of two partitions, and outputs of some. Others than process 1 do not feed."""
    for number in range(draw(st.sampled_from([6, 10, 14]))):
        acked = draw(TIME)
        kind = draw(KIND)
        s.send(
            ONE + number, None if draw(SELDOM) else number // 2, type=kind, partition=number % 2,
            at=(acked - draw(st.sampled_from([0, 1, S])), None if kind == "info" and draw(SELDOM) else acked),
        )  # fmt: skip
        for at in range(draw(st.sampled_from([0, 1, 1, 2]))):
            written = None if draw(SELDOM) else draw(TIME)
            s.operation(
                "output", process=8, topic="o", start_offset=2 * number + at,
                value=json.dumps({"source": ONE + number, "written": written}),
            )  # fmt: skip


def draw_group(draw: st.DrawFn, s: Any) -> None:
    """The group of the application. Often its log is known beside the samples, seldom nothing is."""
    for partition in range(2):
        if not draw(SELDOM):
            s.operation("pipeline", process=8, partition=partition, group="a", value='{"sink": "o"}')
    if draw(SELDOM):
        return
    is_logged = draw(st.booleans())
    for partition in range(2):
        for number, time in enumerate(sorted(draw(st.lists(TIME, unique=True, max_size=9)))):
            owner = draw(st.sampled_from(["app:0", "app:0", "app:0", "app:1", None]))
            about = {"group": "a", "owner": owner, "member": draw(st.sampled_from(MEMBERS[owner]))}
            if is_logged and draw(st.booleans()):
                about |= {"generation": number, "session_timeout": draw(st.sampled_from([6000, 45000]))}
                observe(s, "group_log", time, partition, about)
            else:
                position = draw(st.sampled_from([None, 1, 2, 3, 5]))
                observe(s, "group", time, partition, about | {"position": position})
                if is_logged and draw(SELDOM):
                    owner = draw(st.sampled_from(["app:0", "app:1"]))
                    about = {"group": "a", "owner": owner, "member": MEMBERS[owner][-1], "generation": number}
                    observe(s, "group_log", time, partition, about)
        for _ in range(draw(st.sampled_from([0, 2, 4])) if is_logged else 0):
            observe(
                s,
                "group_log",
                draw(TIME),
                partition,
                {"group": "a", "position": draw(OFFSET), "transaction": None},
            )


def observe(s: Any, kind: str, time: int, partition: int, value: dict[str, Any]) -> None:
    s.observations.append({
        "process": 8, "time": time, "asked": time, "kind": kind, "topic": "t", "partition": partition, "node": 1,
        "value": json.dumps(value),
    })  # fmt: skip


def draw_clients(draw: st.DrawFn, s: Any) -> None:
    """Process 5 is mostly a member of a group, process 6 consumes of a share group, and process 7 polls."""
    for _ in range(draw(st.sampled_from([0, 1, 2, 3, 5]))):
        mark, at = draw(MARK), draw(TIME)
        s.operation(
            "member", process=5, at=(at, at), type=draw(KIND), group="g-r", generation=1, partition=draw(PARTITION),
            start_offset=draw(st.sampled_from([None, 0, 2])), value=json.dumps({"event": mark}),
        )  # fmt: skip
    if draw(SELDOM):
        at, mark = draw(TIME), draw(st.sampled_from(["left", "fenced"]))
        s.operation(
            "member", process=5, at=(at, at), group="g-r", topic=None, partition=None,
            value=json.dumps({"event": mark}),
        )  # fmt: skip
    for _ in range(draw(st.sampled_from([0, 1, 3]))):
        at = draw(TIME)
        s.operation(
            "commit", process=draw(st.sampled_from([5, 5, 9])), at=(at - S, at), type=draw(KIND), value="{}",
            group=draw(st.sampled_from(["g-r", "g-r", "h-r"])), partition=draw(PARTITION), end_offset=draw(OFFSET),
        )  # fmt: skip
    for number in range(draw(st.sampled_from([0, 1, 3]))):
        at = draw(TIME)
        s.operation(
            "delivery", process=draw(st.sampled_from([6, 6, 9])), op=77 + number, at=(at, at), group="q",
            start_offset=number, value='{"value": 1}',
        )  # fmt: skip
        for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
            at = draw(TIME)
            s.operation(
                "acknowledgement", process=6, at=(at, at), type=draw(KIND), group="q", start_offset=number,
                value=json.dumps({"delivery": 77 + number, "kind": "accept"}),
            )  # fmt: skip
    for _ in range(draw(st.sampled_from([0, 1, 2]))):
        at = draw(TIME)
        s.poll(
            ONE, 0, process=7, at=(at - draw(st.sampled_from([0, 3 * S])), None if draw(SELDOM) else at),
            final=draw(SELDOM),
        )  # fmt: skip
    if draw(SELDOM):
        at = draw(TIME)
        s.operation("subscribe", process=draw(st.sampled_from([6, 7])), at=(at, at), group="q")
