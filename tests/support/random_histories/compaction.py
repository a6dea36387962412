"""Random histories of compacted topics, with tombstones."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.support.random_histories.logs import SPAN, spread
from tests.support.stories.removals import created
from tests.support.stories.settings import altered

KEY = st.sampled_from([None, 4, 4, 5, 5])
TOMBSTONE = st.sampled_from([False, None, True, True])
TRANSACTION = st.sampled_from([None, None, 70])
RARELY = st.sampled_from([0] * 19 + [1])
POLICY = st.sampled_from(["compact"] * 3 + ["delete"] + ["compact,delete"] * 2)
LAG = st.sampled_from([{}] * 4 + [{"min_compaction_lag_ms": "0"}, {"min_compaction_lag_ms": "86400000"}])
CHANGES = st.sampled_from([
    *[[]] * 4,
    [{"cleanup.policy": "compact"}],
    [{"cleanup.policy": "delete", "retention.ms": None}],
    [{"min.compaction.lag.ms": "0"}, {"cleanup.policy": "compact", "min.compaction.lag.ms": "86400000"}],
    [{"delete.retention.ms": "0", "min.compaction.lag.ms": None}],
])  # fmt: skip
"""Settings that an administrator changed, by change."""
RETENTION = st.sampled_from(["0", "86400000"])


@st.composite
def compacted_history(draw: st.DrawFn, story: Any) -> Any:
    """Few keys and offsets, so that most of them have tombstones and readers that passed these."""
    s = story()
    config = {"delete_retention_ms": draw(RETENTION)} | draw(LAG)
    created(s, at=(0, 0), cleanup_policy=draw(POLICY), **config)
    for changed in draw(CHANGES):
        altered(s, kind=draw(st.sampled_from(["ok", "ok", "info", "fail"])), at=draw(SPAN), config=changed)
    written = []
    for sequence in range(draw(st.sampled_from([3, 6, 8, 8]))):
        one = {"key": draw(KEY), "tombstone": draw(TOMBSTONE), "partition": draw(RARELY)}
        value, offset = 1 << 40 | sequence, max(sequence - draw(RARELY), 0)
        acknowledged = None if draw(RARELY) else offset
        type, transaction = draw(st.sampled_from(["ok"] * 6 + ["info", "fail"])), draw(TRANSACTION)
        s.send(value, acknowledged, at=draw(SPAN), type=type, transaction=transaction, **one)
        written.append((value, offset, one))
    for process in (1, 2, 3):
        reader = {
            "process": process,
            "final": process == 3,
            "committed": draw(st.sampled_from([None, False, True])),
        }
        for value, offset, one in written:
            if draw(st.sampled_from([True, True, False])):
                elsewhere = {"assignment": 1 + draw(RARELY), "generation": draw(RARELY) or None}
                at = offset if draw(RARELY) == 0 else draw(st.integers(0, 5))
                s.poll(value, at, at=draw(SPAN), **reader, **one, **elsewhere)
    for partition in draw(st.sampled_from([[], [0], [0], [0, 1]])):
        s.operation(
            "final-read",
            process=3,
            at=draw(SPAN),
            partition=partition,
            start_offset=draw(st.sampled_from([0, 0, 2, 3])),
            end_offset=draw(st.integers(2, 6)),
        )
    return spread(s)
