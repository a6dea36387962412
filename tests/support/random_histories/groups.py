"""Random histories of consumer groups."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from analyzers.facts.availability import GRAIN
from tests.support.random_histories.transactions import OFFSET, SPAN, TIME
from tests.support.stories.groups import commit, died, member

ABORTED, OPEN = 1 << 40, 1 << 40 | 1
VALUE = st.sampled_from([None] * 10 + [ABORTED, OPEN])
"""None: the payload is not of the run, but shows that a record is there."""


def group(process: int) -> str:
    return "h" if process == 7 else "g"


@st.composite
def group_history(draw: st.DrawFn, story: Any) -> Any:
    """Random events of members. Few offsets and generations make legal steps, and near misses, likely."""
    s = story()
    processes, generations = st.sampled_from([5, 5, 6, 6, 7]), st.sampled_from([1, 1, 1, 2, 2, None])
    events = st.sampled_from(["assigned"] * 4 + ["revoked", "lost", "left", "fenced", "joined"])
    kinds, here = st.sampled_from(["ok"] * 6 + ["info", "fail"]), st.sampled_from([0] * 6 + [1])
    policies, instances = (
        st.sampled_from([None, "earliest", "earliest", "latest", "none"]),
        st.sampled_from([None, "i"]),
    )
    is_careful = draw(st.sampled_from([None, None, True]))
    for _ in range(draw(st.integers(3, 9))):
        event, process = draw(events), draw(processes)
        whole = event in ("left", "fenced", "joined")
        start = draw(OFFSET) if event == "assigned" else None
        more = {"generation": draw(generations), "start": start, "kind": draw(kinds)}
        more |= {"policy": draw(policies), "instance": draw(instances)}
        member(
            s,
            process,
            event,
            draw(SPAN),
            partition=None if whole else draw(here),
            group=group(process),
            **more,
        )
    for _ in range(draw(st.integers(1, 6))):
        process = draw(processes)
        more = {"generation": draw(generations), "reset": draw(st.integers(0, 5)) == 0, "kind": draw(kinds)}
        more["transaction"] = draw(st.sampled_from([None, None, 8]))
        commit(s, process, draw(OFFSET), draw(SPAN), group=group(process), **more)
    for value, kind in ((ABORTED, "fail"), (OPEN, "info")):
        s.send(value, None, at=(0, 1), type=kind, transaction=70)
    op, before = 1000, None
    for number in range(draw(st.integers(3, 12))):
        value, offset, at = draw(VALUE), draw(OFFSET), draw(SPAN)
        poll = {
            "process": draw(st.sampled_from([5, 5, 6, 6, 7, 20])),
            "partition": draw(here),
            "assignment": draw(st.sampled_from([1, 1, 2])),
            "committed": draw(st.booleans()) if is_careful is None else True,
            "generation": draw(generations),
        }
        # All records of a poll have one reader, in one generation.
        op += number % 2 == 0 or {**poll, "partition": 0} != before
        before = {**poll, "partition": 0}
        s.poll(value, offset, at=at, op=op, **poll)
    for process in draw(st.lists(processes, unique=True, max_size=1)):
        died(s, process, draw(TIME))
    if draw(st.integers(0, 3)) == 0:
        handover(draw, s)
    return s


def handover(draw: st.DrawFn, s: Any) -> None:
    """One member polls and commits, then the next owner polls: random draws alone produce this order too rarely."""
    offset, at = draw(OFFSET), draw(st.integers(0, 6))
    moments = [((at + n) * GRAIN, (at + n + draw(st.integers(0, 1))) * GRAIN) for n in (0, 1, 3, 5)]
    s.poll(None, offset, at=moments[0], op=2000, process=5, assignment=1, generation=3)
    commit(s, 5, offset + 1, moments[1], generation=3)
    member(s, 5, "assigned", moments[0], generation=3, start=offset)
    member(s, 6, "assigned", moments[2], generation=draw(st.sampled_from([3, 4])), start=draw(OFFSET))
    s.poll(
        None,
        draw(st.sampled_from([offset, offset + 1])),
        at=moments[3],
        op=2001,
        process=6,
        assignment=1,
        generation=4,
    )
