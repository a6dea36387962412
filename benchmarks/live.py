"""Whether judging a run while it goes on takes the same memory and the same time all day, at an accelerated pace.

  .venv/bin/python benchmarks/live.py [--hours 24] [--rate 100] [--window 120] [--json]

The segments of a soak of so many hours (see `soaked_day`) are written step by step, and judged in windows of `window`
seconds by the very code that judges during a run. Each hour one acknowledged write is lost, which has to be reported
once.

memory  of Python and of the JVM (resident), and of the JVM's heap in use after a collection: at the end / after the
        first tenth; bar: 1.15
time    processor time of Python and the JVM for a window: of the last tenth / of the second tenth; bar: 1.15
found   lost writes that were reported / that there are; bar: 1

It needs Java. A day at the default rate has 70 million rows of segments; the disk does not fill. For a short look:
--hours 1 --window 20.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from analyzers.spark.session import fit, spark_session
from benchmarks.prerequisites import require_java
from benchmarks.soaked_day import ERA, STEP, Day
from pytest_kafkacheck.experiment.judging import LiveJudge
from pytest_kafkacheck.experiment.run_directory import RunDirectory

FLAT = 1.15
PARTS = 10
TICKS = os.sysconf("SC_CLK_TCK")


class Session:
    """As `pytest_kafkacheck.spark.Spark` provides it."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark
        self.jvm = int(self.spark._jvm.java.lang.ProcessHandle.current().pid())

    def session(self, *, rows: int | None = None) -> Any:
        fit(self.spark, rows or 0)
        return self.spark

    def heap(self) -> int:
        """Bytes in use after a collection."""
        java = self.spark._jvm.java.lang
        java.System.gc()
        return int(java.Runtime.getRuntime().totalMemory() - java.Runtime.getRuntime().freeMemory())


def resident(process: int | str = "self") -> int:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    (line,) = (each for each in lines if each.startswith("VmRSS"))
    return int(line.split()[1]) << 10


def processor_time(jvm: int) -> float:
    """Seconds of this process and of the JVM."""
    after_name = Path(f"/proc/{jvm}/stat").read_text().rpartition(")")[2].split()
    return time.process_time() + sum(map(int, after_name[11:13])) / TICKS


def replay(
    home: Path, session: Session, *, hours: float, rate: int, window: int, lost_per: int = ERA
) -> dict[str, Any]:
    """The figures of a day, or of so many hours. Times in s, memory in bytes."""
    day, said = Day(home, rate=rate, lost_per=lost_per), list[str]()
    # However long a round takes on a busy machine, the windows stay as long as they are.
    judge = LiveJudge(home, session, say=said.append, keeps_records=True, every=hours * 3600)
    steps = round(hours * 3600 / window)
    marks = {round(steps * part / PARTS) for part in range(1, PARTS + 1)}
    spent: list[float] = []
    points = []
    for number in range(1, steps + 1):
        for _ in range(window // STEP):
            day.step()
        began = processor_time(session.jvm)
        judge.round()
        while judge._window.waits:
            judge.round()
        spent.append(processor_time(session.jvm) - began)
        day.forget()
        if number in marks:
            gc.collect()
            heap = session.heap()
            memory = {"python": resident(), "jvm": resident(session.jvm), "heap": heap}
            recent = spent[-max(1, steps // PARTS) :]
            point = {
                "hours": round(day.now / 3600, 2),
                **memory,
                "window": statistics.mean(recent),
                "rows": day.rows,
            }
            points.append(point | {"arrow": pa.total_allocated_bytes()})
            print(json.dumps(points[-1]), file=sys.stderr, flush=True)
    lines = RunDirectory(home).live.read_text().splitlines() if RunDirectory(home).live.exists() else []
    counts: dict[str, int] = {}
    for line in map(json.loads, lines):
        counts[line["anomaly"]] = counts.get(line["anomaly"], 0) + line["count"]
    found = {"found": counts, "lost": day.lost, "missed": judge._window.missed}
    return {"points": points, "windows": steps, "said": said, **found}


def ratios(figures: dict[str, Any]) -> dict[str, float]:
    points = figures["points"]
    memory = {name: points[-1][name] / points[0][name] for name in ("python", "jvm", "heap")}
    return {**memory, "time": points[-1]["window"] / points[1]["window"]}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hours", type=float, default=24)
    parser.add_argument("--rate", type=int, default=100, help="sends per second of each of two producers")
    parser.add_argument("--window", type=int, default=120, help=f"seconds, a multiple of {STEP}")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    require_java()
    with tempfile.TemporaryDirectory(prefix="kafkacheck-live-day-") as folder:
        figures = replay(
            Path(folder),
            Session(spark_session(master="local[2]", heap="1g")),
            hours=options.hours,
            rate=options.rate,
            window=options.window,
        )
    bars = ratios(figures)
    if options.json:
        print(json.dumps({**figures, "ratios": bars}))
    else:
        show(figures, bars)
    is_found = figures["found"].get("lost-write", 0) == figures["lost"]
    sys.exit(0 if is_found and all(ratio <= FLAT for ratio in bars.values()) else 1)


def show(figures: dict[str, Any], bars: dict[str, float]) -> None:
    table = Table("hours", "rows", "Python (MB)", "JVM (MB)", "heap (MB)", "window (processor s)", box=None)
    for point in figures["points"]:
        memory = (f"{point[name] / 1e6:.0f}" for name in ("python", "jvm", "heap"))
        table.add_row(f"{point['hours']:g}", f"{point['rows']:,}", *memory, f"{point['window']:.2f}")
    console = Console()
    console.print(table)
    for name, ratio in bars.items():
        console.print(f"{name}: {ratio:.2f}, bar {FLAT}")
    found = figures["found"].get("lost-write", 0)
    console.print(f"{figures['windows']} windows; {found} of {figures['lost']} lost writes reported")


if __name__ == "__main__":
    main()
