"""A claim about Kafka, the clusters on which it is shown, and what showing it gave."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Literal

from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.report.lane import Group

if TYPE_CHECKING:
    from pytest_kafkacheck.claims.context import ScenarioContext

PACKAGE = "pytest_kafkacheck.claims.claims"

SECTIONS = {
    "A": "Topics, logs, delivery models",
    "B": "Replication, ISR, availability against consistency",
    "C": "High watermark, log end offset, leader epoch",
    "D": "Controller and metadata",
    "E": "Request handling",
    "F": "Consumer groups",
}
"""The first letter of a claim's id."""

Expected = Literal["confirmed", "refuted"]
Outcome = Literal["confirmed", "refuted", "not exercised", "error"]
"""``error``: the claim's program raised something that it should not. Nothing is known of the claim."""

Figure = float | str


@dataclass(frozen=True, kw_only=True)
class Picture:
    """Courses of events that a claim compares, one below the other. span: ms from the left to the right end."""

    groups: tuple[Group, ...]
    span: int


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What one showing of a claim saw.

    holds    whether the claim was true.
    seen     the observation that decides it, as a sentence.
    figures  the two or three numbers that belong to it, by name with unit, such as {"without leader (s)": 3.1}.
    picture  of a claim about time: what was seen in the course of it.
    """

    holds: bool
    seen: str
    figures: Mapping[str, Figure] = field(default_factory=dict)
    picture: Picture | None = None


@dataclass(frozen=True, kw_only=True)
class Case:
    """A cluster on which a claim is shown.

    name      the release, and what else differs from the other cases, such as "4.1.1" or "4.1.1 ELR off".
    client    the release of kafka-clients that the program uses, where it uses that library.
    expected  "refuted" where Kafka is known to behave otherwise there; `why` then gives the reason.
    """

    name: str
    cluster: ClusterSpec
    client: str = ""
    expected: Expected = "confirmed"
    why: str = ""

    def __post_init__(self) -> None:
        if (self.expected == "refuted") != bool(self.why):
            raise UsageError(
                f"Case.why={self.why!r} with expected={self.expected!r}: expected the reason of a claim that is "
                f"refuted, and none of one that is confirmed"
            )


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim, and a program that shows it on a cluster.

    id      its section and number, such as "B3".
    title   a few words.
    text    the claim, as one or two sentences.
    source  a link to what people are taught.
    cases   the clusters on which it is shown.
    show    raises NotExercised where what the claim speaks of did not happen.
    """

    id: str
    title: str
    text: str
    source: str
    cases: tuple[Case, ...]
    show: Callable[[ScenarioContext], Answer]

    def __post_init__(self) -> None:
        if not re.fullmatch(f"[{''.join(SECTIONS)}][1-9][0-9]?", self.id):
            raise UsageError(
                f"Claim.id={self.id!r}: expected a section ({', '.join(SECTIONS)}) and a number, such as B3"
            )
        names = [case.name for case in self.cases]
        if not names or len(set(names)) < len(names):
            raise UsageError(
                f"Claim.cases of {self.id}: expected one or more with different names, got {names}"
            )
        for name in ("title", "text", "source"):
            if not getattr(self, name):
                raise UsageError(f"Claim.{name} of {self.id}: expected text")

    @property
    def order(self) -> tuple[str, int]:
        return self.id[0], int(self.id[1:])


@dataclass(frozen=True)
class Scenario:
    """A claim on one of its clusters."""

    claim: Claim
    case: Case

    @property
    def name(self) -> str:
        """Such as ``B8-unclean-election-loses-writes-4.1.1``."""
        return name_of(self.claim.id, self.claim.title, self.case.name)


def name_of(id_: str, title: str, case: str) -> str:
    """The name of a scenario."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", f"{id_} {title} {case}").strip("-")


@cache
def all_scenarios() -> tuple[Scenario, ...]:
    """Of all claims, in the order of their ids."""
    claims: list[Claim] = [
        import_module(f"{PACKAGE}.{module.name}").CLAIM
        for module in iter_modules(import_module(PACKAGE).__path__)
    ]
    claims.sort(key=lambda claim: claim.order)
    return tuple(Scenario(claim, case) for claim in claims for case in claim.cases)
