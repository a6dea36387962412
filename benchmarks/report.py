"""How long a report takes to make and to open, and how large it is.

  .venv/bin/python benchmarks/report.py [RUN...] [--sends 1000000]

Without RUN, a run of so many sends is made: 600 s, 12 partitions, two readers and a final read, so four times as many
records. Opening is measured in a Chromium that is installed on this machine: from the start of the navigation to the
load event, of the second time. The bars, on two cores without other load: 2 s and 5 MB for a million sends.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pytest_kafkacheck.report.write import write_report
from tests.support.chromium import chromium
from tests.support.large_run import large_run

OPENED = "performance.getEntriesByType('navigation')[0].loadEventEnd"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("runs", nargs="*", metavar="RUN")
    parser.add_argument("--sends", type=int, default=1_000_000)
    options = parser.parse_args()
    table = Table("run", "make (s)", "size (MB)", "open (s)", box=None)
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        homes = [Path(each) for each in options.runs]
        if not homes:
            homes = [large_run(Path(folder) / f"{options.sends} sends", sends=options.sends, seconds=600)]
        for home in homes:
            out = Path(folder) / "report.html"
            begin = time.perf_counter()
            write_report(home, out)
            made = time.perf_counter() - begin
            page = browser.new_page()
            for _ in range(2):
                page.goto(out.as_uri())
            opened = page.evaluate(OPENED) / 1000
            table.add_row(home.name, f"{made:.1f}", f"{out.stat().st_size / 1e6:.2f}", f"{opened:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
