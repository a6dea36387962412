"""A kind of cause: what has to be changed, why, where Kafka documents it, and the circumstances it names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from analyzers.verdict.cause import Changes, Kind

ABOVE_HIGH_WATERMARK: Final = "acknowledged above the high watermark"
"""The deposed leader acknowledged what its followers did not have."""
UNCLEAN_ELECTION: Final = "unclean election"
"""The new leader was not in the ISR."""
ELIGIBLE_REPLICA: Final = "eligible replica outside the ISR"
"""The new leader was not in the ISR, and was elected cleanly: the ISR was below min.insync.replicas (KIP-966)."""
LAST_REPLICA: Final = "last replica"
"""The replica that was cut or lost had been the only one in the ISR."""
UNFLUSHED: Final = "power loss"
"""The replica that was cut had lost its power."""
FORMER_MEMBER: Final = "commit of a former member"
"""A commit was accepted of a member that its group had replaced."""
PAUSED_MEMBER: Final = "paused member"
"""A fault held a group member, or cut it off, while the group went on without it."""
BESIDE_TRANSACTIONS: Final = "positions committed beside transactions"
"""An application writes outputs in transactions, and commits no position in one."""
SENDS_FAILED: Final = "failed sends ignored"
"""An instance wrote later outputs after those that are missing, or printed that sends failed."""
BY_TIMER: Final = "commits by timer"
"""An application commits at regular times, whatever outputs there are."""
COMMIT_FIRST: Final = "commits first"
"""An application sends most outputs after the commit behind their inputs."""
LATE_OUTPUTS: Final = "late outputs"
"""An instance wrote outputs of a partition after another one had got it."""
SENT_ONCE: Final = "sent once"
"""Two records of one timestamp and of no producer id."""
SENT_IN_ORDER: Final = "sent in order"
"""Outputs of no producer id lie in another order than they were sent."""


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
    """It applies with this circumstance (see above); None: with any."""
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
