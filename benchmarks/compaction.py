"""How fast compaction is, compared with a plain copy of the same rows in the same run.

  .venv/bin/python benchmarks/compaction.py [--records 10000000] [--rounds 3] [--hot] [--json]

Segments are made once, as the processes of a run leave them (some 200 bytes per record), and are in the page cache
when a measurement begins. Each measurement is a process of its own; compactions and copies alternate.

compact  as at the end of a run: sort, join, divide into buckets, fill in the previous offsets
copy     write the rows of the segments, without the invocations of sends, into one Parquet file with the same options

A record is a row of the finished table. There are two bars, for the fastest round on a machine without other load:
  speed   records per second; at least 1,000,000 on two cores
  size    bytes of the Parquet files per record; at most 12
The ratio compact / copy is the cost of the order. The ratio of processor seconds is disturbed least by other
processes.

Needs nothing but the project, and about 0.4 KB of disk per record in the folder for temporary files (TMPDIR).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from benchmarks.histories import Shape, write_segments
from workloads.history.compaction.compact import MEMORY, compact
from workloads.history.compaction.sorting import chunks
from workloads.history.parquet import write
from workloads.history.schema import RECORDS
from workloads.history.segments import batches, segments

SPEED, SIZE = 1_000_000, 12.0
CALL = "from benchmarks.compaction import measured; measured({way!r}, {run!r})"


@dataclass(frozen=True)
class Measure:
    """Wall-clock and processor seconds; bytes of the files; peak bytes of memory, and bytes after the imports
    (`before`)."""

    records: int
    wall: float
    cpu: float
    size: int
    peak: int
    before: int


def copy(run: Path) -> None:
    """Write the rows of all segments, in their order, into ``<run>/history/records``."""
    read = (batch for path in segments(run / "history", "records") for batch in batches(path, RECORDS))
    rows = (table.filter(pc.not_equal(table["type"], "invoke")) for table in chunks(read, memory=MEMORY))
    place = run / "history" / "records"
    place.mkdir()
    write(place / "part-0.parquet", rows, RECORDS)


def measured(way: str, run: str) -> None:
    """Print a `Measure` of this process as JSON."""
    for path in segments(Path(run) / "history", "records"):
        with path.open("rb", buffering=0) as file:
            while file.read(1 << 20):
                pass
    before = _resident("VmRSS")
    used, began = time.process_time(), time.monotonic()
    if way == "compact":
        compact(Path(run))
    else:
        copy(Path(run))
    wall, cpu = time.monotonic() - began, time.process_time() - used
    files = list((Path(run) / "history" / "records").iterdir())
    rows = sum(pq.read_metadata(file).num_rows for file in files)
    size = sum(file.stat().st_size for file in files)
    print(json.dumps(asdict(Measure(rows, wall, cpu, size, _resident("VmHWM"), before))))


def _resident(name: str) -> int:
    # Not getrusage: its maximum may be that of the parent process.
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) << 10


def measure(way: str, source: Path) -> Measure:
    """Measure in a new process. It gets hard links to the segments, because compaction removes them."""
    with tempfile.TemporaryDirectory(dir=source.parent) as scratch:
        place = Path(scratch) / "history" / "segments"
        place.mkdir(parents=True)
        for path in (source / "history" / "segments").iterdir():
            os.link(path, place / path.name)
        done = subprocess.run(
            [sys.executable, "-c", CALL.format(way=way, run=scratch)],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])},
        )
    return Measure(**json.loads(done.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--hot", action="store_true", help="one log has nine tenths of all records")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found: dict[str, list[Measure]] = {"compact": [], "copy": []}
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "source"
        write_segments(Shape(records=options.records, hot=options.hot), source)
        for _ in range(options.rounds):
            for way, of in found.items():
                of.append(measure(way, source))
    if options.json:
        print(json.dumps({way: [asdict(each) for each in of] for way, of in found.items()}, indent=2))
        return
    report(found)


def report(found: dict[str, list[Measure]]) -> None:
    best = {way: min(of, key=lambda each: each.wall) for way, of in found.items()}
    least = {way: min(each.cpu for each in of) for way, of in found.items()}
    table = Table("", "records/s", "records per CPU s", "bytes per record", "peak MB", "seconds", box=None)
    for way, each in best.items():
        table.add_row(
            way,
            f"{each.records / each.wall:,.0f}",
            f"{each.records / least[way]:,.0f}",
            f"{each.size / each.records:.2f}",
            f"{max(one.peak for one in found[way]) >> 20} ({each.before >> 20} before)",
            ", ".join(f"{one.wall:.2f}" for one in found[way]),
        )
    Console(width=140).print(table)
    mine, plain = best["compact"], best["copy"]
    assert mine.records == plain.records, "compaction and copy wrote different numbers of rows"
    print(f"{mine.records:,} records; ratio {mine.wall / plain.wall:.2f} of wall-clock time,", end=" ")
    print(f"{least['compact'] / least['copy']:.2f} of processor time")
    for name, figure, bar, held in (
        ("speed", mine.records / mine.wall, SPEED, mine.records / mine.wall >= SPEED),
        ("size", mine.size / mine.records, SIZE, mine.size / mine.records <= SIZE),
    ):
        print(f"{name} {figure:,.2f} (bar {bar:,}): {'held' if held else 'missed'}")


if __name__ == "__main__":
    main()
