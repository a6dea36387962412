"""The pages of ``kafkacheck serve`` in a real Chromium: axe finds nothing, and chosen runs are compared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from pytest_kafkacheck.serve.server import Server
from tests.support.chromium import chromium
from tests.support.kept_run import kept_run
from tests.support.report_runs import unclean

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [
    # Playwright's objects are closed by its own loop, after pytest looked for what was left open.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    kept_run(tmp_path, name="orders", result="invalid", causes=["truncation"])
    unclean(tmp_path / "one")
    unclean(tmp_path / "two")
    with Server(tmp_path, 0) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server.address
        server.shutdown()
        thread.join()


@pytest.fixture
def page() -> Iterator[Page]:
    with chromium() as browser:
        yield browser.new_page(viewport={"width": 1300, "height": 900})


def test_axe_finds_nothing_and_chosen_runs_are_compared(page: Page, address: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    for path in ("", "trend?test=orders", "missing"):
        page.goto(f"{address}{path}")
        found = axe.run(page)
        assert found.violations_count == 0, found.generate_report()
    page.goto(address)
    page.get_by_label("compare one").check()
    page.get_by_label("compare two").check()
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url("**/compare?*")
    # The address is new before the page has its title.
    pytest.importorskip("playwright.sync_api").expect(page).to_have_title("2 runs compared")
    page.goto(address)
    page.locator('a[href="/run/one"]').click()
    page.wait_for_url("**/run/one")
    assert "lost-write" in page.inner_text(".headline")
