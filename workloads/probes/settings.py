"""The settings of topics on which checks depend, where they are not what they were in the sample before.

One row per topic, at first and after each change. The value has the effective settings, the brokers' defaults
included: ``{setting: text}``, see `SETTINGS`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from workloads.clients.administration import settings
from workloads.probes.probe import Ask, Row, Source

SETTINGS = (
    "cleanup.policy",
    "delete.retention.ms",
    "min.compaction.lag.ms",
    "min.insync.replicas",
    "retention.bytes",
    "retention.ms",
    "unclean.leader.election.enable",
)


class SettingsProbe:
    kind = "settings"
    interval = 1.0
    asks: Source = "any broker"

    def __init__(self, topics: Mapping[str, int], run: str) -> None:  # noqa: ARG002
        self._topics = topics
        self._last: dict[str, Mapping[str, str]] = {}

    def sample(self, ask: Ask) -> Iterator[Row]:
        for topic, found in settings(ask, self._topics, SETTINGS).items():
            if self._last.get(topic) != found:
                self._last[topic] = found
                yield {"topic": topic, "value": found}


PROBE = SettingsProbe
