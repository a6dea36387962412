"""An anomaly: its entry in the catalogue, and all that is written about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from analyzers.catalogue.evidence import Evidence
from analyzers.catalogue.subject import LOG, Subject

Severity = Literal["invalid", "unknown", "note"]
Family = Literal[
    "log",
    "sessions",
    "order",
    "transactions",
    "groups",
    "queues",
    "applications",
    "metadata",
    "replication",
    "availability",
]

CHOICE = re.compile(r"\(([^|()]+)\|([^|()]+)\)")
"""Words of a sentence for one and for several."""

FAMILIES: tuple[Family, ...] = get_args(Family)
"""In the order of verdicts and documents."""


@dataclass(frozen=True, kw_only=True)
class Anomaly:
    name: str
    """Stable: JSON, reports and users' tests refer to it."""
    family: Family
    rank: int = 1000
    """Position within the family in verdicts and documents; equal ones are sorted by name."""
    severity: Severity = "invalid"
    """``invalid``: a promise was broken. ``unknown``: whether it was kept cannot be determined. ``note``: Kafka does
    not promise otherwise; reported, never judged."""
    jepsen: str | None = None
    """Jepsen's name, where `jepsen.tests.kafka` reports something similar."""
    subject: Subject = LOG
    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    """What an example holds besides its subject, its time and the faults active then; in the order of printing."""
    since: str | None = None
    """The name of the evidence, a `Moment`, that says when it may have begun: its faults are those active at any time
    from then on. None: when it happened."""
    until: str | None = None
    """As `since`, of what followed from it: its faults are those until then, where that is later than its time."""

    sentence: str
    """For the reader of a verdict. It follows the count, which decides about each ``(s)`` and ``(was|were)``."""
    definition: str
    """Exactly when it is reported, and what one count stands for (``counted per ...``)."""
    means: str
    """In plain words, for the documents; as are the following."""
    promised: str
    """What Kafka promises, under which settings and since which version."""
    causes: str
    look_further: str
    """What to examine next."""

    @property
    def columns(self) -> dict[str, Evidence]:
        """Those of the subject, then the evidence."""
        return {**self.subject.columns, **self.evidence}

    @property
    def link(self) -> str:
        """Where it is explained, from the root of the project."""
        return f"docs/anomalies.md#{self.name}"

    def summary(self, count: int) -> str:
        text = self.sentence.replace("(s)", "" if count == 1 else "s")
        return CHOICE.sub(r"\1" if count == 1 else r"\2", text)

    def about(self, example: Mapping[str, Any]) -> str:
        """Which subject an example is about, as text."""
        return self.subject.to_text(example)
