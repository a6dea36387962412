"""Random answers of coordinators, which contradict themselves now and then."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from workloads.history.schema import HARNESS, NEMESIS

SELDOM = st.sampled_from([False] * 4 + [True])
EPOCH = st.integers(1, 3)
GROUP = st.sampled_from(["Empty", "Assigning", "Reconciling", "Stable", "Dead", "CompletingRebalance"])
TRANSACTION = st.sampled_from(
    ["Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Empty"]
)


@st.composite
def coordinator_history(draw: st.DrawFn, story: Any) -> Any:
    s = story().send(1 << 40, 0, at=(1, 9))
    now, generation = 10, 1
    are_classic = draw(st.sampled_from([False, False, True]))
    """Whether all samples are of classic groups, which mostly go on from one generation to the next."""
    for _ in range(draw(st.integers(4, 12))):
        asked = now + draw(st.sampled_from([0, 1, 1, 2]))
        now = max(now + 1, asked + draw(st.integers(1, 3)))
        row = {
            "process": 900, "asked": asked, "time": now, "node": 2 if draw(SELDOM) else 1,
            "connection": draw(st.sampled_from([0, 0, 0, 0, 1, None])),
        }  # fmt: skip
        if are_classic or draw(st.booleans()):
            kind, value = "group_state", {
                "group": draw(st.sampled_from(["g", "g", "g", "h"])),
                "type": draw(st.sampled_from(["consumer", "consumer", "share", "classic", "classic"])),
                "protocol": draw(st.sampled_from(["range"] * 4 + ["cooperative-sticky", None])),
                "state": draw(GROUP), "epoch": draw(EPOCH), "assigned_epoch": draw(EPOCH),
                "members": {each: ["t-0"] for each in draw(st.sampled_from(["a", "a", "ab", ""]))},
                "positions": draw(st.dictionaries(st.sampled_from(["t-0", "t-1"]), st.integers(0, 3))),
            }  # fmt: skip
            if are_classic:
                generation = max(1, generation + draw(st.sampled_from([0, 1, 1, 2, -1])))
                value |= {"type": "classic", "epoch": generation}
            if value["type"] == "classic":
                value |= {"epoch": None if draw(SELDOM) else value["epoch"], "assigned_epoch": None}
        else:
            kind, value = "transaction", {
                "transactional_id": draw(st.sampled_from(["x", "x", "x", "y"])), "state": draw(TRANSACTION),
                "producer_id": draw(st.sampled_from([7, 7, 8])), "epoch": draw(EPOCH),
                "started": draw(st.sampled_from([-1, 1000, 1000, 1001])),
            }  # fmt: skip
        s.observations.append(row | {"kind": kind, "value": json.dumps(value)})
    if draw(SELDOM):
        f, process = draw(st.sampled_from([("alter", 5), ("kill", NEMESIS), ("topic", HARNESS)]))
        s.operation(
            f, at=(draw(st.integers(10, now)), None), process=process, value=json.dumps({"event": "e1"})
        )
    return s
