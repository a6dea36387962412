"""Records that a producer with acks=0 sent, and that are not in the log at the end."""

from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc
import pyarrow.dataset as ds


def unacknowledged(home: Path) -> tuple[int, int]:
    """How many were sent, without those that the client knows to have failed; and how many of them no final read
    found."""
    rows = ds.dataset(home / "history" / "records").to_table(columns=["f", "type", "value", "final"])
    is_sent = pc.and_(pc.equal(rows["f"], "send"), pc.not_equal(rows["type"], "fail"))
    sent = set(rows.filter(is_sent)["value"].to_pylist())
    is_found = pc.and_(pc.equal(rows["f"], "poll"), pc.fill_null(rows["final"], False))
    return len(sent), len(sent - set(rows.filter(is_found)["value"].to_pylist()))
