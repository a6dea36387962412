"""A kind of cause: what has to be changed, why, and where Kafka documents it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from analyzers.verdict.cause import Changes, Kind


@dataclass(frozen=True, kw_only=True)
class CauseKind:
    """Declared beside the code that establishes it. Findings of one kind are one cause of a run, whichever
    partitions, times and faults they belong to, for one change prevents them all."""

    name: str
    """Stable: verdicts, reports and soaks group by it. It says what has to be changed, where that is a setting."""
    happened: Kind
    """What happened, whatever allowed it."""
    changes: Changes
    """What has to be changed."""
    explains: frozenset[str]
    """The anomalies that it may explain."""
    established: str
    """From which records it follows, for the documents."""
    why: str
    """One line for the reader of a verdict. Figures of the run belong to its steps."""
    change: str = ""
    """What to try, one line; empty where nothing has to be changed."""
    source: str
    """Where Kafka documents it."""
    setting: tuple[str, str] | None = None
    """It applies where the run recorded this name and value; None: whatever the settings are."""
    circumstance: str | None = None
    """It applies with this circumstance (`analyzers.causes.circumstance`); None: with any."""
    settings: tuple[str, ...] = ()
    """Names of the settings on which it depends: shown with their values, or as not recorded."""

    def applies(self, circumstances: Collection[str], settings: Mapping[str, str]) -> bool:
        if self.circumstance is not None and self.circumstance not in circumstances:
            return False
        return self.setting is None or settings.get(self.setting[0]) == self.setting[1]


def first_kind(
    kinds: Iterable[CauseKind], circumstances: Collection[str], settings: Mapping[str, str]
) -> CauseKind:
    """The first one that applies. The last one of a table applies always."""
    return next(each for each in kinds if each.applies(circumstances, settings))
