"""The definition of a forgotten change in plain Python."""

from __future__ import annotations

import json

from tests.support.oracles.rows import Row, Tables
from tests.support.random_histories.inspections import inspection_history


def forgotten_change(tables: Tables) -> int:
    rows = [o | json.loads(o["value"]) for o in tables["operations"] if o["f"] in ("alter", "inspect")]
    alters = [o for o in rows if o["f"] == "alter" and o["type"] != "fail"]
    return sum(
        _lacks_a_change(o, [a for a in alters if a["topic"] == o["topic"] and a["invoked"] <= o["completed"]])
        for o in rows
        if o["f"] == "inspect" and o["type"] == "ok"
    )


def _lacks_a_change(inspection: Row, changes: list[Row]) -> bool:
    if not changes or any(a["type"] == "info" or a["completed"] >= inspection["invoked"] for a in changes):
        return False
    changes = sorted(changes, key=lambda a: a["completed"])
    if changes[-1]["change"] == "delete":
        return bool(inspection["exists"])
    if not inspection["exists"]:
        return True
    partitions = [a["partitions"] for a in changes if a.get("partitions") is not None]
    retentions = [a["retention_ms"] for a in changes if a.get("retention_ms") is not None]
    known, kept = inspection["partitions"], inspection["retention_ms"]
    return bool(
        (partitions and known is not None and known < partitions[-1])
        or (retentions and kept is not None and kept != retentions[-1])
    )


RANDOM = inspection_history
ORACLES = {"forgotten-change": forgotten_change}
