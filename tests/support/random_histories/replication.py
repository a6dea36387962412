"""Random samples of brokers."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

NODE = st.sampled_from([1, 1, 1, 2])
OFFSET = st.integers(0, 4)
SELDOM = st.sampled_from([False] * 5 + [True])


@st.composite
def replication_history(draw: st.DrawFn, story: Any) -> Any:
    """Of two brokers that contradict each other now and then. Most answers are those of a leader."""
    s = story().send(1 << 40, 0, at=(1, 9))
    epoch, now = 1, 10
    for _ in range(draw(st.integers(6, 16))):
        epoch = max(1, epoch + draw(st.sampled_from([0, 0, 0, 0, 0, 0, 1, 1, 1, -1])))
        kind = draw(st.sampled_from(["partition"] * 9 + ["quorum"] + ["controller"] * 3))
        node = draw(NODE) if draw(SELDOM) else 1 + epoch % 2
        has_offsets = kind == "partition" and not draw(SELDOM)
        asked = now + draw(st.sampled_from([0, 1, 1, 2]))
        now = max(now + 1, asked + draw(st.integers(1, 3)))
        s.observations.append({
            "process": 900, "kind": kind, "asked": asked, "time": now,
            "node": None if kind == "controller" else node,
            "topic": "t" if kind == "partition" else None,
            "partition": draw(st.sampled_from([0] * 9 + [1])) if kind == "partition" else None,
            "leader": draw(st.sampled_from([1, 2, -1])) if draw(SELDOM) else node,
            "leader_epoch": draw(st.integers(1, 4)) if kind == "controller" else epoch,
            "isr": draw(st.sampled_from([None, [1], [2], [1], [2], [1, 2], [1, 2]])),
            "replicas": draw(st.sampled_from([None, [1, 2], [1, 2], [1]])),
            "high_watermark": draw(OFFSET) if has_offsets else None,
            "log_end": draw(OFFSET) if has_offsets and not draw(SELDOM) else None,
            "connection": draw(st.sampled_from([None, 0, 0, 0, 1])),
        })  # fmt: skip
    if draw(SELDOM):
        s.operation(
            draw(st.sampled_from(["wipe", "power-loss", "kill"])), at=(10 + draw(st.integers(0, 20)), None)
        )
    return s
