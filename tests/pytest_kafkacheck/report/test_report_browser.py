"""Reports in a real Chromium: nothing fails, axe finds nothing, and clicks show what they promise."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_kafkacheck.report.write import write_comparison, write_report
from tests.support.chromium import chromium
from tests.support.report_runs import RECORDED, unclean

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [
    # Playwright's objects are closed by its own loop, after pytest looked for what was left open.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    home = unclean(folder / "unclean")
    return {
        "report": write_report(home),
        "group": write_report(RECORDED / "stale_member", folder / "group.html"),
        "comparison": write_comparison([home, RECORDED / "acks_one"], folder / "comparison.html"),
    }


@pytest.fixture
def opened(browser: Browser, files: dict[str, Path]) -> Iterator[Any]:
    """Opens a page, which must ask for nothing else, and must not fail."""
    contexts, problems = [], []

    def open_page(name: str, fragment: str = "", **options: Any) -> Page:
        context = browser.new_context(viewport={"width": 1300, "height": 900}, offline=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on(
            "request", lambda request: problems.append(request.url) if "file:" not in request.url else None
        )
        page.goto(f"{files[name].as_uri()}{fragment}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("report", "light"),
        *(
            pytest.param(name, scheme, marks=pytest.mark.nightly)
            for name, scheme in product(("report", "group", "comparison"), ("light", "dark"))
            if (name, scheme) != ("report", "light")
        ),
    ],
)
def test_axe_finds_nothing(opened: Any, name: str, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = opened(name, color_scheme=scheme)
    if name == "report":
        page.locator(".timeline .row.chart .plot").first.click(position={"x": 300, "y": 40})
        page.wait_for_selector(".moment table")
    found = axe.Axe().run(page).response["violations"]
    assert [(each["id"], [node["html"][:120] for node in each["nodes"]][:3]) for each in found] == []


def test_a_click_on_a_finding_shows_its_life(opened: Any) -> None:
    page = opened("report")
    # As a finding is that did not decide the result: within another part that is closed.
    page.locator("#finding-lost-write-3").evaluate(
        """each => {
            each.open = false;
            const others = document.createElement("details"), section = each.closest("section");
            section.replaceWith(others);
            others.append(section);
        }"""
    )
    page.locator('a.mark[href="#finding-lost-write-3"]').dispatch_event("click")
    page.wait_for_selector("#finding-lost-write-3[open].chosen")
    assert page.locator("#finding-lost-write-3").get_by_text("cuts its log from 258 to 128").is_visible()


def test_a_click_on_a_moment_shows_its_state_and_can_be_linked_to(opened: Any) -> None:
    page = opened("report")
    page.locator(".timeline .row.chart .plot").first.click(position={"x": 150, "y": 40})
    panel = page.locator(".moment")
    page.wait_for_selector(".moment table")
    assert "leads in epoch" in panel.inner_text()
    fragment = page.evaluate("location.hash")
    text = panel.inner_text()
    assert (
        opened("report", fragment).locator(".moment").inner_text().splitlines()[:3] == text.splitlines()[:3]
    )


@pytest.mark.nightly
def test_a_time_of_the_story_is_a_link_into_the_time_line(opened: Any) -> None:
    page = opened("report")
    page.locator(".story a.time").first.click()
    page.wait_for_selector(".cursor:not([hidden])")
    assert page.locator(".moment strong").first.inner_text() == "At 5.800 s"


def test_drag_zooms_all_lanes_together(opened: Any) -> None:
    page = opened("report")
    plot = page.locator(".timeline .axis .plot").bounding_box()
    y = page.locator(".timeline .row .plot").nth(2).bounding_box()["y"] + 8
    page.mouse.move(plot["x"] + plot["width"] / 4, y)
    page.mouse.down()
    page.mouse.move(plot["x"] + plot["width"] / 2, y)
    page.mouse.up()
    whole = float(page.locator(".timeline").get_attribute("data-span"))
    boxes = set(
        page.locator("svg.drawing").evaluate_all("all => all.map((each) => each.getAttribute('viewBox'))")
    )
    (box,) = boxes
    begin, _, span, _ = map(float, box.split())
    assert begin == pytest.approx(whole / 4, rel=0.01)
    assert span == pytest.approx(whole / 4, rel=0.01)
    page.get_by_text("whole run").click()
    assert page.locator("svg.drawing").first.get_attribute("viewBox") == f"0 0 {whole:g} 100"


def test_filters_hide_what_was_not_chosen_and_draw_the_charts_again(opened: Any) -> None:
    page = opened("group")
    sends = page.locator('svg[data-chart="sends"] path').first
    before = sends.get_attribute("d")
    page.wait_for_function("document.querySelector('.controls select')")
    page.locator("select[name=log]").select_option("work-1c39754f-1")
    page.wait_for_function(
        f"document.querySelector('svg[data-chart=sends] path').getAttribute('d') != {before!r}"
    )
    assert page.get_by_role("heading", name="work-1c39754f-1: leader and ISR").is_visible()
    assert not page.get_by_role("heading", name="work-1c39754f-0: leader and ISR").is_visible()
    page.locator("select[name=process]").select_option("2")
    assert page.locator('[data-process="2"]').first.is_visible()
    assert not page.locator('[data-process="1"]').first.is_visible()
    assert "log=work-1c39754f-1" in page.evaluate("location.hash")


@pytest.mark.nightly
def test_without_javascript_everything_but_the_controls_is_there(opened: Any) -> None:
    page = opened("report", java_script_enabled=False)
    story = page.locator(".story")
    assert story.get_by_text("unclean.leader.election.enable=true lets a replica lead").is_visible()
    assert page.get_by_text("leads, epoch 1").first.is_visible()
    assert page.locator('svg[data-chart="sends"]').is_visible()
    assert not page.locator(".controls").is_visible()


@pytest.mark.nightly
def test_a_narrow_window_needs_no_sideways_scrolling(opened: Any) -> None:
    page = opened("report", screen={"width": 420, "height": 800})
    page.set_viewport_size({"width": 420, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 420


@pytest.mark.nightly
def test_a_printed_report_has_the_lanes_and_the_lives_and_no_controls(opened: Any, tmp_path: Path) -> None:
    page = opened("report")
    page.emulate_media(media="print")
    assert not page.locator(".controls").is_visible()
    assert page.locator("#finding-lost-write-2 table").is_visible()
    pdf = page.pdf(path=str(tmp_path / "report.pdf"), print_background=True)
    assert pdf.startswith(b"%PDF")
