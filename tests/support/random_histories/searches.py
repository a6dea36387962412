"""Random histories of searches by time."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

VALUES = [1 << 40 | number for number in range(3)]
OFFSET = st.integers(0, 2)
PARTITION = st.sampled_from([0, 0, 0, 1])
SPAN = st.tuples(st.integers(0, 8), st.integers(0, 3)).map(lambda t: (t[0], t[0] + t[1]))


@st.composite
def search_history(draw: st.DrawFn, story: Any) -> Any:
    """Few values, offsets and times make it likely that a record is known, and is polled again."""
    s = story()
    for _ in range(draw(st.sampled_from([2, 5, 9]))):
        offset = draw(OFFSET)
        value = draw(st.sampled_from([VALUES[offset]] * 3 + VALUES))
        s.poll(value, offset, partition=draw(PARTITION), at=draw(SPAN), final=draw(st.booleans()))
    for _ in range(draw(st.sampled_from([1, 2, 3]))):
        known = draw(OFFSET)
        value = {
            "timestamp": draw(st.integers(0, 2)),
            "value": draw(st.sampled_from([VALUES[known]] * 5 + VALUES)),
            "found": draw(st.sampled_from([None, None, 0, 1, 2])),
        }
        s.operation(
            draw(st.sampled_from(["search"] * 5 + ["read"])),
            at=draw(SPAN),
            type=draw(st.sampled_from(["ok", "ok", "ok", "info"])),
            partition=draw(PARTITION),
            start_offset=known,
            end_offset=draw(st.sampled_from([None, 0, 1, 2, 3])),
            value=json.dumps(value),
        )
    return s
