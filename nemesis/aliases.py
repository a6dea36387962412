"""Short names, to which schedules refer, because the real names contain the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Aliases:
    """Short names with those that the brokers know.

    names   of groups and transactional ids.
    topics  of topics.
    A name that is not in here stands for itself.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    topics: Mapping[str, str] = field(default_factory=dict)

    def name(self, short: str | None) -> str | None:
        """Of a group or a transactional id, as the brokers know it."""
        return short if short is None else self.names.get(short, short)

    def topic(self, short: str | None) -> str | None:
        """As the brokers know it."""
        return short if short is None else self.topics.get(short, short)

    def short_topic(self, topic: str) -> str:
        """As schedules have it."""
        return next((short for short, name in self.topics.items() if name == topic), topic)
