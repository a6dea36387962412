"""The history survives the death of its writers, and compaction neither adds nor loses rows."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.repetitions import repetitions
from workloads.history import row_copy
from workloads.history.compaction import compact as compaction
from workloads.history.compaction.compact import compact
from workloads.history.compaction.sorting import Runs
from workloads.history.schema import FORMAT, OBSERVATIONS, OPERATIONS, RECORDS, TABLES
from workloads.history.segments import read, segment, segments
from workloads.history.writer import Writer

Columns = dict[str, Any]


def record(**values: Any) -> Columns:
    return {
        "run": "r", "op": 0, "index": 0, "process": 0, "f": "send", "type": "ok", "invoked": 1,
        "completed": 2, "topic": "t", "partition": 0, "assignment": 0, "final": False,
    } | values  # fmt: skip


def write(history: Path, process: int, *rows: Columns, table: str = "records") -> Path:
    writer = Writer(history, table, process)
    for row in rows:
        writer.append(**row)
    writer.close()
    return segment(history, table, process)


def stored(run: Path, table: str = "records") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (
        pq.ParquetFile(run / "history" / table / "part-0.parquet").read().to_pylist()
    )
    return found


@pytest.mark.parametrize(
    ("lacking", "is_read"),
    [
        (["value", "replicas", "connection"], True),
        (["replicas", "connection"], True),
        (["asked"], False),
    ],
)
def test_a_segment_may_lack_only_columns_that_were_added_later(
    tmp_path: Path, lacking: list[str], is_read: bool
) -> None:
    row = {"run": "r", "process": 5, "time": 1, "node": 1, "kind": "quorum", "asked": 1}
    path = write(tmp_path, 5, row, table="observations")
    older = read(path, OBSERVATIONS).drop_columns(lacking)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, older.schema) as stream:
        stream.write_table(older)
    if is_read:
        assert read(path, OBSERVATIONS).to_pylist() == [
            dict.fromkeys(OBSERVATIONS.names) | row,
        ]
    else:
        with pytest.raises(ValueError, match="schema"):
            read(path, OBSERVATIONS)


def test_rows_come_back_as_they_were_written(tmp_path: Path) -> None:
    observation = {
        "run": "r", "process": 5, "time": 123, "node": 1, "kind": "partition", "topic": "orders", "partition": 0,
        "leader": 2, "leader_epoch": 7, "isr": [1, 2], "log_start": 0, "high_watermark": 10, "log_end": None,
        "last_stable": 9, "asked": 120, "value": '{"state": "Stable"}', "replicas": [2, 1],
        "connection": 0,
    }  # fmt: skip
    path = write(tmp_path, 5, observation, table="observations")
    assert read(path, OBSERVATIONS).to_pylist() == [observation]


@pytest.mark.parametrize("table", TABLES)
def test_columns_that_are_not_given_are_null(tmp_path: Path, table: str) -> None:
    path = write(tmp_path, 1, {"run": "r"}, {"process": 7}, table=table)
    nulls = dict.fromkeys(TABLES[table].names)
    assert read(path, TABLES[table]).to_pylist() == [nulls | {"run": "r"}, nulls | {"process": 7}]


def test_a_row_with_an_unknown_column_is_refused(tmp_path: Path) -> None:
    writer = Writer(tmp_path, "records", 1)
    with pytest.raises(
        ValueError, match=r"the table records has no column 'ofset'; its columns are run, op, index, .*offset"
    ):
        writer.append(run="r", ofset=1)
    with pytest.raises(ValueError, match="no column 'ofset', 'ops'"):
        writer.extend(2, {"run": "r"}, {"ops": [1, 2], "ofset": [3, 4]})
    with pytest.raises(ValueError, match="column op: 1 values for 2 rows"):
        writer.extend(2, {"run": "r"}, {"op": [1]})
    writer.close()
    assert read(segment(tmp_path, "records", 1), RECORDS).num_rows == 0


def test_a_process_number_is_used_once(tmp_path: Path) -> None:
    write(tmp_path, 1)
    with pytest.raises(FileExistsError):
        Writer(tmp_path, "records", 1)


def test_a_segment_of_another_schema_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, 1)
    with pytest.raises(ValueError, match="schema"):
        read(path, OPERATIONS)


def test_rows_are_flushed_by_number_and_by_age(tmp_path: Path) -> None:
    now = [0.0]
    writer = Writer(tmp_path, "records", 1, rows=3, age=10, clock=lambda: now[0])
    path = segment(tmp_path, "records", 1, sealed=False)

    def on_disk() -> int:
        return read(path, RECORDS).num_rows

    writer.append(**record())
    writer.append(**record())
    assert on_disk() == 0
    writer.append(**record())
    assert on_disk() == 3
    writer.append(**record())
    now[0] = 9.9
    assert on_disk() == 3
    now[0] = 10.0
    writer.append(**record())
    assert on_disk() == 5
    writer.append(**record())
    writer.flush()
    assert on_disk() == 6
    writer.close()
    writer.close()


def test_a_cut_at_any_byte_costs_only_the_batch_that_it_cuts(tmp_path: Path) -> None:
    writer = Writer(tmp_path, "records", 1)
    path = segment(tmp_path, "records", 1, sealed=False)
    ends = [path.stat().st_size]
    for number in range(3):
        writer.append(**record(index=number, error="text"))
        writer.flush()
        ends.append(path.stat().st_size)
    whole = path.read_bytes()
    writer.close()
    cut = tmp_path / "cut"
    step = repetitions(1, shorter=7)
    for size in sorted({*range(0, len(whole) + 1, step), *(end + near for end in ends for near in (-1, 0))}):
        cut.write_bytes(whole[:size])
        expected = sum(end <= size for end in ends[1:])
        assert read(cut, RECORDS).num_rows == expected, size


WRITE_FOREVER = """
import sys
from pathlib import Path
from workloads.history.writer import Writer
writer = Writer(Path(sys.argv[1]), "records", 7, segment_bytes=100_000)
row = {"run": "r", "op": 0, "process": 7, "f": "send", "type": "invoke", "invoked": 1, "topic": "t", "partition": 0}
number = 0
while True:
    for _ in range(50):
        writer.append(**row, index=number)
        number += 1
    writer.flush()
    print(number, flush=True)
