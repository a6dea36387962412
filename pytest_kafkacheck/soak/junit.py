"""A soak as JUnit's XML, for continuous integration: each round is a test case."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from pytest_kafkacheck.soak.markdown import titled
from pytest_kafkacheck.soak.round import Round


def junit_xml(rounds: Sequence[Round], *, name: str) -> str:
    """An invalid round is a failure, an unknown one is skipped."""
    results = [each.result for each in rounds]
    suite = ElementTree.Element(
        "testsuite",
        name=f"kafkacheck soak: {name}",
        tests=str(len(rounds)),
        failures=str(results.count("invalid")),
        skipped=str(results.count("unknown")),
        errors="0",
        time=f"{sum(each.seconds for each in rounds):.1f}",
    )
    for each in sorted(rounds, key=lambda each: each.number):
        _add_case(suite, each)
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _add_case(suite: ElementTree.Element, each: Round) -> None:
    case = ElementTree.SubElement(
        suite,
        "testcase",
        classname=f"{each.workload} on Kafka {each.version}",
        name=f"round {each.number}",
        time=f"{each.seconds:.1f}",
    )
    if each.result == "invalid":
        failure = ElementTree.SubElement(case, "failure", message=each.headline)
        lines = [
            line
            for cause, shown in each.causes.items()
            for line in (titled(cause, shown.anomalies), shown.why, shown.change)
        ]
        failure.text = "\n".join(filter(None, [*lines, each.path, each.shrunk]))
    elif each.result == "unknown":
        ElementTree.SubElement(case, "skipped", message="; ".join(each.unknowns) or each.headline)
