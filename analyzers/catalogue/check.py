"""A check: an anomaly, and the condition under which it is found."""

from __future__ import annotations

from dataclasses import dataclass, replace

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.live import Judging, Live
from analyzers.catalogue.suspicion import Suspicion


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
    suspicion: Suspicion | None = None
    """A condition that holds wherever the check finds something, and is cheaper to evaluate. None: the check always
    runs. See `analyzers.judge.prefilter`."""
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
