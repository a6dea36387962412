"""Random histories of transfers, and of snapshots that lack some of their records."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.support.stories.snapshots import ONE, T, U, compacted, snapshot, transfer

OFFSET = st.sampled_from([None, 0, 0, 1, 1, 2])
END = st.integers(0, 3)
SELDOM = st.sampled_from([False] * 7 + [True])
OFTEN = st.sampled_from([True] * 3 + [False])
KIND = st.sampled_from(["ok", "ok", "info", "fail"])


@st.composite
def snapshot_history(draw: st.DrawFn, story: Any) -> Any:
    """Up to three transfers, and snapshots of two processes."""
    s = story()
    if draw(SELDOM):
        compacted(s)
    offsets: dict[int, int | None] = {}
    for number in range(draw(st.integers(1, 3))):
        placed = draw(OFFSET), draw(OFFSET)
        offsets |= {ONE + 2 * number + half: at for half, at in enumerate(placed)}
        transaction = None if draw(SELDOM) else 100 + draw(st.integers(0, 1))
        transfer(s, number, placed, kind=draw(KIND), transaction=transaction)
    # Where a record without an acknowledged offset is, or another one of which the acknowledgement was wrong.
    lies = {value: draw(END) if at is None or draw(SELDOM) else at for value, at in offsets.items()}
    for number in range(draw(st.integers(1, 3))):
        process = draw(st.sampled_from([20, 20, 20, 21]))
        got = [(U if value % 2 else T, at, value) for value, at in lies.items() if draw(OFTEN)]
        for kind in draw(st.sampled_from([("ok",), ("ok",), ("ok",), ("info",), ("ok", "info")])):
            logs = draw(st.sampled_from([(T, U), (T, U), (T, U), (T,), (U,)]))
            snapshot(s, number, {each: draw(END) for each in logs}, *got, process=process, kind=kind)
            got = []
    for log, process in ((T, 98), (U, 99)):
        if draw(SELDOM):
            continue
        for value, at in lies.items():
            if (U if value % 2 else T) == log and draw(OFTEN):
                amount = 10 if value % 2 else -10
                s.poll(value, at, topic=log[0], process=process, final=True, amount=amount)
        span = {"start_offset": draw(st.sampled_from([0, 0, 0, 1])), "end_offset": 4}
        s.operation("final-read", process=process, topic=log[0], **span)
    return s
