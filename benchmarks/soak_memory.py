"""Whether the memory of a soak stays flat: it runs one, and samples its processes, Spark's live heap and its folder.

  .venv/bin/python benchmarks/soak_memory.py --dir FOLDER [--json FILE] [--samples FILE] -- --preset safe --hours 0.25

What follows ``--`` are the arguments of ``kafkacheck soak``. Each column is the median of the first, the second and
the last third of the soak; the first minute, in which Spark and the first cluster start, is left out.

soak     MB of resident memory of the process of the soak
workers  MB of its other processes: the clients of a round, in Python and Java
jvm      MB of resident memory of Spark's JVM
heap     MB of objects in Spark's JVM that are still in use, which `jcmd GC.class_histogram` counts after a full
         collection
folder   MB on disk

It needs the images of the releases that are drawn, a JDK (for jcmd), and a soak that is not there yet.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

from nemesis.tasks import wait_until

INTERVAL = 10.0
"""Seconds between two samples."""

HEAP_EVERY = 6
"""Samples between two full collections: each takes Spark a part of a second."""

START = 60.0
"""Seconds."""

SPARK = "org.apache.spark.deploy.SparkSubmit"
"""In the command line of Spark's JVM."""

THIRDS = ("first third", "second third", "last third")


def sample(process: psutil.Process, folder: Path, *, with_heap: bool) -> dict[str, float]:
    """MB by column."""
    found = {"soak": _resident(process), "workers": 0.0}
    for child in process.children(recursive=True):
        with suppress(psutil.Error):
            if SPARK in child.cmdline():
                found["jvm"] = found.get("jvm", 0.0) + _resident(child)
                if with_heap and (used := live_heap(child.pid)) is not None:
                    found["heap"] = used
            elif child.name() == "java" or child.name().startswith("python"):
                found["workers"] += _resident(child)
    found["folder"] = sum(_size(each) for each in folder.rglob("*")) / 1e6
    return found


def live_heap(pid: int) -> float | None:
    """MB of objects in use; None for a JVM that has ended."""
    done = subprocess.run(["jcmd", str(pid), "GC.class_histogram"], capture_output=True, text=True)
    total = re.search(r"^Total\s+\d+\s+(\d+)", done.stdout, re.MULTILINE)
    return None if total is None else int(total[1]) / 1e6


def _resident(process: psutil.Process) -> float:
    return float(process.memory_info().rss) / 1e6


def _size(file: Path) -> int:
    try:
        return file.stat().st_size if file.is_file() else 0
    except FileNotFoundError:  # removed by the soak meanwhile
        return 0


def sampled(process: subprocess.Popen[bytes], folder: Path, file: Path | None) -> Iterator[dict[str, float]]:
    """Until the process has ended. file: takes each as a line."""
    began, number = time.monotonic(), 0
    while not wait_until(lambda: process.poll() is not None, limit=INTERVAL):
        number += 1
        with suppress(psutil.NoSuchProcess):
            values = sample(psutil.Process(process.pid), folder, with_heap=number % HEAP_EVERY == 0)
            found = {"at": round(time.monotonic() - began, 1), **values}
            if file is not None:
                with file.open("a", encoding="utf-8") as out:
                    out.write(f"{json.dumps(found)}\n")
            yield found


def thirds(samples: list[dict[str, float]]) -> dict[str, list[float]]:
    """By column: the median of each third of the time."""
    end = samples[-1]["at"] + 0.1
    columns = dict.fromkeys(name for each in samples for name in each if name != "at")
    parts: list[list[dict[str, float]]] = [[], [], []]
    for each in samples:
        if each["at"] >= START:
            parts[int(3 * (each["at"] - START) / (end - START))].append(each)
    return {
        name: [round(median(each[name] for each in part if name in each)) for part in parts]
        for name in columns
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dir", type=Path, required=True, help="the soak's folder; empty or not there")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--samples", type=Path, help="write each sample as a line of JSON, at once")
    parser.add_argument("soak", nargs="+", metavar="ARGUMENT")
    options = parser.parse_args()
    if shutil.which("jcmd") is None:
        raise SystemExit("This benchmark cannot run: jcmd is not there; it is part of a JDK.")
    options.dir.mkdir(parents=True, exist_ok=True)
    summary = options.dir / "summary.json"
    command = [sys.executable, "-m", "pytest_kafkacheck", "soak", *options.soak]
    process = subprocess.Popen([*command, "--dir", str(options.dir), "--json", str(summary)])
    try:
        samples = list(sampled(process, options.dir, options.samples))
    finally:
        process.terminate()
        process.wait()
    shown: dict[str, Any] = {
        "arguments": " ".join(options.soak),
        "summary": json.loads(summary.read_text(encoding="utf-8")),
        "samples": len(samples),
        "memory": thirds(samples),
    }
    if options.json:
        options.json.write_text(json.dumps(shown, indent=1) + "\n", encoding="utf-8")
    table = Table("MB", *THIRDS, box=None)
    for name, values in shown["memory"].items():
        table.add_row(name, *map(str, values))
    Console(width=100).print(table)
    return process.returncode


if __name__ == "__main__":
    raise SystemExit(main())
