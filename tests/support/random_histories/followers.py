"""Random samples of a leader and its follower, with settings that change and acknowledgements between the samples."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from workloads.history.schema import HARNESS

OFFSET = st.integers(1, 4)
SELDOM = st.sampled_from([False] * 5 + [True])
HALF_SECOND = 500_000_000
SETTINGS = st.sampled_from([
    {"min.insync.replicas": "2"},
    {"min.insync.replicas": "2", "unclean.leader.election.enable": "false", "cleanup.policy": "delete"},
    {"min.insync.replicas": "1", "retention.ms": "-1", "retention.bytes": "-1"},
    {"unclean.leader.election.enable": "true"},
    {"retention.ms": "1000"},
    {"retention.bytes": "0"},
    {"cleanup.policy": "compact,delete"},
])  # fmt: skip


@st.composite
def follower_history(draw: st.DrawFn, story: Any) -> Any:
    """Broker 1 leads, most of the time; broker 2 lacks records now and then."""
    s = story()
    s.harness(
        "worker",
        {"role": "producer", "process": 1, "event": "started", "acks": "1" if draw(SELDOM) else "all"},
        at=(1, 2),
    )
    if not draw(SELDOM):
        config = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
        value = {"event": "created", "config": config}
        s.operation("topic", at=(1, 2), process=HARNESS, partition=None, value=json.dumps(value))
    if not draw(SELDOM):
        s.observations.append(
            {
                "process": 900,
                "kind": "quorum",
                "asked": 1,
                "time": 2,
                "node": 1,
                "leader": 1,
                "leader_epoch": 1,
            }
        )
    for _ in range(draw(st.integers(0, 2))):
        s.observations.append({
            "process": 900, "kind": "settings", "asked": 3, "time": 4, "node": 1,
            "topic": draw(st.sampled_from(["t", "t", "t", "u"])), "value": json.dumps(draw(SETTINGS)),
        })  # fmt: skip
    epoch, now, sent = 1, 10, 0
    is_behind, is_short = draw(st.sampled_from([(False, False)] * 2 + [(True, False), (False, True)]))
    if is_short:
        s.observations.append(
            {"process": 900, "kind": "settings", "asked": 3, "time": 4, "node": 1, "topic": "t",
             "value": json.dumps({"min.insync.replicas": draw(st.sampled_from(["2", "2", "2", "1"]))})}
        )  # fmt: skip
    isr = [1] if is_short else draw(st.sampled_from([[1], [1, 2]]))
    start = draw(st.sampled_from([0, 0, 1, 2]))
    for _ in range(draw(st.integers(6, 14))):
        epoch += draw(SELDOM) and draw(SELDOM)
        isr = draw(st.sampled_from([[1], [1, 2]])) if draw(SELDOM) and draw(SELDOM) >= is_short else isr
        now += draw(st.sampled_from([HALF_SECOND, 2 * HALF_SECOND]))
        asked = now + draw(st.integers(0, 2))
        leads = not draw(SELDOM) or draw(st.booleans())
        shared = {
            "process": 900,
            "kind": "partition",
            "topic": "t",
            "partition": 0,
            "leader_epoch": epoch,
            "isr": isr,
        }
        s.observations.append(shared | {
            "node": 1, "leader": 1 if leads else 2, "asked": asked, "time": now + 5,
            "high_watermark": draw(OFFSET), "log_end": 9,
            "log_start": start - (1 if start and draw(SELDOM) else 0),
            "connection": draw(st.sampled_from([0, 0, 0, 1, None])),
        })  # fmt: skip
        s.observations.append(shared | {
            "replicas": [1, 3] if draw(SELDOM) and draw(SELDOM) else [1, 2],
            "node": 2, "leader": 1, "leader_epoch": 0 if is_behind else epoch,
            "asked": asked + draw(st.integers(3, 9)), "time": now + 15,
            "isr": isr if not draw(SELDOM) else [1, 2], "log_end": 9 if not draw(SELDOM) else draw(OFFSET) - 1,
        })  # fmt: skip
        if is_short or draw(st.booleans()):
            sent += 1
            s.send(1 << 40 | sent, sent, at=(now + 20, now + 30), type="fail" if draw(SELDOM) else "ok")
    if is_behind:
        nothing = dict.fromkeys(["high_watermark", "log_end", "log_start", "connection"])
        for node, known in ((1, epoch), (2, 0)):
            now += draw(st.sampled_from([2, 24] if node == 1 else [2, 2, 24])) * HALF_SECOND
            row = {"node": node, "leader": 1, "leader_epoch": known, "asked": now, "time": now + 1}
            s.observations.append(shared | nothing | row)
    if not sent:
        s.send(1 << 40, 0, at=(now + 20, now + 30))
    if draw(SELDOM):
        fault = draw(st.sampled_from(["wipe", "clock", "kill"]))
        s.operation(fault, at=(draw(st.integers(0, 6)) * HALF_SECOND + 7, None))
    return s
