"""The window over a history that is being written: which segments it holds, and which steps are certain."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.support.segments import ManualClock, poll, record, seal, sealing_writer
from workloads.history.schema import HARNESS, RECORDS
from workloads.history.segments import segment
from workloads.history.window import Window, certain


def dated(home: Path, process: int, number: int, at: float) -> None:
    path = segment(home / "history", "records", process, number)
    os.utime(path, (at, at))


def offsets(window: Window) -> list[int]:
    return sorted(window.tables()["records"]["offset"].to_pylist())


def test_a_window_holds_the_segments_sealed_lately(tmp_path: Path) -> None:
    clock = ManualClock()
    window = Window(tmp_path / "history", span=100)
    assert not window.advance(), "the folder does not exist yet"
    writer = sealing_writer(tmp_path, clock)
    for number in range(3):
        writer.append(**poll(number, number, number))
        seal(writer, clock)
        dated(tmp_path, 5, number, 1000 + number)
        if number == 0:
            assert window.advance()
            assert offsets(window) == [0]
            assert not window.advance(), "nothing was sealed since"
    other = sealing_writer(tmp_path, clock, process=6)
    other.append(**poll(0, 7, 7, process=6))
    other.flush()
    assert window.advance()
    assert offsets(window) == [0, 1, 2], "open segments are not read"
    seal(other, clock)
    dated(tmp_path, 6, 0, 1101.5)
    assert window.advance()
    assert offsets(window) == [2, 7]
    assert window.missed == 0


def test_a_window_is_bounded_and_counts_the_segments_it_missed(tmp_path: Path) -> None:
    clock = ManualClock()
    writer = sealing_writer(tmp_path, clock)
    for number in range(4):
        writer.append(**poll(number, number, number))
        seal(writer, clock)
        dated(tmp_path, 5, number, 1000 + number)
    size = segment(tmp_path / "history", "records", 5, 3).stat().st_size
    window = Window(tmp_path / "history", limit=2 * size)
    assert window.advance()
    assert (offsets(window), window.missed) == ([2, 3], 2)
    tiny = Window(tmp_path / "history", limit=1)
    assert tiny.advance()
    assert offsets(tiny) == [3]


def test_rows_of_the_harness_stay_in_every_window_and_are_read_before_their_segment_is_sealed(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    window = Window(tmp_path / "history", span=100)
    harness = sealing_writer(tmp_path, clock, process=HARNESS, table="operations")
    client = sealing_writer(tmp_path, clock)

    def change(op: int) -> None:
        row = {"run": "r", "op": op, "process": HARNESS, "f": "topic", "type": "ok", "value": "{}"}
        harness.append(**row, invoked=op, completed=op)
        harness.flush()

    def ops() -> list[int]:
        return [row["op"] for row in window.tables()["operations"].to_pylist() if row["f"] == "topic"]

    change(-1)
    client.append(**poll(0, 0, 0))
    seal(client, clock)
    dated(tmp_path, 5, 0, 1000)
    assert window.advance()
    assert ops() == [-1]
    change(-2)  # The first segment is old enough to be sealed with this row.
    change(-3)
    assert sorted(ops()) == [-3, -2, -1]
    client.append(**poll(1, 1, 1))
    seal(client, clock)
    assert window.advance()
    assert sorted(ops()) == [-3, -2, -1], "each of them once, sealed or not"
    harness.close()


def send(index: int, offset: int | None, type: str = "ok", **more: Any) -> dict[str, Any]:
    result = {
        "invoked": index,
        "completed": None if type == "invoke" else 9,
        "offset": offset,
        "value": index,
    }
    return record(f="send", index=index, process=1, op=index, type=type, assignment=0, **result, **more)


def as_table(rows: Sequence[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=RECORDS)


def previous(*rows: dict[str, Any]) -> dict[int, int | None]:
    """By index."""
    made = certain(as_table(rows))
    assert made.schema == RECORDS
    return dict(zip(made["index"].to_pylist(), made["previous"].to_pylist(), strict=True))


def test_a_step_between_sends_is_certain_once_all_sends_between_them_completed() -> None:
    whole = [send(0, None, "invoke"), send(1, None, "invoke"), send(2, None, "invoke")]
    whole += [send(0, 5), send(2, 7), send(1, 6)]
    assert previous(*whole) == {0: None, 1: 5, 2: 6}
    assert previous(*whole[:-1]) == {0: None, 1: None, 2: None}, "1 is outstanding"
    assert previous(*whole[3:-1]) == {0: None, 2: None}, "1 began before the window"
    assert previous(*whole[:-1], send(1, None, "fail")) == {0: None, 1: 5, 2: 5}, "1 failed and has no offset"
    assert previous(*whole, poll(3, 1, 1, process=1), send(4, 8)) == {0: None, 1: 5, 2: 6, 3: None, 4: 7}


def test_a_step_between_polls_ends_with_assignment_and_generation() -> None:
    rows = [(0, 1, 1), (1, 1, 1), (2, 1, 2), (3, 1, 2), (4, 2, 2), (5, 2, 2), (6, 2, None), (7, 2, None)]
    polls = [poll(index, index, index, assignment=a, generation=g) for index, a, g in rows]
    table = certain(as_table(polls))
    made = dict(zip(table["index"].to_pylist(), table["assignment"].to_pylist(), strict=True))
    assert len({made[index] for index, _, _ in rows}) == len({(a, g) for _, a, g in rows}), (
        "no step from one to the next"
    )
    assert previous(*polls) == {0: None, 1: 0, 2: None, 3: 2, 4: None, 5: 4, 6: None, 7: 6}


def test_an_empty_window_is_a_table() -> None:
    assert len(certain(RECORDS.empty_table())) == 0
