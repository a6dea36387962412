"""Random histories of members that copy records to another topic."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.support.stories.groups import ONE, commit, member

COPIERS = (5, 5, 5, 6, 7)
OFFSET = st.integers(0, 3)
SPAN = st.tuples(st.integers(0, 30), st.integers(0, 5)).map(lambda t: (t[0], t[0] + t[1]))
SELDOM = st.sampled_from([False] * 7 + [True])
TYPE = st.sampled_from(["ok", "ok", "ok", "info", "info", "fail"])


def group(process: int) -> str:
    return "h" if process == 7 else "g"


@st.composite
def copy_history(draw: st.DrawFn, story: Any) -> Any:
    """Up to four records, of which most are polled and committed, and a few copies."""
    s = story()
    for offset in range(4):
        transaction = 8 if draw(SELDOM) else None
        if not draw(SELDOM):
            s.send(ONE + offset, offset, at=draw(SPAN), transaction=transaction, type=draw(TYPE))
    for number in range(draw(st.integers(1, 3))):
        copier = draw(st.sampled_from(COPIERS))
        member(s, copier, "assigned", draw(SPAN), start=draw(st.sampled_from([0, 0, 0, 1, None])),
               group=group(copier), generation=number)  # fmt: skip
    for number in range(draw(st.integers(1, 4))):
        copier = draw(st.sampled_from(COPIERS))
        at = (3, None) if draw(SELDOM) else draw(SPAN)
        commit(s, copier, draw(st.integers(1, 4)), at, group=group(copier), generation=number,
               kind=draw(st.sampled_from(["ok", "ok", "ok", "info", "fail"])), reset=draw(SELDOM))  # fmt: skip
    for _ in range(draw(st.integers(0, 3))):
        offset = draw(OFFSET)
        value = ONE + (draw(OFFSET) if draw(SELDOM) else offset)
        s.poll(
            value,
            offset,
            at=draw(SPAN),
            process=draw(st.sampled_from([5, 20])),
            committed=draw(st.booleans()),
        )
    if not draw(SELDOM):
        found = draw(st.lists(OFFSET, unique=True, min_size=2))
        s.final({offset: ONE + offset for offset in found}, end=4)
    draw_copies(draw, s)
    return s


def draw_copies(draw: st.DrawFn, s: Any) -> None:
    for number in range(draw(st.integers(1, 5))):
        value = (draw(st.sampled_from(COPIERS)) << 40) + number
        row = {"topic": draw(st.sampled_from(["o"] * 5 + ["p"])), "source": ONE + draw(OFFSET)}
        transaction = draw(st.sampled_from([None, 9]))
        if not draw(SELDOM):
            s.send(value, number, at=draw(SPAN), type=draw(TYPE), transaction=transaction, **row)
        for process in (30, 31):
            if draw(st.booleans()):
                s.poll(value, number, at=draw(SPAN), process=process, committed=process == 30, **row)
        if draw(st.booleans()):
            s.poll(value, number, process=98, final=True, **row)
    for topic in draw(st.sampled_from(["", "o", "o", "op"])):
        span = {"start_offset": draw(st.sampled_from([0, 0, 0, 1])), "end_offset": 5}
        s.operation("final-read", process=98, topic=topic, **span)
    if draw(st.booleans()):
        s.operation("read", process=30, topic="o", start_offset=0, end_offset=draw(st.integers(1, 5)))
