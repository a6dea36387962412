"""Several runs side by side, and report.md."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from analyzers.verdict.verdict import judge
from pytest_kafkacheck.report.comparison import compared
from pytest_kafkacheck.report.markdown import escaped, markdown
from pytest_kafkacheck.report.render import comparison
from pytest_kafkacheck.report.run_data import RunData, read_run
from tests.support.report_runs import RECORDED, planted, send, unclean


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[RunData]:
    bad = read_run(unclean(tmp_path_factory.mktemp("runs") / "unclean"))
    good = replace(read_run(RECORDED / "acks_one"), verdict=judge("ce5c4ffd", settings={"acks": "1"}))
    return [bad, good]


def test_findings_and_settings_stand_side_by_side(runs: list[RunData]) -> None:
    value = compared(runs)
    lines = {line.name: line.values for line in (*value.showed, *value.findings, *value.settings)}
    assert lines["verdict"] == ("invalid", "valid")
    assert lines["lost-write"] == ("130", "0")
    assert lines["workload.acks"] == ("all", "1")
    assert "workload.rate" not in lines
    assert {page.axis.span for page in value.runs} == {max(run.axis.span for run in runs)}


def test_the_page_has_the_lanes_of_each_run(runs: list[RunData]) -> None:
    page = comparison(runs)
    assert page.count('<div class="timeline"') == 2
    assert page.count("<h4>Sends</h4>") == 2
    assert len(page.encode()) < 400_000


def test_a_run_without_a_verdict_is_compared_as_far_as_it_goes(runs: list[RunData]) -> None:
    lines = {line.name: line.values for line in compared([runs[0], planted(records=[send(0, 1)])]).showed}
    assert lines["verdict"] == ("invalid", "–")


def test_markdown_has_the_story_in_a_fence(runs: list[RunData]) -> None:
    text = markdown(runs[0])
    assert text.startswith(
        "### ✗ invalid: 130 acknowledged writes missing from the log at the end: unclean.leader"
    )
    assert "\n- run: unclean\n- found: lost-write ×130\n" in text
    assert "\n\n```text\n   5.8 s    fault  broker 3" in text
    assert text.count("```") == 2


def test_a_fence_in_the_story_does_not_end_it() -> None:
    run = planted(records=[send(0, 1)], verdict=judge("r", unknowns=["a reason with ```` in it"]))
    lines = markdown(run).splitlines()
    assert lines.count("`````") == 1
    assert "`````text" in lines


def test_markup_is_escaped() -> None:
    assert escaped("a_b <script> | [x](y)\nz") == r"a\_b \<script\> \| \[x\](y) z"


def test_a_run_is_not_changed_by_its_report(tmp_path: Path) -> None:
    home = unclean(tmp_path / "unclean")
    before = sorted(each.name for each in home.rglob("*"))
    read_run(home)
    assert sorted(each.name for each in home.rglob("*")) == before
