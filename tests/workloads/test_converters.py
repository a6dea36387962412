"""Logs of other harnesses become histories as JSON lines."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from workloads.history.lines.imports import import_lines

CHAOS = Path(__file__).parents[2] / "examples" / "converters" / "chaos_log.py"

RW_SUBSCRIBE = """\
0	1000000	started	node	producing
1	10	started	node	consuming
0	10	constructing
0	10	constructed
0	10	send	2	7
1	10	constructing
1	10	constructed
0	10	ok	40
1	10	poll
1	5	log	assign	2
0	5	send	2	8
1	10	ok
1	1	read	2	40	node	7
1	1	commit	2	41
1	8	ok
1	1	seen	7	100
0	10	err	1
-1	10	event	injected
0	10	constructing
0	10	constructed
0	10	send	1	9
1	10	poll
1	10	err	2
1	10	constructing
1	10	constructed
1	10	poll
1	10	ok
1	1	read	2	41	node	8
1	1	read	1	3	node	9
"""

READS_WRITES = """\
0	2000000	started	node	producer
0	1	constructing
0	1	constructed
0	1	msg	1
0	9	ok	5	1
0	1	delta	-3
0	1	msg	2
0	9	time
0	1	msg	3
"""


def converted(tmp_path: Path, log: str) -> tuple[list[dict[str, Any]], list[Any], list[Any]]:
    """The sends and the polls in the tables, after those in the file."""
    (tmp_path / "workload.log").write_text(log)
    command = [sys.executable, str(CHAOS), str(tmp_path / "workload.log")]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    (tmp_path / "history.jsonl").write_text(text)
    import_lines(tmp_path / "history.jsonl", tmp_path / "home")
    rows = pq.read_table(tmp_path / "home" / "history" / "records").to_pylist()
    of = ("type", "partition", "offset", "invoked", "completed")
    sends = [tuple(row[name] for name in of) for row in rows if row["f"] == "send"]
    polls = [
        (row["process"], row["assignment"], row["partition"], row["offset"])
        for row in rows
        if row["f"] == "poll"
    ]
    return [json.loads(line) for line in text.splitlines()], sorted(sends, key=str), sorted(polls)


def test_a_log_of_rw_subscribe(tmp_path: Path) -> None:
    """The second client of the reader is another process, and the send without an end is of unknown outcome."""
    lines, sends, polls = converted(tmp_path, RW_SUBSCRIBE)
    assert sends == [
        ("info", 1, None, 1_000_161_000, None),
        ("info", 2, None, 1_000_090_000, 1_000_121_000),
        ("ok", 2, 40, 1_000_040_000, 1_000_070_000),
    ]
    assert [each[1:] for each in polls] == [(0, 2, 40), (1, 1, 3), (1, 2, 41)]
    assert len({process for process, *_ in polls}) == 2
    first, *_ = [line for line in lines if line.get("f") == "poll"]
    assert (first["invoked"], first["completed"], first["session"]) == (1_000_080, 1_000_100, "1")


def test_a_log_of_reads_writes(tmp_path: Path) -> None:
    _, sends, polls = converted(tmp_path, READS_WRITES)
    assert sends == [
        ("info", 0, None, 2_000_014_000, 2_000_023_000),
        ("info", 0, None, 2_000_024_000, None),
        ("ok", 0, 5, 2_000_003_000, 2_000_012_000),
    ]
    assert not polls
