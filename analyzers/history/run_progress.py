"""The progress of a run: the phase that it reached, and how its client processes ended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(kw_only=True)
class RunProgress:
    phase: str | None = None
    """The last phase that began; None if none is recorded."""
    crashed: list[str] = field(default_factory=list)
    """The reason for each client process that ended unexpectedly."""
    running: dict[int | None, str] = field(default_factory=dict)
    """Client process to role, of processes without a recorded end."""
    killed: set[int | None] = field(default_factory=set)
    """Client processes that a fault killed."""

    def note(self, f: str, value: str | None) -> None:
        """Take the next operation of the harness, in order of time. Raises ValueError if its value is not an
        object."""
        fields = parse(value)
        match f, fields.get("event"):
            case "phase", _:
                self.phase = str(fields.get("phase"))
            case "worker", "started":
                self.running[fields.get("process")] = str(fields.get("role", "client"))
            case "worker", event:
                process = fields.get("process")
                self.running.pop(process, None)
                if event == "crashed":
                    self.crashed.append(str(fields.get("trouble", "no reason was reported")))
                if event == "killed":
                    self.killed.add(process)

    def doubts(self) -> Iterator[str]:
        """Reasons why the history may be incomplete, one sentence each."""
        for trouble in self.crashed:
            yield f"A client process ended early: {trouble}. Records that it would have seen are missing."
        if self.phase not in (None, "end"):
            yield f"The run was interrupted in its phase {self.phase}: the history ends there."
        if self.running:
            names = ", ".join(f"{role} {'?' if p is None else p}" for p, role in sorted(
                self.running.items(), key=lambda item: (item[0] is None, item[0] or 0)))  # fmt: skip
            yield f"The history does not say how clients ended ({names}): their last operations may be missing."


def parse(value: str | None) -> dict[str, Any]:
    """The fields of a value. Raises ValueError, naming the value, unless it is a JSON object."""
    try:
        parsed = json.loads(value or "")
    except ValueError as error:
        raise ValueError(f"value {value!r} is not JSON ({error})") from error
    if not isinstance(parsed, dict):
        raise ValueError(f"value {value!r}: expected a JSON object")
    return parsed
