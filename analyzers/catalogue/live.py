"""Whether a check runs while the run is going on, and why its findings in a part of a history may be reported."""

from __future__ import annotations

from dataclasses import dataclass


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
