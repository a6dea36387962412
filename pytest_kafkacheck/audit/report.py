"""The result of an audit: an outcome for each subject and event, what could not be read, and both as JUnit's XML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any
from xml.etree import ElementTree

from pytest_kafkacheck.audit.assess import outcome
from pytest_kafkacheck.audit.configuration import NAMES, Configuration, value_text
from pytest_kafkacheck.audit.events import EVENTS
from pytest_kafkacheck.audit.remarks import configuration_remarks
from pytest_kafkacheck.audit.rule import EFFECTS, Effect, Outcome


@dataclass(frozen=True, kw_only=True)
class Problem:
    """tried: what was asked of the cluster. missing: what is not known therefore. remedy: what would help."""

    tried: str
    missing: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.tried}: {self.missing}" + (f" ({self.remedy})" if self.remedy else "")

    def to_json(self) -> dict[str, str]:
        return {"tried": self.tried, "missing": self.missing, "remedy": self.remedy}


@dataclass(frozen=True)
class Judged:
    """A subject with its outcomes."""

    subject: Subject
    outcomes: tuple[Outcome, ...]

    def to_json(self) -> dict[str, Any]:
        configuration = self.subject.configuration
        return {
            "subject": self.subject.name,
            "settings": configuration.to_json(),
            "origins": dict(self.subject.origins),
            "unknown": {name: list(values) for name, values in self.subject.unknown.items()},
            "problems": list(configuration.problems()),
            "notes": list(self.subject.notes),
            "outcomes": [each.to_json() for each in self.outcomes],
        }


@dataclass(frozen=True)
class Report:
    """problems: what could not be read, and what would help. out_of_sync: what keeps the outcomes from holding now.
    stated: sentences about the whole."""

    subjects: Sequence[Subject]
    problems: Sequence[Problem] = ()
    out_of_sync: Sequence[str] = ()
    stated: Sequence[str] = ()

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """What holds now, what is stated, and what the settings of all subjects give."""
        found = [each for subject in self.subjects for each in configuration_remarks(subject.configuration)]
        return tuple(dict.fromkeys([*self.out_of_sync, *self.stated, *found]))

    @cached_property
    def judged(self) -> tuple[Judged, ...]:
        return tuple(Judged(subject, subject.outcomes) for subject in self.subjects)

    @property
    def loses(self) -> bool:
        return any(each.effect == "loses" for judged in self.judged for each in judged.outcomes)

    def to_json(self) -> dict[str, Any]:
        return {
            "remarks": list(self.remarks),
            "subjects": [judged.to_json() for judged in self.judged],
            "problems": [problem.to_json() for problem in self.problems],
        }


def count_text(outcomes: Sequence[Outcome]) -> str:
    """Such as "of 11 events: loses 3, unavailable 1, keeps 7"."""
    counts = Counter(each.effect for each in outcomes)
    parts = [f"{effect} {counts[effect]}" for effect in EFFECTS if counts[effect]]
    return f"of {len(outcomes)} events: {', '.join(parts)}"


@dataclass(frozen=True, kw_only=True)
class Subject:
    """name      such as "topic orders".
    settings  fields of a `Configuration`. Those that are left out have Kafka's defaults.
    origins   where a setting comes from, by field, such as "topic" or "--acks"; those without are assumed.
    unknown   fields that could not be read, with all values that they may have.
    events    names of those that concern it.
    notes     sentences about it.
    keys      Kafka's name of the setting of a field, where it is another one than usually.
    scope     whose settings these are, such as "brokers" or "topic orders".
    """

    name: str
    settings: Mapping[str, Any]
    origins: Mapping[str, str] = field(default_factory=dict)
    unknown: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    events: tuple[str, ...] = tuple(EVENTS)
    notes: tuple[str, ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict)
    scope: str = "topic"

    @property
    def configuration(self) -> Configuration:
        """With the first value of each unknown setting."""
        return next(self.possible())[1]

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Where an unknown setting decides, the effect is unknown; the reason says which value has which effect."""
        return tuple(self._outcome(event) for event in self.events)

    def possible(self) -> Iterator[tuple[dict[str, Any], Configuration]]:
        for values in product(*self.unknown.values()):
            chosen = dict(zip(self.unknown, values, strict=True))
            yield chosen, Configuration(**self.settings, **chosen)

    def _outcome(self, event: str) -> Outcome:
        found = [(chosen, outcome(configuration, event)) for chosen, configuration in self.possible()]
        effects = {each.effect for _, each in found}
        if len(effects) == 1:
            return found[0][1]
        return Outcome(event=event, effect="unknown", why=(self._dependence(found),))

    def _dependence(self, found: list[tuple[dict[str, Any], Outcome]]) -> str:
        """Names only the settings that make a difference."""
        deciding = [name for name in self.unknown if _decides(name, found)]
        by_effect: dict[Effect, list[str]] = {}
        for chosen, each in found:
            text = ", ".join(f"{NAMES[name]}={value_text(name, chosen[name])}" for name in deciding)
            by_effect.setdefault(each.effect, []).append(text)
        parts = [f"{effect} with {' or '.join(dict.fromkeys(texts))}" for effect, texts in by_effect.items()]
        return f"it depends on {' and '.join(NAMES[name] for name in deciding)}: {'; '.join(parts)}"


def _decides(name: str, found: list[tuple[dict[str, Any], Outcome]]) -> bool:
    """Whether two combinations that differ only in this setting have different effects."""
    effects: dict[tuple[tuple[str, Any], ...], set[Effect]] = {}
    for chosen, each in found:
        others = tuple(sorted((key, str(value)) for key, value in chosen.items() if key != name))
        effects.setdefault(others, set()).add(each.effect)
    return any(len(each) > 1 for each in effects.values())


def junit_xml(report: Report) -> str:
    """A loss is a failure. What is not known is skipped, and what could not be read or is out of sync is an error."""
    suites = ElementTree.Element("testsuites")
    for judged in report.judged:
        effects = [each.effect for each in judged.outcomes]
        suite = ElementTree.SubElement(
            suites,
            "testsuite",
            name=f"kafkacheck audit: {judged.subject.name}",
            tests=str(len(effects)),
            failures=str(effects.count("loses")),
            skipped=str(effects.count("unknown")),
            errors="0",
        )
        for each in judged.outcomes:
            _add_case(suite, judged.subject.name, each)
    errors = [(problem.tried, str(problem)) for problem in report.problems]
    errors += [("replicas in sync", text) for text in report.out_of_sync]
    if errors:
        number = str(len(errors))
        suite = ElementTree.SubElement(
            suites, "testsuite", name="kafkacheck audit: reading the cluster", tests=number, errors=number
        )
        for tried, message in errors:
            case = ElementTree.SubElement(suite, "testcase", classname="reading", name=tried)
            ElementTree.SubElement(case, "error", message=message)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _add_case(suite: ElementTree.Element, subject: str, outcome: Outcome) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname=subject, name=outcome.event)
    why = "; ".join(outcome.why)
    if outcome.effect == "loses":
        failure = ElementTree.SubElement(case, "failure", message=f"loses: {why}")
        failure.text = "\n".join(
            [
                EVENTS[outcome.event].what,
                *(f"set {mend.setting}; cost: {mend.cost}" for mend in outcome.mends),
                *(f"source: {source}" for source in outcome.sources),
            ]
        )
    elif outcome.effect == "unknown":
        ElementTree.SubElement(case, "skipped", message=why)
    elif outcome.effect == "unavailable":
        ElementTree.SubElement(case, "system-out").text = f"unavailable until {outcome.until}: {why}"
