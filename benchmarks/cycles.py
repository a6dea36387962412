"""How the time of the search for cycles grows with the number of transactions.

  .venv/bin/python benchmarks/cycles.py [--transactions 100000] [--rounds 3] [--before CHECKOUT]

Eight producers write transactions that overlap, each with a record in two of eight logs. So the logs have many of
them in another order than that of their ends. Ten times the transactions are searched in turn in the same session
(`local[2]`, 2 GB of heap): they may take 12 times the time, and Python 2 GB of memory. Medians of all rounds but the
first. --before measures the code of another checkout as well, which must find the same.

Needs Java, and ``pip install duckdb==2.0.0``, which makes the histories.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from checkouts import measured_by, processor_seconds  # of this folder: the checkout may have no such module
from rich.console import Console
from rich.table import Table

from benchmarks.made_history import MadeHistory, write_made
from benchmarks.prerequisites import require_java, require_package
from workloads.history.schema import VALUE_BITS

LOGS, PRODUCERS = 8, 8
BAR, MEMORY_BAR = 12.0, 2 << 30
SPACING = 1_000
"""ns from the beginning of one transaction to that of the next one, which is of another producer."""

# Transaction t sends two records, each at a time of its own between its beginning and its end.
TABLES = f"""
create table txn as
  select t, t % {PRODUCERS} as producer, t // {PRODUCERS} as nth, t * {SPACING} as begins,
    begins + 2000 + (hash(t) % 5900)::bigint as ends
  from range($transactions) r(t);
create table sent as
  select t, producer, nth * 2 + i as nth, begins + 100 + (hash(t * 2 + i) % 1800)::bigint as sent, ends,
    (hash(t) % {LOGS} + i * (1 + hash(t // 7) % {LOGS - 1})) % {LOGS} as log
  from txn cross join range(2) r(i);
create table placed as
  select *, row_number() over (partition by log order by sent, t) - 1 as "offset",
    producer::bigint << {VALUE_BITS} | nth as value
  from sent;
"""

RECORDS_OF = """
select 'send' as f, value as op, producer as process, nth as index, 'ok' as type, sent as invoked, ends as completed,
  "offset", value, t + (1::bigint << 45) as transaction, 0 as assignment, false as final, null as committed
from placed where log = $partition
order by process, index
"""

OPERATIONS_OF = """
select 'txn' as f, t + (1::bigint << 45) as op, producer as process, 'ok' as type, begins as invoked,
  ends as completed, null as partition, null as start_offset, null as end_offset, null as "group",
  format('{{"transactional_id": "id-{}", "epoch": 0, "outcome": "commit", "ending": {}}}', producer, ends - 100)
    as value
from txn
"""


def make(transactions: int, run: Path) -> Path:
    write_made(
        MadeHistory(
            topic="accounts",
            logs=[("accounts", log) for log in range(LOGS)],
            tables=TABLES,
            records=RECORDS_OF,
            operations=OPERATIONS_OF,
            observations="select null::bigint as time where false",
            parameters={"transactions": transactions},
        ),
        run,
    )
    return run


def measure(folder: Path, rounds: int) -> dict[str, dict[str, Any]]:
    """Of each history in the folder: seconds, processor seconds (`cpu`), the peak of Python's memory (bytes) until
    then, and the number of cycles by anomaly."""
    from analyzers.history.load import load, release
    from analyzers.history.sources import sources
    from analyzers.judge.cycles import find_cycles
    from analyzers.spark.session import fit, spark_session

    spark = spark_session(size="large", heap="2g", master="local[2]")
    results: dict[str, dict[str, Any]] = {}
    for name in ("few", "many"):
        walls, cpus = [], []
        for _ in range(rounds + 1):
            used, began = processor_seconds(), time.monotonic()
            fit(spark, 10_000_000)
            history = load(spark, sources(spark, [folder / name]))
            found, unsearched = find_cycles(history, examples=8)
            release(spark, history)
            walls.append(time.monotonic() - began)
            cpus.append(processor_seconds() - used)
            assert not unsearched, unsearched
        results[name] = {
            "s": statistics.median(walls[1:]),
            "cpu": statistics.median(cpus[1:]),
            "peak": _peak(),
            "found": {one.anomaly: one.count for one in found},
        }
    return results


def _peak() -> int:
    """Bytes, of this process."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) << 10


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--transactions", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--before", type=Path, metavar="CHECKOUT")
    parser.add_argument("--measure", type=Path, metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.rounds)))
        return
    require_java()
    require_package("duckdb", version="2.0.0", purpose="To make the histories")
    checkouts = {"now": Path(__file__).resolve().parents[1]}
    if options.before:
        checkouts = {"before": options.before.resolve(), **checkouts}
    with tempfile.TemporaryDirectory() as scratch:
        for name, times in (("few", 1), ("many", 10)):
            make(options.transactions * times, Path(scratch) / name)
        results = {
            name: measured_by(checkout, __file__, "--measure", scratch, "--rounds", str(options.rounds))[1]
            for name, checkout in checkouts.items()
        }
    found = [{name: of["found"] for name, of in each.items()} for each in results.values()]
    assert all(each == found[0] for each in found), f"the checkouts differ in what they find: {found}"
    table = Table(
        "code", f"{options.transactions:,}, s", "ten times, s", f"ratio (bar {BAR:g})", "ratio of cpu",
        f"peak, MB (bar {MEMORY_BAR >> 20:,})", box=None,
    )  # fmt: skip
    for name, each in results.items():
        few, many = each["few"], each["many"]
        table.add_row(
            name, f"{few['s']:.2f}", f"{many['s']:.2f}", f"{many['s'] / few['s']:.1f}",
            f"{many['cpu'] / few['cpu']:.1f}", f"{many['peak'] >> 20:,}",
        )  # fmt: skip
    console = Console(width=140)
    console.print(table)
    console.print("cycles found:", found[0])


if __name__ == "__main__":
    main()
