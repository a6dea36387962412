"""Stories told in steps of 10 ns, at a pace that people can follow."""

from __future__ import annotations

import json
from typing import Any

TIMES = ("invoked", "completed", "time", "asked")


def slower(story: Any, *, factor: int = 10**8) -> Any:
    """The same story with every time multiplied: 10 ns become 1 s."""
    for rows in (story.records, story.operations, story.observations):
        for row in rows:
            row.update({name: row[name] * factor for name in TIMES if row.get(name) is not None})
            told = json.loads(row["value"]) if isinstance(row.get("value"), str) else {}
            if told.get("ending") is not None:
                row["value"] = json.dumps(told | {"ending": told["ending"] * factor})
    return story
