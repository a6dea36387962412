"""Random histories of transactions."""

from __future__ import annotations

from itertools import product
from typing import Any

from hypothesis import strategies as st

from analyzers.facts.availability import GRAIN
from tests.support.stories.groups import member
from tests.support.stories.transactions import A, B, C, init, observe, txn

# Multiples of the resolution at which availability is measured.
TIME = st.integers(0, 14).map(lambda t: t * GRAIN)
SPAN = st.tuples(st.integers(0, 14), st.integers(0, 4)).map(lambda t: (t[0] * GRAIN, (t[0] + t[1]) * GRAIN))
OFFSET = st.integers(0, 4)
PARTITION = st.sampled_from([0, 0, 0, 1, 1])
TYPE = st.sampled_from(["ok", "ok", "ok", "info", "fail"])
MEMBER = 11
"""The process that polls as a member of a group."""
TXN = st.sampled_from([A, A, B, B, C, None])


@st.composite
def transaction_history(draw: st.DrawFn, story: Any) -> Any:
    s = story()
    values = [process << 40 | sequence for process, sequence in product((1, 2), (0, 1, 2))]
    for value in draw(st.lists(st.sampled_from(values), unique=True, min_size=4)):
        more = {"type": draw(TYPE), "partition": draw(PARTITION), "transaction": draw(TXN)}
        s.send(value, draw(st.one_of(st.none(), OFFSET, OFFSET, OFFSET)), at=draw(SPAN), **more)
    for number in range(draw(st.integers(2, 9))):
        s.poll(
            draw(st.sampled_from(values)),
            draw(OFFSET),
            at=draw(SPAN),
            op=1000 + number,
            process=draw(st.sampled_from([1, 10, MEMBER])),
            type=draw(st.sampled_from(["ok", "ok", "info"])),
            partition=draw(PARTITION),
            assignment=draw(st.sampled_from([1, 1, 2])),
            final=draw(st.sampled_from([False, False, True])),
            committed=draw(st.sampled_from([True, True, True, False])),
            transaction=draw(TXN),
        )
    for _ in range(draw(st.integers(0, 1))):
        more = {"partition": draw(PARTITION), "process": draw(st.sampled_from([10, 11]))}
        s.operation("final-read", at=draw(SPAN), start_offset=0, end_offset=draw(st.integers(1, 5)), **more)
    ids = st.sampled_from([None, 7, 8])
    names, epochs = st.sampled_from(["x", "y"]), st.integers(0, 2)
    for op in draw(st.lists(st.sampled_from([A, B, C]), unique=True, min_size=2)):
        more = {"process": draw(st.sampled_from([1, 2])), "kind": draw(TYPE), "producer_id": draw(ids)}
        ending = draw(st.sampled_from([True, True, False])) and draw(TIME)
        span = draw(SPAN) if draw(st.integers(0, 4)) else (0, None)
        if span[1] is None:
            more["kind"] = "info"
        more |= {"ending": None if ending is False else ending, "is_ended": ending is not False}
        txn(s, op, span, name=draw(names), epoch=draw(epochs), **more)
    for _ in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from(["ok", "ok", "info"]))
        init(
            s, draw(st.sampled_from([1, 2, 3])), draw(epochs), draw(SPAN), name=draw(names), kind=kind,
            producer_id=draw(ids),
        )  # fmt: skip
    for _ in range(draw(st.integers(0, 4))):
        observe(
            s, draw(st.one_of(st.none(), OFFSET, OFFSET)), draw(TIME), node=draw(st.sampled_from([1, 1, 2])),
            epoch=draw(st.sampled_from([1, 1, 2])), high=draw(st.integers(3, 5)), end=draw(st.integers(3, 5)),
            partition=draw(PARTITION),
        )  # fmt: skip
    for _ in range(draw(st.integers(0, 1))):
        s.fault("inject").fault("heal")
        began = draw(TIME)
        s.operations[-1] |= {"invoked": began, "completed": began + GRAIN}
    own = [row for row in s.records if row["process"] == MEMBER]
    generation = draw(st.sampled_from([None, 1]))
    for _ in range(draw(st.integers(0, 2)) if own else 0):
        event = draw(st.sampled_from(["assigned", "assigned", "revoked", "joined", "left"]))
        partition = None if event in ("joined", "left") else draw(PARTITION)
        of = generation and draw(st.integers(1, len(own)))
        member(s, MEMBER, event, draw(SPAN), generation=of, partition=partition)
    for number, row in enumerate(own, 1):
        row["generation"] = generation and (number + 1) // 2
    return s
