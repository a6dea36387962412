"""Many runs on a standalone Spark cluster of separate JVMs: what stages do, what is shuffled, and how it scales.

  .venv/bin/python benchmarks/standalone.py [--runs 25 64] [--records 100000] [--workers 4] [--than-one]
                                            [--conf KEY=VALUE ...] [--json]

Starts a master and so many workers of one core each, judges so many runs of so many records in one call, and reads
Spark's own log of events:

tasks of one   stages with a single task that are not the last of their statement: one core works, the others wait
rows of one    the most rows that such a stage reads: a table with a row for each log does no harm
shuffled       bytes written for other tasks, per record: flat if nothing grows with the number of runs
read           bytes of files, per record
cpu            µs of all executors, per record
driver         processor seconds of the driver and of Python, per run
collected      bytes of results that tasks sent to the driver, per run

--than-one judges the largest number of runs with one worker, too. On a machine with two cores, four workers cannot be
four times as fast as one: the ratio is printed beside the number of cores. Each figure is printed when it is known.

Executors have a heap of 512 MB, the parallel collector, and Java's own compilers.

Needs Java, and some 600 MB of memory for each worker.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

from benchmarks.histories import Shape, write_compacted
from benchmarks.prerequisites import require_java
from tests.support.standalone import executor_settings, standalone

PLANTED = 4
"""Of each anomaly, in one run of eight."""

EXECUTOR = {"spark.executor.extraJavaOptions": "-XX:+UseParallelGC"}


def write_runs(folder: Path, number: int, records: int) -> list[Path]:
    runs = []
    for i in range(number):
        run = folder / f"run-{i:05}"
        shape = Shape(records=records, run=run.name, logs=4, planted=PLANTED if i % 8 == 0 else 0)
        write_compacted(shape, run)
        runs.append(run)
    return runs


def judge(master: str, conf: dict[str, str], runs: list[Path], records: int) -> dict[str, Any]:
    """In this process: seconds of two verdicts (in the first one Java compiles), processor seconds of the driver per
    run and the beginning (ms since 1970) of the second one, and counts by run and anomaly."""
    from analyzers.judge.analyze import analyze
    from analyzers.spark.session import fit, spark_session

    spark = spark_session(master=master, conf=conf, size="large", heap="1g")
    fit(spark, records * len(runs), conf=conf)
    seconds, driver = [], []
    for _ in range(2):
        since = time.time() * 1000
        began, used = time.monotonic(), _processor_seconds()
        verdicts = analyze(spark, runs, strict=True)
        seconds.append(time.monotonic() - began)
        driver.append(_processor_seconds() - used)
    spark.stop()
    counts = {run: {each.anomaly: each.count for each in one.findings} for run, one in verdicts.items()}
    return {
        "first": seconds[0],
        "second": seconds[1],
        "driver": driver[1] / len(runs),
        "since": since,
        "counts": counts,
    }


def _processor_seconds() -> float:
    """Of this process and of its JVM, the driver."""
    here = psutil.Process()
    times = [each.cpu_times() for each in (here, *here.children())]
    return sum(each.user + each.system for each in times)


def measures(log: Path, since: float, runs: int, records: int) -> dict[str, Any]:
    """Of the jobs in a log of events that began at `since` (ms since 1970) or later."""
    lines = (json.loads(line) for file in sorted(log.glob("*")) for line in file.open())
    return of_events(lines, since, runs, records)


def of_events(events: Iterable[dict[str, Any]], since: float, runs: int, records: int) -> dict[str, Any]:
    stages_of: dict[str, set[int]] = defaultdict(set)
    jobs = 0
    tasks: dict[int, int] = {}
    sums: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for event in events:
        if event["Event"] == "SparkListenerJobStart":
            if event["Submission Time"] >= since:
                # An adaptive statement is several jobs, which have the number of its execution in common.
                statement = event["Properties"].get("spark.sql.execution.id", f"job {event['Job ID']}")
                stages_of[statement] |= {stage["Stage ID"] for stage in event["Stage Infos"]}
                jobs += 1
        elif event["Event"] == "SparkListenerStageCompleted":
            tasks[event["Stage Info"]["Stage ID"]] = event["Stage Info"]["Number of Tasks"]
        elif event["Event"] == "SparkListenerTaskEnd" and (of_task := event.get("Task Metrics")):
            of_stage = sums[event["Stage ID"]]
            of_stage["shuffled"] += of_task["Shuffle Write Metrics"]["Shuffle Bytes Written"]
            of_stage["read"] += of_task["Input Metrics"]["Bytes Read"]
            of_stage["cpu"] += of_task["Executor CPU Time"]
            of_stage["collected"] += of_task["Result Size"]
            of_stage["rows"] += of_task["Input Metrics"]["Records Read"]
            of_stage["rows"] += of_task["Shuffle Read Metrics"]["Total Records Read"]
    # A stage whose output an earlier job left behind is skipped, and does not complete.
    done = [sorted(stage for stage in of if stage in tasks) for of in stages_of.values()]
    single = [stage for of in done for stage in of[:-1] if tasks[stage] == 1]
    stages = {stage for of in done for stage in of}
    total = {
        what: sum(sums[stage][what] for stage in stages) for what in ("shuffled", "read", "cpu", "collected")
    }
    rows = runs * records
    return {
        "statements": len(stages_of),
        "jobs": jobs,
        "stages": len(stages),
        "tasks": sum(tasks[stage] for stage in stages),
        "tasks of one": len(single),
        "rows of one": max((sums[stage]["rows"] for stage in single), default=0),
        "shuffled": total["shuffled"] / rows,
        "read": total["read"] / rows,
        "cpu": total["cpu"] / 1000 / rows,
        "collected": total["collected"] / runs,
    }


def measure(
    folder: Path, runs: list[Path], records: int, workers: int, conf: dict[str, str]
) -> dict[str, Any]:
    """In a new process, whose log of events is read afterwards."""
    with tempfile.TemporaryDirectory(dir=folder) as place, standalone(Path(place), workers=workers) as master:
        log = Path(place) / "events"
        log.mkdir()
        settings = {
            **executor_settings(workers),
            **EXECUTOR,
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": log.as_uri(),
            "spark.eventLog.compress": "false",
            "spark.eventLog.rolling.enabled": "false",
            **conf,
        }
        call = {"master": master, "conf": settings, "runs": [str(run) for run in runs], "records": records}
        answer = subprocess.run(
            [sys.executable, __file__, "--judge"], input=json.dumps(call), text=True, check=True,
            stdout=subprocess.PIPE, cwd=place, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip
        judged = json.loads(answer.stdout.splitlines()[-1])
        expected = {
            run.name: Shape(records=records, planted=0 if i % 8 else PLANTED).expected()
            for i, run in enumerate(runs)
        }
        assert judged.pop("counts") == expected, "the runs were not judged as they were planted"
        of_second = measures(log, judged.pop("since"), len(runs), records)
        return {"runs": len(runs), "workers": workers, **judged, **of_second}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, nargs="+", default=[25, 64])
    parser.add_argument("--records", type=int, default=100_000, help="of each run; default: %(default)s")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--than-one", action="store_true")
    parser.add_argument("--conf", nargs="+", default=[], metavar="KEY=VALUE")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--judge", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.judge:
        call = json.load(sys.stdin)
        runs = [Path(run) for run in call["runs"]]
        print(json.dumps(judge(call["master"], call["conf"], runs, call["records"])))
        return
    require_java()
    conf = dict(each.split("=", 1) for each in options.conf)
    with tempfile.TemporaryDirectory() as scratch:
        runs = write_runs(Path(scratch) / "runs", max(options.runs), options.records)
        workers = [(number, options.workers) for number in options.runs]
        if options.than_one:
            workers.append((max(options.runs), 1))
        found = []
        for number, some in workers:
            found.append(measure(Path(scratch), runs[:number], options.records, some, conf))
            print(json.dumps(found[-1]), file=sys.stderr, flush=True)
    if options.json:
        print(json.dumps(found, indent=2))
        return
    table = Table(f"{os.cpu_count()} cores", *(f"{each['runs']} runs, {each['workers']}" for each in found))
    for what in ("first", "second", *list(found[0])[4:]):
        table.add_row(what, *(f"{each[what]:,.2f}".removesuffix(".00") for each in found))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
