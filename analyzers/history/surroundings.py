"""What is known of a run besides the tables of its history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from analyzers.history.broker_logs import BrokerLogs, Clock
from analyzers.history.relative_time import Unit


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    settings: Mapping[str, str] = field(default_factory=dict)
    """Of its producers, as Kafka spells them, as far as an experiment states them."""
    logs: Mapping[str, Path] = field(default_factory=dict)
    """What each node printed, by its name."""
    clock: tuple[int, int] | None = None
    """The time of the history and the date (Unix) of one instant, ns; None where that is not known."""
    unit: Unit = "s"
    """In which times are shown."""
    clients: Mapping[int, str] = field(default_factory=dict)
    """Names by process number, where the history does not use numbers itself."""

    def broker_logs(self, began: int | None) -> BrokerLogs | None:
        """None where there are none, or where their dates cannot be related to the history.

        began  time of the run's first operation.
        """
        if not self.logs or self.clock is None or began is None:
            return None
        monotonic, unix = self.clock
        return BrokerLogs(files=self.logs, clock=Clock(monotonic=monotonic, unix=unix, began=began))


NONE = Surroundings()