"""


def test_flushed_rows_survive_a_sigkill(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WRITE_FOREVER, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    ) as process:
        assert process.stdout is not None
        flushed = 0
        while flushed < 5000:
            flushed = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read().splitlines()
    if rest:
        flushed = int(rest[-1])
    # The last segment stays open, unless the process was killed between sealing one and opening the next.
    paths = segments(tmp_path, "records")
    assert len(paths) > 1
    assert segments(tmp_path, "records", sealed=True) in (paths, paths[:-1])
    table = pa.concat_tables(read(path, RECORDS) for path in paths)
    assert table.num_rows >= flushed
    assert table["index"].to_pylist() == list(range(table.num_rows))


def test_a_send_has_one_row_with_its_completion_or_as_info(tmp_path: Path) -> None:
    write(
        tmp_path / "history",
        0,
        record(op=1, index=0, type="invoke", completed=None, value=1),
        record(op=2, index=1, type="invoke", completed=None, value=2),
        record(op=3, index=2, type="invoke", completed=None, value=3),
        record(op=2, index=1, type="fail", value=2, error="NotEnoughReplicasError"),
        record(op=1, index=0, type="ok", value=1, offset=10),
    )
    assert compact(tmp_path) == {"records": 3, "operations": 0, "observations": 0}
    assert [(row["op"], row["type"], row["completed"], row["offset"]) for row in stored(tmp_path)] == [
        (1, "ok", 2, 10),
        (2, "fail", 2, None),
        (3, "info", None, None),
    ]


def test_a_poll_with_the_number_of_a_send_does_not_complete_it(tmp_path: Path) -> None:
    write(
        tmp_path / "history",
        0,
        record(op=1, index=0, type="invoke", completed=None),
        record(op=1, index=1, f="poll", offset=4),
    )
    compact(tmp_path)
    assert sorted((row["f"], row["type"]) for row in stored(tmp_path)) == [("poll", "ok"), ("send", "info")]


def test_compaction_keeps_every_table_and_writes_its_format(tmp_path: Path) -> None:
    history = tmp_path / "history"
    write(history, 3, record(process=3))
    write(
        history,
        -1,
        {
            "run": "r",
            "op": -5,
            "process": -1,
            "f": "kill",
            "type": "info",
            "invoked": 3,
            "completed": 4,
            "value": "{}",
        },
        table="operations",
    )
    write(
        history,
        5,
        {"run": "r", "process": 5, "time": 1, "node": 1, "kind": "quorum", "leader": 2, "leader_epoch": 7},
        table="observations",
    )
    assert compact(tmp_path) == {"records": 1, "operations": 1, "observations": 1}
    assert json.loads((history / "format.json").read_text()) == {
        "format": FORMAT, "rows": {table: {"part-0.parquet": 1} for table in TABLES},
    }  # fmt: skip
    assert stored(tmp_path, "operations")[0]["f"] == "kill"
    assert stored(tmp_path, "observations")[0]["leader"] == 2
    for table, schema in TABLES.items():
        assert pq.read_schema(history / table / "part-0.parquet").equals(schema)


def test_compaction_is_idempotent(tmp_path: Path) -> None:
    write(tmp_path / "history", 0, record(op=1), record(op=2, index=1))
    first = compact(tmp_path)
    rows = stored(tmp_path)
    assert not (tmp_path / "history" / "segments").exists()
    assert compact(tmp_path) == first
    assert stored(tmp_path) == rows


def test_what_went_missing_after_compaction_is_not_made_anew(tmp_path: Path) -> None:
    write(tmp_path / "history", 0, record(op=1))
    first = compact(tmp_path)
    shutil.rmtree(tmp_path / "history" / "records")
    (tmp_path / "history" / "operations" / "part-0.parquet").write_bytes(b"PAR1")
    assert compact(tmp_path) == first
    assert not (tmp_path / "history" / "records").exists()


@pytest.mark.parametrize("rows", [[1], {"records": [1]}, {"records": {"1.parquet": None}}, None])
def test_a_list_of_files_that_is_none_is_left_to_validation(tmp_path: Path, rows: Any) -> None:
    compact(tmp_path)
    (tmp_path / "history" / "format.json").write_text(json.dumps({"format": FORMAT, "rows": rows}))
    assert compact(tmp_path) == {"records": 0, "operations": 0, "observations": 0}


def test_a_run_that_recorded_nothing_gets_empty_tables(tmp_path: Path) -> None:
    assert compact(tmp_path) == {"records": 0, "operations": 0, "observations": 0}
    for table, schema in TABLES.items():
        assert pq.read_schema(tmp_path / "history" / table / "part-0.parquet").equals(schema)


def test_finished_tables_are_left_unchanged(tmp_path: Path) -> None:
    folder = tmp_path / "history" / "records"
    folder.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist([{"run": "r"}], schema=RECORDS), folder / "mine.parquet")
    assert compact(tmp_path)["records"] == 1
    assert [each.name for each in folder.iterdir()] == ["mine.parquet"]


def test_a_run_directory_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="does not exist"):
        compact(tmp_path / "absent")


def test_a_history_of_another_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "history").mkdir()
    (tmp_path / "history" / "format.json").write_text('{"format": 99}')
    with pytest.raises(ValueError, match="format 99"):
        compact(tmp_path)


@pytest.mark.parametrize("fatal", range(1, 11))
def test_an_interrupted_compaction_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fatal: int
) -> None:
    history = tmp_path / "history"
    for process in range(3):
        write(history, process, record(op=process, process=process))
    steps = count(1)

    def interrupted(step: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            if next(steps) == fatal:
                raise KeyboardInterrupt
            return step(*args, **kwargs)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(pq.ParquetWriter, "write_table", interrupted(pq.ParquetWriter.write_table))
        patch.setattr(Runs, "add", interrupted(Runs.add))
        patch.setattr(os, "replace", interrupted(os.replace))
        patch.setattr(Path, "rename", interrupted(Path.rename))
        # The last step is interrupted in the middle: half of the folder is removed.
        rmtree = compaction.shutil.rmtree

        def remove_half(path: Path, **_: bool) -> None:
            if path.is_dir():
                next(path.iterdir()).unlink()
                if next(steps) == fatal:
                    raise KeyboardInterrupt
                rmtree(path)

        patch.setattr(compaction.shutil, "rmtree", remove_half)
        with pytest.raises(KeyboardInterrupt):
            compact(tmp_path, memory=1)
    assert compact(tmp_path)["records"] == 3
    assert [row["op"] for row in stored(tmp_path)] == [0, 1, 2]
    assert sorted(each.name for each in history.iterdir()) == sorted(["format.json", row_copy.NAME, *TABLES])
