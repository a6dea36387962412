"""A check: an anomaly, the condition under which it is found, and the conditions under which it runs: while the run
goes on, and with the bounds that an experiment states.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from analyzers.catalogue.anomaly import Anomaly


@dataclass(frozen=True, kw_only=True)
class Live:
    """The check runs during the run: a finding in a part of the history is one in the whole history, too."""

    because: str
    """Why no other row can refute a finding, whether it was recorded earlier, is recorded later, or lies in a segment
    that is still open."""
    per: tuple[str, ...]
    """Names of the evidence that identify, besides the subject, what one count stands for: it is reported once."""
    over: str | None = None
    """The fact that is examined during the run; None: that of the check."""
    where: str | None = None
    """SQL over the columns of that fact: when a finding is certain during the run; None: as in the check. It may ask
    for more than the check does."""
    if_records_stay: bool = False
    """Whether it runs only where nothing is to delete records during the run: a deletion that follows, or that is
    recorded later, excuses what it finds."""
    either: frozenset[str] = frozenset()
    """Names of anomalies, its own included, between which a part of the history cannot decide: the whole history has
    one of them. Empty: it has this one."""


@dataclass(frozen=True)
class NotLive:
    """The check runs only when the run is over."""

    because: str
    """What other rows may show that refutes a finding, or what is not known during the run."""


Judging = Live | NotLive

SAMPLES = NotLive("It compares answers of brokers, and samples are judged together when the run is over.")
END = NotLive("What it compares with is recorded only at the end of the run.")
BOUND = NotLive("A bound is about the whole time of a run, and is judged when the run is over.")
CYCLE = NotLive("A cycle of transactions is searched in the whole history.")


@dataclass(frozen=True, kw_only=True)
class Check:
    """A promise, as the condition under which a row of a fact breaks it.

    It is a condition and not a query, so that all checks over one fact share one pass, and each check counts a row
    that breaks its promise once.
    """

    anomaly: Anomaly
    over: str
    """The name of the fact whose rows are examined (see `analyzers.facts`)."""
    where: str
    """SQL over the columns of the fact: true where the promise is broken. Null counts as not broken."""
    time: str
    """SQL: when it happened, in ns; may be null."""
    live: Judging
    """Whether it runs while the run is going on, and why."""
    bound: str | None = None
    """The field of `Bounds` with the limit, which `where` refers to as ``{bound}`` (ns). None: Kafka itself promises
    it."""

    @property
    def name(self) -> str:
        return self.anomaly.name

    def while_running(self) -> Check | None:
        """The check as it runs while the run is going on; None if it runs only at the end."""
        if not isinstance(self.live, Live):
            return None
        return replace(self, over=self.live.over or self.over, where=self.live.where or self.where)

    def bounded(self, limit: int | str) -> Check:
        """The check for a limit in ns, or for SQL of one, where null stands for no limit."""
        return replace(self, where=self.where.format(bound=limit), bound=None)


@dataclass(frozen=True, kw_only=True)
class CycleCheck:
    """A check for cycles of transactions, which no condition on single rows can find."""

    anomaly: Anomaly
    edges: frozenset[str]
    """Kinds of dependencies that a cycle is made of: ``ww``, ``wr``, ``realtime``."""
    live: Judging

    @property
    def name(self) -> str:
        return self.anomaly.name
