"""What a file of `analyzers.causes.explainers` declares: kinds of causes with the circumstances that they name, what
establishes them, and the records that it examines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from analyzers.causes.cuts import PROOF
from analyzers.causes.evidence import Extent, LogEvidence, RunEvidence, logs_of
from analyzers.history.fault_events import FaultEvent
from analyzers.verdict.finding import Changes, Cut, Election, Kind, Step

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


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Findings of a run, and what an explainer established about them."""

    kind: CauseKind
    extents: Sequence[Extent]
    """The findings that it explains."""
    settings: Mapping[str, str] | None = None
    """Those on which it was decided; None: those of the run."""
    steps: Sequence[Step] = ()
    """What happened, in any order."""
    faults: Sequence[FaultEvent] = ()
    """Those that were at work."""
    circumstances: tuple[str, ...] = ()
    cuts: tuple[Cut, ...] = ()
    election: Election | None = None


@dataclass(frozen=True, kw_only=True)
class Explainer:
    """Establishes causes of a few kinds.

    rank      those with lower ranks come first: each sees the findings that none before it explained.
    kinds     the kinds of cause that it establishes.
    examines  the records that it needs. Findings whose cause is not determined say which of them were there.
    explain   yields an explanation for each event that it establishes. `derive` makes one cause of those of a kind.
    """

    rank: int
    kinds: tuple[CauseKind, ...]
    examines: tuple[Records, ...]
    explain: Callable[[RunEvidence], Iterable[Explanation]]

    @property
    def explains(self) -> frozenset[str]:
        """Anomalies."""
        return frozenset[str]().union(*(kind.explains for kind in self.kinds))


def by_log(
    explain: Callable[[LogEvidence, RunEvidence], Iterable[Explanation]],
) -> Callable[[RunEvidence], Iterator[Explanation]]:
    """For an explainer that looks at one log after another."""

    def explain_each(run: RunEvidence) -> Iterator[Explanation]:
        for log in logs_of(run.extents):
            yield from explain(run.of_log(log), run)

    return explain_each


@dataclass(frozen=True, kw_only=True)
class Records:
    name: str
    """A plural, for a sentence: ``examined: samples of brokers``."""
    are_there: Callable[[RunEvidence, Sequence[Extent]], bool | None]
    """Whether the run has any that concern these findings; None where they were not examined for them."""


def _has_epochs(run: RunEvidence, extents: Sequence[Extent]) -> bool | None:
    """They are examined only where no samples say where a log was cut."""
    logs = logs_of(each for each in extents if each.anomaly in PROOF and not run.changes.get(each.log or ""))
    return any(run.epochs.get(log) for log in logs) if logs else None


SAMPLES = Records(
    name="samples of brokers (leaders, ISRs, ends of logs)",
    are_there=lambda run, extents: any(run.changes.get(log) for log in logs_of(extents)),
)
BROKER_LOGS = Records(name="logs of brokers", are_there=lambda run, _: run.logs is not None)
EPOCHS = Records(
    name="leader epochs of polled records",
    are_there=lambda run, extents: _has_epochs(run, extents),
)
SOURCES = Records(
    name="the brokers that served sessions",
    are_there=lambda run, extents: any(run.sources.get(log) for log in logs_of(extents)),
)
ASSIGNMENTS = Records(
    name="assignments of partitions to members", are_there=lambda run, _: bool(run.assignments)
)
