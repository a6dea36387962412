"""What validation lets pass and what it does not, where files, batches and runs meet. No JVM."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analyzers.history import validate
from analyzers.history.validate import BadHistory, run_ids
from workloads.history.compaction.compact import compact
from workloads.history.schema import RECORDS

ROW = {"op": 1, "f": "poll", "type": "ok", "topic": "t", "partition": 0, "offset": 0, "process": 1}


def rows(*times: tuple[str, int, int, int]) -> list[dict[str, Any]]:
    """Of run, process, index and when it was invoked; each takes 5 ns."""
    return [
        ROW | {"run": run, "process": process, "index": index, "invoked": at, "completed": at + 5}
        for run, process, index, at in times
    ]


def history(home: Path, rows: list[dict[str, Any]], **options: Any) -> Path:
    folder = home / "history" / "records"
    folder.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=RECORDS), folder / "0.parquet", **options)
    return home


ORDERLY = rows(
    ("a", 1, 0, 10), ("a", 1, 4, 10), ("a", 1, 9, 12),
    ("a", 1, 1, 11), ("a", 1, 2, 12),  # another log of the same process begins
    ("a", 2, 3, 5), ("a", 2, 4, 6),
    ("b", 2, 5, 1), ("b", 2, 6, 2),  # the same number in another run is another process
)  # fmt: skip


@pytest.mark.parametrize("batch", [1, 2, 3, 100])
@pytest.mark.parametrize("options", [{}, {"row_group_size": 2}, {"write_statistics": False}])
def test_processes_are_ordered_independently(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int, options: dict[str, Any]
) -> None:
    monkeypatch.setattr(validate, "BATCH", batch)
    assert run_ids(history(tmp_path, ORDERLY, **options)) == {"a", "b"}


@pytest.mark.parametrize("batch", [1, 2, 3, 100])
@pytest.mark.parametrize("row", [1, 2, 4, 6, 8])
def test_a_row_that_goes_back_in_time_is_named_at_any_batch_boundary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int, row: int
) -> None:
    monkeypatch.setattr(validate, "BATCH", batch)
    rows = [dict(each) for each in ORDERLY]
    rows[row] |= {"invoked": 0}
    with pytest.raises(BadHistory, match=rf"0\.parquet, row {row}: process \d goes back in time"):
        run_ids(history(tmp_path, rows))


@pytest.mark.parametrize("options", [{}, {"row_group_size": 2}, {"write_statistics": False}])
@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ({"op": None}, "op is null"),
        ({"offset": -1}, "offset is negative, got -1"),
        ({"completed": 1}, "completed at 1 ns, before it was invoked at"),
        ({"f": "read"}, "f: expected send or poll, got 'read'"),
        ({"type": "invoke"}, "type: expected ok or fail or info, got 'invoke'"),
    ],
)
def test_an_invalid_value_is_named(
    tmp_path: Path, options: dict[str, Any], cell: dict[str, Any], said: str
) -> None:
    rows = [dict(each) for each in ORDERLY]
    rows[5] |= cell
    with pytest.raises(BadHistory, match=rf"0\.parquet, row 5: {said}") as raised:
        run_ids(history(tmp_path, rows, **options))
    assert (raised.value.row, raised.value.file.name) == (5, "0.parquet")


def test_offsets_and_completions_may_be_unknown(tmp_path: Path) -> None:
    """A send that never completed may have been written down before those in front of it were under way."""
    rows = [each | {"offset": None} for each in ORDERLY]
    rows[4] |= {"invoked": 1, "completed": None}
    assert run_ids(history(tmp_path, rows)) == {"a", "b"}


def test_a_missing_or_replaced_file_is_named(tmp_path: Path) -> None:
    home = history(tmp_path, ORDERLY)
    folder = home / "history" / "records"
    pq.write_table(pa.Table.from_pylist(rows(("c", 1, 0, 10)), schema=RECORDS), folder / "1.parquet")
    compact(home)
    assert run_ids(home) == {"a", "b", "c"}
    (folder / "1.parquet").rename(tmp_path / "aside")
    with pytest.raises(BadHistory, match=r"records/1\.parquet: is missing; compaction wrote 1 rows into it"):
        run_ids(home)
    (folder / "1.parquet").write_bytes((folder / "0.parquet").read_bytes())
    with pytest.raises(BadHistory, match=r"records/1\.parquet: holds 9 rows, but compaction wrote 1"):
        run_ids(home)
    for text in ('{"format": 2, "rows": [1]}', '{"format": 2, "rows": {"records": {"1.parquet": null}}}'):
        (home / "history" / "format.json").write_text(text)
        with pytest.raises(BadHistory, match=r"format\.json: expected rows by table and file, got"):
            run_ids(home)
    for table in (home / "history").iterdir():
        if table.is_dir():
            shutil.rmtree(table)
    (home / "history" / "records").mkdir()
    with pytest.raises(BadHistory, match="holds no table of a history"):
        run_ids(home)


@pytest.mark.parametrize("damaged", ["a link to nothing", "a folder that may not be listed"])
def test_an_unreadable_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damaged: str) -> None:
    home = history(tmp_path, ORDERLY)
    folder = home / "history" / "records"
    if damaged == "a link to nothing":
        (folder / "1.parquet").symlink_to(tmp_path / "nothing")
    else:
        # Root may list any folder, so permissions do not help.
        def listed(place: Path) -> list[str]:
            raise PermissionError(13, "Permission denied", str(place))

        monkeypatch.setattr("os.listdir", listed)
    with pytest.raises(
        BadHistory, match=r"records(/1\.parquet)?: cannot be read \((No such file|Permission)"
    ):
        run_ids(home)


def test_a_table_without_rows_is_valid(tmp_path: Path) -> None:
    assert run_ids(history(tmp_path, [])) == frozenset()
