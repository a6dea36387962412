"""Pictures of a run's report for README and docs, in light and dark: python -m tests.support.report_pictures RUN

Writes docs/images/report_light.png and report_dark.png. Needs Chromium and Playwright.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from pytest_kafkacheck.report.write import write_report
from tests.support.chromium import chromium

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
WIDTH, HEIGHT = 1200, 900


def main(run: Path) -> None:
    with TemporaryDirectory() as scratch, chromium() as browser:
        report = write_report(run, Path(scratch) / "report.html")
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme)
            page.goto(report.as_uri())
            page.screenshot(path=IMAGES / f"report_{scheme}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
