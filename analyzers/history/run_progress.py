"""The course of a run, from what the harness wrote down: how far it came, and how its clients ended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(kw_only=True)
class RunProgress:
    phase: str | None = None
    """The last one that began; None where none is recorded."""
    crashed: list[str] = field(default_factory=list)
    """A reason for each client process that ended without being asked to."""
    going: dict[int | None, str] = field(default_factory=dict)
    """Client process to its role: started, and no end of it recorded."""
    killed: set[int | None] = field(default_factory=set)
    """Client processes that a fault killed."""

    def note(self, f: str, value: str | None) -> None:
        """The next operation of the harness, in order of time. Raises ValueError where its value is no object."""
        told = parse(value)
        match f, told.get("event"):
            case "phase", _:
                self.phase = str(told.get("phase"))
            case "worker", "started":
                self.going[told.get("process")] = str(told.get("role", "client"))
            case "worker", event:
                process = told.get("process")
                self.going.pop(process, None)
                if event == "crashed":
                    self.crashed.append(str(told.get("trouble", "no reason was told")))
                if event == "killed":
                    self.killed.add(process)

    def doubts(self) -> Iterator[str]:
        """Why the history may lack something, a sentence each."""
        for trouble in self.crashed:
            yield f"A client process ended early: {trouble}. What it would have seen is missing."
        if self.phase not in (None, "end"):
            yield f"The run was interrupted in its phase {self.phase}: the history stops there."
        if self.going:
            names = ", ".join(f"{role} {'?' if p is None else p}" for p, role in sorted(
                self.going.items(), key=lambda item: (item[0] is None, item[0] or 0)))  # fmt: skip
            yield f"The history does not tell how clients ended ({names}): what they did last may be missing."


def parse(value: str | None) -> dict[str, Any]:
    """Raises ValueError, saying what was found, for anything but a JSON object."""
    try:
        told = json.loads(value or "")
    except ValueError as error:
        raise ValueError(f"value {value!r} is no JSON ({error})") from error
    if not isinstance(told, dict):
        raise ValueError(f"value {value!r}: expected a JSON object")
    return told
