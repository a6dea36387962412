"""Random histories of logs, sessions and members of a group."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.support.stories import deletions, removals

TIME = st.integers(0, 12)
SPAN = st.tuples(TIME, st.integers(0, 4)).map(lambda t: (t[0], t[0] + t[1]))
OFFSET = st.integers(0, 5)
PARTITION = st.sampled_from([0, 0, 0, 0, 1])
DELETIONS = {2: "ok", 3: "info", 4: "fail"}
"""Offsets of which an administrator asked for the deletion, with the answer. A fault deletes up to the others."""
TYPE = st.sampled_from(["ok", "ok", "ok", "info", "fail"])
SESSION = st.sampled_from([None, 1, 1, 1, 2])
PROCESS = st.sampled_from([1, 2, 3])
MEMBER = 3
"""The process that polls as a member of a group."""
KEY = st.sampled_from([None, 5, 5, 6])
ISOLATION = st.sampled_from([None, None, '{"committed": true}'])
SOMETIMES = st.sampled_from([0, 0, 0, 1])


@st.composite
def log_history(draw: st.DrawFn, story: Any) -> Any:
    """A history full of anomalies. Few values, offsets and processes make their combinations likely."""
    s = story()
    values = [*(1 << 40 | sequence for sequence in range(5)), 2 << 40, 2 << 40 | 1]
    for value in draw(st.lists(st.sampled_from(values), unique=True, max_size=6)):
        offset = draw(st.one_of(st.none(), OFFSET, OFFSET, OFFSET))
        more = {"type": draw(TYPE), "partition": draw(PARTITION), "session": draw(SESSION)}
        more |= {"transaction": draw(st.sampled_from([None, 70, 70, 71])), "key": draw(KEY)}
        s.send(value, offset, at=draw(SPAN), **more)
    # Generations and assignments of a member only grow, as in a real history.
    generation, seeks = 1, 1
    for _ in range(draw(st.sampled_from([0, 4, 8, 12]))):
        error = draw(st.sampled_from([None] * 9 + ["foreign", "corrupt", "misrouted"]))
        value = draw(st.sampled_from(values)) if error in (None, "misrouted") else None
        process = draw(st.sampled_from([1, 1, 2, MEMBER, MEMBER]))
        if process == MEMBER:
            generation, seeks = generation + draw(SOMETIMES) * 2, seeks + draw(SOMETIMES)
        if draw(SOMETIMES):
            event = draw(st.sampled_from(["assigned", "revoked"]))
            s.operation(
                "member",
                process=draw(PROCESS),
                partition=draw(PARTITION),
                generation=generation + draw(SOMETIMES),
                value=f'{{"event": "{event}", "member": "m"}}',
            )
        at = draw(SPAN)
        s.poll(
            value,
            draw(OFFSET),
            op=(1 << 61) + process * 2 + draw(st.integers(0, 1)),
            error=error,
            at=at,
            node=draw(st.sampled_from([None, 1, 1, 2])),
            fetched=draw(st.sampled_from([None, None, max(0, at[1] - 3)])),
            process=process,
            key=draw(KEY),
            committed=draw(st.sampled_from([None, False, True])),
            generation=generation if process == MEMBER else None,
            leader_epoch=draw(st.sampled_from([None, 0, 1, 2, 3])),
            type=draw(st.sampled_from(["ok", "ok", "ok", "info"])),
            partition=draw(PARTITION),
            session=draw(SESSION),
            assignment=seeks if process == MEMBER else draw(st.sampled_from([1, 1, 1, 2])),
            final=draw(st.booleans()),
        )
    # Random draws rarely produce this: three records of one process, two of which share a key or a transaction.
    for f in draw(st.sampled_from([(), (), ("send",), ("poll",)])):
        for number, offset in enumerate(draw(st.permutations([0, 1, 2, 4]))[:3]):
            more = {"process": 4, "key": 6 if number == 1 else 5, "at": draw(SPAN), "session": draw(SESSION)}
            if f == "poll":
                s.poll(values[number], offset, op=draw(st.sampled_from([8, 9])), committed=None, **more)
            else:
                s.send(4 << 40 | number, offset, transaction=72, **more)
    for _ in range(draw(st.integers(0, 4))):
        more = {"type": draw(TYPE), "partition": draw(PARTITION), "session": draw(SESSION)}
        s.operation(
            "read",
            end_offset=draw(OFFSET),
            start_offset=0,
            process=draw(PROCESS),
            at=draw(SPAN),
            value=draw(ISOLATION),
            **more,
        )
    for _ in range(draw(st.integers(0, 2))):
        start, length = draw(st.sampled_from([0, 0, 1, 3, 5])), draw(st.integers(0, 4))
        ends = {"start_offset": start, "end_offset": start + length}
        kind = draw(st.sampled_from(["ok", "ok", "ok", "fail"]))
        more = {
            "type": kind,
            "partition": draw(PARTITION),
            "process": draw(PROCESS),
            "value": draw(ISOLATION),
        }
        s.operation("final-read", at=draw(SPAN), **ends, **more)
    draw_removals(draw, s)
    if draw(SOMETIMES):
        draw_watermarks(draw, s)
    return spread(s)


def draw_watermarks(draw: st.DrawFn, s: Any) -> None:
    """Polls of two brokers in two epochs, and what these brokers say of their high watermarks."""
    few = st.sampled_from([1, 1, 1, 2])
    for number in range(3):
        at, came_from = draw(SPAN), {"node": draw(few), "leader_epoch": draw(few), "committed": None}
        fetched = draw(st.sampled_from([None, at[0]]))
        s.poll(2 << 40 | 1, draw(OFFSET), process=8, op=number // 2, at=at, fetched=fetched, **came_from)
    for number in range(5):
        s.observations.append({
            "process": 900, "time": 4 * number + 2, "asked": draw(st.sampled_from([None, *[4 * number] * 3])),
            "kind": "partition", "topic": "t", "partition": 0, "node": draw(few), "leader": draw(few),
            "leader_epoch": draw(few), "high_watermark": draw(st.sampled_from([None, 0, 1, 3, 4])),
        })  # fmt: skip


def draw_removals(draw: st.DrawFn, s: Any) -> None:
    """What may remove records from the beginning of a log."""
    at = (0, 0)
    for config in draw(
        st.sampled_from([(), (), ({},), ({},), ({"retention_ms": "0"},), ({}, {"cleanup_policy": "compact"})])
    ):
        removals.created(s, at=at, **config)
    match draw(st.sampled_from([None, None, None, "unknown", "known"])):
        case "unknown":
            removals.fault(s, "clock")
        case "known":
            partition, start = draw(PARTITION), draw(OFFSET)
            # Nothing more is drawn, so that the histories stay the same.
            if start in DELETIONS:
                deletions.deletion(s, start, DELETIONS[start], partition=partition)
            else:
                # Older histories do not say what was asked.
                asked = {"before": start - 1} if start % 2 else {}
                removals.fault(s, "delete-records", topic="t", partition=partition, start=start, **asked)
    if draw(SOMETIMES):
        removals.observed(s, draw(OFFSET), partition=draw(PARTITION))


def spread(s: Any) -> Any:
    """The same history with other values, and in every third one with offsets further apart.

    The first look divides values and offsets into residues, and offsets into blocks. Without this, all histories
    would share a few residues, and lie in one block. The choice follows from the history, so nothing more is drawn.
    """
    times = sum(row["invoked"] for row in s.records)
    # The offset up to which records were deleted is part of a fault's evidence.
    are_fixed = any(row["f"] == "delete-records" for row in s.operations)
    stride, base = 1 if are_fixed else (1, 1, 11)[times % 3], 7 * (times % 130)
    for row in s.records:
        row["op"] += base if row["f"] == "send" else 0
        row["value"] = None if row["value"] is None else row["value"] + base
    for row in (*s.records, *s.operations, *s.observations):
        for name in OFFSETS:
            if row.get(name) is not None:
                row[name] *= stride
    return s


OFFSETS = (
    "offset", "start_offset", "end_offset", "log_start", "high_watermark", "log_end", "last_stable",
)  # fmt: skip
"""Columns of all tables that hold one."""


def draw_histories(strategy: Any, histories: int) -> dict[str, Any]:
    """Histories by run id. Hypothesis only draws them: one Spark job judges them all, and none is shrunk."""
    stories: dict[str, Any] = {}

    @settings(
        max_examples=histories,
        phases=[Phase.generate],
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def draw(one: Any) -> None:
        stories[f"h{len(stories)}"] = one

    draw()
    return stories
