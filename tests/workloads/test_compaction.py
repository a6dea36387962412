"""Compaction of large histories: the same rows for every way of cutting them, within a limit of memory."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from histories import Shape, write_compacted, write_segments

from workloads.history.compaction import compact as compact_module
from workloads.history.compaction import sorting
from workloads.history.compaction.compact import compact
from workloads.history.compaction.sorting import in_order
from workloads.history.parquet import bucket, file_name
from workloads.history.segments import segment, segments
from workloads.history.writer import Writer

PROJECT = Path(__file__).parents[2]

KEYS = ["partition", "process", "f", "assignment", "index"]
SHAPE = Shape(records=60_000, logs=4, planted=2)


def rows(run: Path) -> pa.Table:
    files = sorted((run / "history" / "records").iterdir())
    return in_order(pa.concat_tables(pq.ParquetFile(file).read() for file in files), KEYS).combine_chunks()


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> pa.Table:
    """Written by the generator, without sorting, joining or spilling."""
    run = tmp_path_factory.mktemp("expected")
    write_compacted(SHAPE, run)
    return rows(run)


COMPACTED = """
import sys
from pathlib import Path
from workloads.history.compaction.compact import compact
print(compact(Path(sys.argv[1]), large=int(sys.argv[2]))["records"])
"""


@pytest.mark.parametrize("large", [0, 1 << 60])
def test_several_compactions_at_once_lose_nothing(tmp_path: Path, expected: pa.Table, large: int) -> None:
    run = tmp_path / "run"
    write_segments(SHAPE, run)
    call = [sys.executable, "-c", COMPACTED, str(run), str(large)]
    calls = [subprocess.Popen(call, cwd=PROJECT, stdout=subprocess.PIPE) for _ in range(3)]
    outputs = [call.communicate(timeout=60)[0] for call in calls]
    assert [call.returncode for call in calls] == [0, 0, 0]
    assert set(outputs) == {b"%d\n" % len(expected)}
    assert rows(run) == expected


def test_a_folder_that_cannot_be_locked_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As on NFS, which tests do not have."""

    def refused(*_: object) -> None:
        raise OSError(9, "Bad file descriptor")

    monkeypatch.setattr("fcntl.flock", refused)
    assert compact(tmp_path)["records"] == 0
    assert f"{tmp_path / 'history'} cannot be locked (Bad file descriptor)" in caplog.text


@pytest.mark.parametrize(
    ("memory", "large"), [(1 << 30, 1 << 60), (1 << 30, 0), (700_000, 0), (700_000, 1 << 60)]
)
def test_the_compacted_rows_are_those_that_were_recorded(
    tmp_path: Path, expected: pa.Table, memory: int, large: int
) -> None:
    """Also tests the generator of the benchmarks: its sends are distinct, and both of its outputs are equal."""
    write_segments(SHAPE, tmp_path)
    compact(tmp_path, memory=memory, large=large)
    found = rows(tmp_path)
    assert found.equals(expected)
    sends = found.filter(pc.equal(found["f"], "send"))
    assert pc.count_distinct(sends["op"]).as_py() == len(sends) == sum(map(SHAPE.sends, range(4))) > 29_000
    names = {each.name for each in (tmp_path / "history" / "records").iterdir()}
    logs = {file_name(bucket("synthetic", "orders", log), 32) for log in range(4)}
    assert names == ({"part-0.parquet"} if large else logs)


