"""Random histories of changes of topics, and of brokers that are asked for them."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

TOPIC = st.sampled_from(["t", "t", "t", "u"])
NUMBER = st.sampled_from([None, 1, 2, 3])
CHANGE = st.sampled_from(["create", "create", "delete", "partitions", "config"])


@st.composite
def inspection_history(draw: st.DrawFn, story: Any) -> Any:
    """Changes follow one another, as one process makes them; inspections lie anywhere."""
    s, now = story(), 0
    for _ in range(draw(st.sampled_from([1, 2, 4]))):
        began = now + draw(st.integers(1, 3))
        now = began + draw(st.integers(1, 3))
        change = draw(CHANGE)
        value = {"change": change}
        if change in ("create", "partitions"):
            value["partitions"] = draw(NUMBER)
        if change in ("create", "config"):
            value["retention_ms"] = draw(NUMBER)
        kind = draw(st.sampled_from(["ok"] * 7 + ["info", "fail"]))
        s.operation("alter", at=(began, now), type=kind, topic=draw(TOPIC), value=json.dumps(value))
    for _ in range(draw(st.sampled_from([1, 2, 3]))):
        began = draw(st.integers(1, now + 2))
        about = {
            "node": 1,
            "exists": draw(st.booleans()),
            "partitions": draw(NUMBER),
            "retention_ms": draw(NUMBER),
        }
        s.operation(
            "inspect",
            at=(began, began + draw(st.integers(0, 3))),
            type=draw(st.sampled_from(["ok", "ok", "ok", "info"])),
            topic=draw(TOPIC),
            value=json.dumps(about),
        )
    return s
