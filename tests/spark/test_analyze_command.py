"""``kafkacheck analyze`` on histories on disk: several runs in one call, damaged input, crashes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pytest_kafkacheck.cli import main as cli
from tests.support.analyzed_runs import ONE, Runs, analyzed, good, lost
from workloads.history.schema import HARNESS, RECORDS
from workloads.history.writer import Writer, segment

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_of_tests")]


def unread(s: Any) -> Any:
    return s.send(ONE, 0).poll(ONE, 0)


def rewrite(folder: Path, change: Callable[[pa.Table], pa.Table], table: str = "records") -> Path:
    file = folder / "history" / table / "0.parquet"
    pq.write_table(change(pq.read_table(file)), file)
    return file


def with_cell(column: str, row: int, value: Any) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        cells = table[column].to_pylist()
        cells[row] = value
        position = table.schema.get_field_index(column)
        return table.set_column(position, column, pa.array(cells, table.schema.field(column).type))

    return change


def test_one_verdict_for_each_run(runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Runs by folder, name and URI. The exit status is that of the worst run, and counts are exact."""
    place = runs({"good": good, "lost": lost, "unread": unread})
    uri = (place / "good").as_uri()
    status, entries = analyzed(tmp_path, str(place), uri, str(place / "lost"), "--examples", "2")
    assert status == cli.NOT_AS_EXPECTED
    assert {name: entry["valid"] for name, entry in entries.items()} == {
        "good": True,
        "lost": False,
        "unread": "unknown",
    }
    assert entries["good"] == {
        "file": str(place / "good"),
        "run": "good",
        "valid": True,
        "error-types": [],
        "bad-error-types": [],
        "errors": {},
        "unknowns": [],
        "causes": [],
    }
    assert (entries["lost"]["error-types"], entries["lost"]["bad-error-types"]) == (["lost-write"],) * 2
    found = entries["lost"]["errors"]["lost-write"]
    assert (found["count"], [each["offset"] for each in found["examples"]]) == (3, [0, 1])
    (cause,) = entries["lost"]["causes"]
    assert (cause["kind"], cause["findings"]) == ("unknown", {"lost-write": 3}), "nothing was observed"
    assert "there was no final read" in entries["unread"]["unknowns"][0]
    assert "3 runs: 1 invalid, 1 unknown, 1 valid" in capsys.readouterr().out


def test_a_run_and_its_copy_are_judged_separately(runs: Runs, write: Any, story: Any, tmp_path: Path) -> None:
    """Judged together, each record would count twice."""
    place = runs({"good": good})
    write(place / "copy", {"good": good(story())})
    status, entries = analyzed(tmp_path, str(place))
    assert (status, {name: entry["valid"] for name, entry in entries.items()}) == (
        cli.AS_EXPECTED,
        {"good": True, "copy": True},
    )


def truncate(folder: Path) -> Path:
    file = folder / "history" / "records" / "0.parquet"
    file.write_bytes(file.read_bytes()[:-20])
    return file


def empty(folder: Path) -> Path:
    file = folder / "history" / "operations" / "0.parquet"
    file.write_bytes(b"")
    return file


def foreign(folder: Path) -> Path:
    return rewrite(folder, lambda _: pa.table({"fruit": ["apple"]}))


def older(folder: Path) -> Path:
    return rewrite(folder, lambda table: table.drop_columns(["key", "transaction"]))


def other_format(folder: Path) -> Path:
    file = folder / "history" / "format.json"
    file.write_text('{"format": 1}')
    return file


def wrong_type(folder: Path) -> Path:
    def change(table: pa.Table) -> pa.Table:
        position = table.schema.get_field_index("offset")
        return table.set_column(position, "offset", table["offset"].cast(pa.string()))

    return rewrite(folder, change)


def wrong_word(folder: Path) -> Path:
    return rewrite(folder, with_cell("type", 2, "maybe"))


def null(folder: Path) -> Path:
    return rewrite(folder, with_cell("topic", 1, None))


def negative(folder: Path) -> Path:
    return rewrite(folder, with_cell("offset", 3, -7))


def backwards(folder: Path) -> Path:
    return rewrite(folder, with_cell("completed", 1, 3))


def rows_backwards(folder: Path) -> Path:
    rewrite(folder, with_cell("completed", 1, 0))
    return rewrite(folder, with_cell("invoked", 1, 0))


def malformed_fault(folder: Path) -> Path:
    def change(table: pa.Table) -> pa.Table:
        value = '{"event": "e", "stage": "inject", "target": "1", "nodes": "1", "effective": true}'
        row = {
            "run": folder.name,
            "op": 1,
            "process": -1,
            "f": "kill",
            "type": "info",
            "invoked": 1,
            "completed": 2,
        }
        more = pa.Table.from_pylist([row | {"value": value}], schema=table.schema)
        return pa.concat_tables([table, more])

    return rewrite(folder, change, "operations")


def phase_is_not_json(folder: Path) -> Path:
    def change(table: pa.Table) -> pa.Table:
        row = {"run": folder.name, "op": 1, "process": HARNESS, "f": "phase", "type": "ok", "invoked": 1}
        return pa.concat_tables([pa.Table.from_pylist([row | {"value": "end"}], schema=table.schema), table])

    return rewrite(folder, change, "operations")


