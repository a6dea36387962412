"""Random samples of eligible leader replicas, of a partition that often has nobody in sync."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from workloads.history.schema import NEMESIS

SELDOM = st.sampled_from([False] * 5 + [True])
NODES = st.lists(st.integers(1, 3), unique=True, max_size=2).map(sorted)
SETTINGS = st.sampled_from(
    [{"min.insync.replicas": "1"}, {"min.insync.replicas": "2"}, {"unclean.leader.election.enable": "true"}]
)


@st.composite
def eligible_history(draw: st.DrawFn, story: Any) -> Any:
    s = story().send(1 << 40, 0, at=(1, 9))
    epoch, now = 1, 10
    for _ in range(draw(st.integers(4, 10))):
        epoch = max(1, epoch + draw(st.sampled_from([0, 0, 1, 1, 1, -1])))
        now += draw(st.integers(1, 3))
        kind = draw(st.sampled_from(["eligible"] * 3 + ["partition"] * 2))
        isr = draw(NODES) if draw(st.booleans()) else []
        leader = draw(st.sampled_from([1, 2, 3])) if isr or kind == "partition" else -1
        value = {"eligible": draw(NODES), "last_known": draw(st.sampled_from([[], [], [1], [2]]))}
        s.observations.append({
            "process": 900, "kind": kind, "asked": now - 1, "time": now, "node": draw(st.sampled_from([1, 2])),
            "topic": draw(st.sampled_from(["t"] * 9 + ["u"])), "partition": 0,
            "leader": leader, "leader_epoch": epoch, "isr": isr,
            "value": json.dumps(value) if kind == "eligible" else None,
        })  # fmt: skip
    if draw(st.booleans()):
        s.observations.append({
            "process": 900, "kind": "settings", "asked": now, "time": now + 1, "node": 1,
            "topic": draw(st.sampled_from(["t"] * 4 + ["u"])), "value": json.dumps(draw(SETTINGS)),
        })  # fmt: skip
    if draw(SELDOM):
        value = {"event": "e1", "stage": "inject", "target": "1", "nodes": [], "effective": True}
        value |= draw(st.sampled_from([{"options": "min.insync.replicas"}, {"options": "unclean"}]))
        s.operation(
            "configure", at=(10 + draw(st.integers(0, 20)), None), process=NEMESIS, value=json.dumps(value)
        )
    return s
