"""Scenarios as JUnit's XML, for continuous integration: each scenario is a test case."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from pytest_kafkacheck.claims.result import ScenarioResult, State

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