@pytest.mark.parametrize("step", ["read", "sorted", "spilled", "merged", "encoded"])
@pytest.mark.parametrize(
    "failure", [pytest.param(OSError("disk is full"), marks=pytest.mark.nightly), KeyboardInterrupt()]
)
def test_a_failure_in_any_step_is_raised_and_leaves_no_thread_and_no_partial_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: pa.Table, step: str, failure: BaseException
) -> None:
    """The steps run concurrently. The second call of one step fails while others are running."""
    write_segments(SHAPE, tmp_path)
    steps: dict[str, tuple[Any, str]] = {
        "read": (compact_module, "with_bucket"),
        "sorted": (sorting, "_packed"),
        "spilled": (sorting.Runs, "add"),
        "merged": (compact_module, "joined"),
        "encoded": (pq.ParquetWriter, "write_table"),
    }
    owner, name = steps[step]
    original, calls = getattr(owner, name), count(1)

    def fails(*args: Any, **kwargs: Any) -> Any:
        if next(calls) == 2:
            raise failure
        return original(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, fails)
        patch.setattr(sorting, "PIECES", 1000)
        with pytest.raises(type(failure)) as raised:
            compact(tmp_path, memory=700_000, large=0)
    assert raised.value is failure
    assert raised.traceback[-1].name == "fails"
    assert [each.name for each in threading.enumerate() if each.name.startswith("prefetch")] == []
    assert not (tmp_path / "history" / "records").exists()
    assert not list((tmp_path / "history").glob("*/spill"))
    compact(tmp_path, memory=700_000, large=0)
    assert rows(tmp_path).equals(expected)


def test_files_do_not_depend_on_how_rows_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for name, memory, pieces in (("whole", 1 << 30, 1), ("few", 3_000_000, 2), ("many", 300_000, 1000)):
        monkeypatch.setattr(sorting, "PIECES", pieces)
        write_segments(SHAPE, tmp_path / name)
        compact(tmp_path / name, memory=memory, large=0)
        files = sorted((tmp_path / name / "history" / "records").iterdir())
        found.append({file.name: pq.ParquetFile(file).read() for file in files})
    assert found[0] == found[1] == found[2]


LIMITED = """
import resource, sys
from pathlib import Path
import pyarrow as pa, pyarrow.compute, pyarrow.parquet
from workloads.history.compaction.compact import compact
pa.set_cpu_count(1)
pa.set_io_thread_count(1)
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
limit = used + int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
print(compact(Path(sys.argv[1]), memory=int(sys.argv[3]), large=0)["records"])
"""


def limited(run: Path, *, limit: int, memory: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LIMITED, str(run), str(limit), str(memory)],
        capture_output=True,
        text=True,
        env=os.environ
        | {"PYTHONPATH": str(PROJECT), "ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"},
    )


@pytest.mark.nightly
def test_a_history_several_times_larger_than_memory(tmp_path: Path) -> None:
    # The work itself takes up to 124 MB; a thread that begins while another one ends takes 8 MB for its stack.
    limit = 144 << 20
    write_segments(Shape(records=2_000_000), tmp_path)
    size = sum(path.stat().st_size for path in segments(tmp_path / "history", "records"))
    assert size > 2.5 * limit
    # The limit is effective: with all rows in memory the process fails.
    refused = limited(tmp_path, limit=limit, memory=1 << 40)
    assert refused.returncode != 0, "the limit has no effect"
    done = limited(tmp_path, limit=limit, memory=8 << 20)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 1_900_000


def row(index: int) -> dict[str, Any]:
    known = {"run": "r", "op": index, "index": index, "process": 1, "f": "poll", "type": "ok", "invoked": 1}
    known |= {"completed": 2, "topic": "t", "partition": 0, "offset": index, "assignment": 1}
    return known


def test_segments_are_sealed_by_size_and_by_age(tmp_path: Path) -> None:
    now = [0.0]
    writer = Writer(tmp_path, "records", 1, segment_bytes=20_000, segment_age=20, clock=lambda: now[0])

    def sealed() -> list[Path]:
        return segments(tmp_path, "records", sealed=True)

    writer.append(**row(0))
    writer.flush()
    assert sealed() == []
    now[0] = 20.0
    writer.flush()
    assert sealed() == [segment(tmp_path, "records", 1, 0)]
    now[0] = 100.0
    writer.flush()
    assert len(segments(tmp_path, "records")) == 1, "without rows no segment is begun"
    for index in range(1, 400):
        writer.append(**row(index))
    writer.flush()
    assert len(sealed()) == 2
    writer.append(**row(400))
    writer.close()
    assert len(sealed()) == 3 == len(segments(tmp_path, "records"))
    assert sorted((tmp_path / "segments").glob("*.open.arrows")) == []
    compact_home = tmp_path / "run"
    (compact_home / "history").mkdir(parents=True)
    (tmp_path / "segments").rename(compact_home / "history" / "segments")
    assert compact(compact_home)["records"] == 401
