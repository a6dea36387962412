"""Rolling restart: controlled restarts of several nodes, one after another."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.event import Event
from nemesis.fault import Draw
from nemesis.steps.rolling import OneByOne


@dataclass(frozen=True, kw_only=True)
class RollingRestart(OneByOne):
    """Controlled restarts of the target's nodes. Each begins when the node before it serves clients again."""

    name = "rolling-restart"
    proved_by = "each node served before, ended by itself, runs a new process, and serves clients"
    draw = Draw(targets=("all", "controller", "minority"))


def rolling_restart(target: str | int = "all", *, at: float = 0, after: str | None = None) -> Event:
    """Controlled restarts, one after another. Each begins when the node before it serves clients again."""
    return Event.of(RollingRestart(), target, at=at, after=after)
