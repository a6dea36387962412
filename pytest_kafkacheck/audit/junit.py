"""An audit as JUnit's XML, for continuous integration: each event of a subject is a test case."""

from __future__ import annotations

from xml.etree import ElementTree

from pytest_kafkacheck.audit.events import EVENTS
from pytest_kafkacheck.audit.outcome import Outcome
from pytest_kafkacheck.audit.report import Report


def junit_xml(report: Report) -> str:
    """A loss is a failure. What is not known is skipped, and what could not be read is an error."""
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
    if report.problems:
        number = str(len(report.problems))
        suite = ElementTree.SubElement(
            suites, "testsuite", name="kafkacheck audit: reading the cluster", tests=number, errors=number
        )
        for problem in report.problems:
            case = ElementTree.SubElement(suite, "testcase", classname="reading", name=problem.tried)
            ElementTree.SubElement(case, "error", message=str(problem))
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
