"""What is known of a run besides the tables of its history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    settings: Mapping[str, str] = field(default_factory=dict)
    """Of its producers, as Kafka spells them, as far as an experiment states them."""
    clients: Mapping[int, str] = field(default_factory=dict)
    """Names by process number, where the history does not use numbers itself."""


NONE = Surroundings()
