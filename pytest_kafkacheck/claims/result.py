"""What one scenario gave in several tries, also as a row of a table and as JUnit's XML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Literal
from xml.etree import ElementTree

from pytest_kafkacheck.claims.claim import Figure, Outcome, Picture, Scenario

State = Literal["as documented", "not as documented", "not exercised", "error"]


@dataclass(frozen=True, kw_only=True)
class Try:
    """One showing.

    seen     the observation, or why there is none.
    seconds  without the start of the cluster.
    error    what the claim's program raised, where the outcome is "error".
    """

    outcome: Outcome
    seen: str
    seconds: float
    figures: Mapping[str, Figure] = field(default_factory=dict)
    picture: Picture | None = None
    error: Exception | None = None

    def to_json(self) -> dict[str, Any]:
        """Without the picture and the traceback."""
        return {
            "outcome": self.outcome,
            "seen": self.seen,
            "seconds": self.seconds,
            "figures": dict(self.figures),
        }


@dataclass(frozen=True)
class ScenarioResult:
    """All tries of a scenario, one or more."""

    scenario: Scenario
    tries: tuple[Try, ...]

    @property
    def state(self) -> State:
        """The worst of all tries: one is enough."""
        outcomes = {each.outcome for each in self.tries}
        if outcomes - {self.scenario.case.expected, "not exercised", "error"}:
            return "not as documented"
        if "error" in outcomes:
            return "error"
        return "not exercised" if "not exercised" in outcomes else "as documented"

    @property
    def picture(self) -> Picture | None:
        """Of the last try that ended as documented and has one."""
        expected = self.scenario.case.expected
        pictures = [each.picture for each in self.tries if each.outcome == expected and each.picture]
        return pictures[-1] if pictures else None

    def to_json(self) -> dict[str, Any]:
        claim, case = self.scenario.claim, self.scenario.case
        return {
            "id": claim.id,
            "title": claim.title,
            "claim": claim.text,
            "source": claim.source,
            "case": case.name,
            "kafka": case.cluster.version,
            "expected": case.expected,
            "why": case.why,
            "state": self.state,
            "tries": [each.to_json() for each in self.tries],
        }


def rate(tries: Sequence[Mapping[str, Any]]) -> str:
    """Such as ``confirmed 9 of 10, not exercised 1``; the most frequent outcome first. tries: as in JSON."""
    counts = Counter(each["outcome"] for each in tries).most_common()
    (first, number), *others = counts
    return ", ".join([f"{first} {number} of {len(tries)}", *(f"{name} {count}" for name, count in others)])


def figures(tries: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """By name: of numbers the median, with the least and the most where they differ; of texts all there were."""
    names = dict.fromkeys(name for each in tries for name in each["figures"])
    return {
        name: _figure([each["figures"][name] for each in tries if name in each["figures"]]) for name in names
    }


def _figure(values: Sequence[Figure]) -> str:
    numbers = [value for value in values if not isinstance(value, str)]
    if len(numbers) < len(values):
        return " / ".join(dict.fromkeys(map(str, values)))
    middle, least, most = (_text(value) for value in (median(numbers), min(numbers), max(numbers)))
    return middle if least == most else f"{middle} ({least}–{most})"


def _text(number: float) -> str:
    return (
        f"{number:,.0f}"
        if number == int(number) or abs(number) >= 100
        else f"{number:.2g}"
        if abs(number) < 0.1
        else f"{number:.1f}"
    )


HEADINGS = ("id", "scenario", "Kafka", "expected", "outcome", "figures", "s")


def row(result: Mapping[str, Any]) -> list[str]:
    """The seconds are those of the longest try."""
    tries = result["tries"]
    shown = ", ".join(f"{name} {value}" for name, value in figures(tries).items())
    return [
        result["id"],
        result["title"],
        result["case"],
        result["expected"],
        rate(tries),
        shown,
        f"{max(each['seconds'] for each in tries):.0f}",
    ]


def notes(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each scenario that did not show what is documented: what was seen instead."""
    return [
        f"{result['id']} {result['case']}: {each['outcome']}: {each['seen']}"
        for result in results
        if result["state"] != "as documented"
        for each in result["tries"]
        if each["outcome"] != result["expected"]
    ]


ELEMENTS: dict[State, str] = {
    "not as documented": "failure",
    "error": "error",
    "not exercised": "skipped",
}


def junit_xml(results: Sequence[ScenarioResult]) -> str:
    """What is not as documented is a failure, an error of a claim's program is one, and what was not exercised is
    skipped."""
    states = [each.state for each in results]
    suite = ElementTree.Element(
        "testsuite",
        name="kafkacheck scenarios",
        tests=str(len(results)),
        failures=str(states.count("not as documented")),
        errors=str(states.count("error")),
        skipped=str(states.count("not exercised")),
        time=f"{sum(map(_seconds, results)):.1f}",
    )
    for each in results:
        _add_case(suite, each)
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _add_case(suite: ElementTree.Element, result: ScenarioResult) -> None:
    claim, case = result.scenario.claim, result.scenario.case
    element = ElementTree.SubElement(
        suite,
        "testcase",
        classname=f"{claim.id} {claim.title}",
        name=case.name,
        time=f"{_seconds(result):.1f}",
    )
    if (tag := ELEMENTS.get(result.state)) is not None:
        others = [each for each in result.tries if each.outcome != case.expected]
        problem = ElementTree.SubElement(element, tag, message=others[0].seen)
        problem.text = "\n".join(f"{each.outcome}, expected {case.expected}: {each.seen}" for each in others)


def _seconds(result: ScenarioResult) -> float:
    return sum(each.seconds for each in result.tries)