BAD: dict[Callable[[Path], Path], str] = {
    truncate: "is truncated, or not a Parquet file",
    empty: "is empty",
    foreign: "is not a table of a history: its columns are fruit",
    older: "lacks the columns key, transaction of records: another version wrote it",
    other_format: "history format 1; this kafkacheck reads format 2",
    wrong_type: "column offset is string, expected int64",
    wrong_word: "row 2: type: expected ok or fail or info, got 'maybe'",
    null: "row 1: topic is null",
    negative: "row 3: offset is negative, got -7",
    backwards: "row 1: completed at 3 ns, before it was invoked at 11 ns",
    rows_backwards: "row 1: process 1 goes back in time: invoked at 0 ns, after the row before it at 1 ns",
    malformed_fault: "row 1: operation 1 of the nemesis (kill): its value",
    phase_is_not_json: "row 0: value 'end' is not JSON",
}


def test_a_bad_file_is_named_with_row_and_reason_and_the_others_are_judged(
    runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = runs(dict.fromkeys(("a", *(damage.__name__ for damage in BAD)), good) | {"z": lost})
    files = {damage: damage(place / damage.__name__) for damage in BAD}
    status, entries = analyzed(tmp_path, str(place))
    assert status == cli.NOT_AS_EXPECTED
    assert (entries["a"]["valid"], entries["z"]["valid"]) == (True, False)
    complaints = capsys.readouterr().err.splitlines()
    for damage, reason in BAD.items():
        (why,) = entries[damage.__name__]["unknowns"]
        assert entries[damage.__name__]["valid"] == "unknown"
        assert f"{files[damage]}" in why
        assert reason in why
        assert any(str(files[damage]) in line and reason in line for line in complaints), damage


def test_damage_that_only_spark_detects_does_not_affect_other_runs(runs: Runs, tmp_path: Path) -> None:
    """A damaged page, which validation does not read, in a file with an intact footer."""
    place = runs({"a": good, "damaged": good, "z": lost})
    file = place / "damaged" / "history" / "records" / "0.parquet"
    metadata = pq.read_metadata(file).row_group(0)
    (column,) = (
        metadata.column(i)
        for i in range(metadata.num_columns)
        if metadata.column(i).path_in_schema == "topic"
    )
    begin = column.dictionary_page_offset
    data = bytearray(file.read_bytes())
    data[begin : begin + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    file.write_bytes(data)
    status, entries = analyzed(tmp_path, str(place))
    assert status == cli.NOT_AS_EXPECTED
    assert [entries[run]["valid"] for run in ("a", "damaged", "z")] == [True, "unknown", False]
    assert "0.parquet" in entries["damaged"]["unknowns"][0]


@pytest.mark.parametrize("kept", [0.4, 1.0])
def test_a_cut_segment_makes_the_run_unknown(story: Any, tmp_path: Path, kept: float) -> None:
    """A finding that the remaining rows prove still counts: here a loss that the complete final read shows."""
    home = tmp_path / "cut"
    for table, rows in lost(story()).rows("cut").items():
        for process in {row["process"] for row in rows}:
            writer = Writer(home / "history", table, process)
            for row in rows:
                if row["process"] == process:
                    writer.append(**row)
                    writer.flush()
            writer.close()
    spare = Writer(home / "history", "records", 50)
    spare.append(run="cut")
    spare.close()
    file = segment(home / "history", "records", 50)
    data = file.read_bytes()
    file.write_bytes(data[:-8] if kept < 1 else data[: len(RECORDS.serialize())])
    status, entries = analyzed(tmp_path, str(home))
    assert (status, entries["cut"]["valid"]) == (cli.NOT_AS_EXPECTED, False)
    reasons = [why for why in entries["cut"]["unknowns"] if "records-50-0 end within a batch" in why]
    assert len(reasons) == (kept < 1)


def test_paths_that_are_not_runs_are_refused(
    runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("x")
    nothing = tmp_path / "nothing"
    uri = (runs({"good": good}) / "good").as_uri()
    for path, message in (
        (tmp_path / "notes.txt", "nor a history as JSON lines, which is named FILE.jsonl"),
        (nothing, "no such file or folder"),
    ):
        assert cli.main(["analyze", str(path)]) == cli.USAGE
        assert message in capsys.readouterr().err
    status, entries = analyzed(tmp_path, str(nothing), uri)
    assert (status, entries["good"]["valid"], entries["nothing"]["valid"]) == (cli.UNKNOWN, True, "unknown")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--allow", "lost-wriet"], "--allow: no anomaly named lost-wriet"),
        (["--examples", "-1"], "--examples -1: expected 0 or more"),
        (["--json", "nowhere/out.json"], "its folder does not exist"),
    ],
)
def test_wrong_options_are_refused(
    runs: Runs, capsys: pytest.CaptureFixture[str], option: list[str], message: str
) -> None:
    assert cli.main(["analyze", str(runs({"good": good})), *option]) == cli.USAGE
    assert message in capsys.readouterr().err
