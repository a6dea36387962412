"""Windows of a history that is being written: which rows they hold, and which steps are certain."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from benchmarks import soaked_day
from benchmarks.soaked_day import Day
from tests.support.segments import ManualClock, poll, record, seal, sealing_writer
from workloads.history.live import lines, recent
from workloads.history.live.lines import Lines, certain
from workloads.history.live.window import LIMIT, Window
from workloads.history.schema import HARNESS, RECORDS
from workloads.history.segments import segment


def dated(home: Path, process: int, number: int, at: float) -> None:
    path = segment(home / "history", "records", process, number)
    os.utime(path, (at, at))


def offsets(window: Window) -> list[int] | None:
    tables = window.advance()
    return None if tables is None else sorted(tables["records"]["offset"].to_pylist())


def test_each_segment_is_in_one_window(tmp_path: Path) -> None:
    clock = ManualClock()
    window = Window(tmp_path / "history")
    assert offsets(window) is None, "the folder does not exist yet"
    writer = sealing_writer(tmp_path, clock)
    for number in range(3):
        writer.append(**poll(number, number, number))
        seal(writer, clock)
        assert offsets(window) == [number]
        assert offsets(window) is None, "nothing was sealed since"
    other = sealing_writer(tmp_path, clock, process=6)
    other.append(**poll(0, 7, 7, process=6))
    other.flush()
    assert offsets(window) is None, "open segments are not read"
    seal(other, clock)
    assert offsets(window) == [7]
    assert window.missed == 0


def test_earlier_rows_come_with_new_ones_of_the_same_value_or_offset_or_in_their_gaps(tmp_path: Path) -> None:
    clock = ManualClock()
    window = Window(tmp_path / "history")
    writer, other = sealing_writer(tmp_path, clock), sealing_writer(tmp_path, clock, process=6)
    for number in range(5):
        writer.append(**poll(number, number, number))
    seal(writer, clock)
    assert offsets(window) == [0, 1, 2, 3, 4]
    other.append(**poll(0, 9, 3, process=6))
    seal(other, clock)
    assert offsets(window) == [3, 9], "the same value"
    other.append(**poll(1, 2, 8, process=6))
    seal(other, clock)
    assert offsets(window) == [2, 2], "the same offset"
    other.append(**poll(2, 0, 10, process=6, assignment=2))
    other.append(**poll(3, 3, 11, process=6, assignment=2))
    seal(other, clock)
    assert offsets(window) == [0, 0, 1, 2, 2, 3, 3], "those that the step left out"
    third = sealing_writer(tmp_path, clock, process=7)
    third.append(**poll(0, 1, 20, process=7))
    seal(third, clock)
    assert offsets(window) == [1, 1, 3], "a step that leaves it out"


def test_rows_that_are_long_ago_are_forgotten_but_for_writes_that_nobody_read(tmp_path: Path) -> None:
    clock, second = ManualClock(), 1_000_000_000
    window = Window(tmp_path / "history")
    writer, other = sealing_writer(tmp_path, clock, process=1), sealing_writer(tmp_path, clock, process=6)
    for number in range(2):
        writer.append(**send(number, None, "invoke"))
        writer.append(**send(number, number))
    seal(writer, clock)
    other.append(**poll(0, 0, 0, process=6, at=2))
    seal(other, clock)
    assert offsets(window) == [0, 0, 1]
    for minutes, expected in ((4, [0, 0, 1]), (10, [0, 0, 1, 44]), (16, [1, 50])):
        other.append(
            **poll(minutes, 40 + minutes, 0, process=6, at=minutes * 60 * second, assignment=minutes)
        )
        seal(other, clock)
        assert offsets(window) == [*expected, 40 + minutes]


def test_segments_wait_for_the_next_window_and_the_oldest_are_left_out_when_too_many_wait(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    writer = sealing_writer(tmp_path, clock)
    for number in range(12):
        writer.append(**poll(number, number, number))
        seal(writer, clock)
        dated(tmp_path, 5, number, 1000 + number)
    size = segment(tmp_path / "history", "records", 5, 3).stat().st_size
    window = Window(tmp_path / "history", limit=2 * size)
    assert (offsets(window), window.missed, window.waits) == ([4, 5], 4, True)
    assert [offsets(window) for _ in range(4)] == [[6, 7], [8, 9], [10, 11], None]
    assert (window.missed, window.waits) == (4, False)
    tiny = Window(tmp_path / "history", limit=1)
    assert (offsets(tiny), tiny.missed) == ([11], 11)


def test_no_step_leads_over_segments_that_were_left_out(tmp_path: Path) -> None:
    clock = ManualClock()
    writer = sealing_writer(tmp_path, clock)
    window = Window(tmp_path / "history")
    found = []
    for number in range(4):
        writer.append(**poll(number, 10 - number, number))
        seal(writer, clock)
        if number == 2:
            continue
        window.limit = 1 if number == 3 else LIMIT
        tables = window.advance()
        assert tables is not None
        found += tables["records"]["previous"].to_pylist()
    assert (found, window.missed) == ([None, 10, None], 1)


def test_of_a_process_whose_segments_were_left_out_nothing_earlier_counts(tmp_path: Path) -> None:
    clock = ManualClock()
    writer, other = sealing_writer(tmp_path, clock), sealing_writer(tmp_path, clock, process=6)
    window = Window(tmp_path / "history")
    for number in range(2):
        writer.append(**poll(number, number, number))
        seal(writer, clock)
        dated(tmp_path, 5, number, 1000 + number)
        window.limit = 1 if number else LIMIT
        if number:
            other.append(**poll(0, 0, 0, process=6))
            seal(other, clock)
            dated(tmp_path, 6, 0, 1002)
        assert offsets(window) == [0]
    assert window.missed == 1, "that of the other process came, and not the earlier row with the same value"


def test_rows_of_the_harness_are_read_before_their_segment_is_sealed_and_those_of_topics_stay(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    window = Window(tmp_path / "history")
    harness = sealing_writer(tmp_path, clock, process=HARNESS, table="operations")
    client = sealing_writer(tmp_path, clock)
    read: list[int] = []

    def change(op: int, f: str = "topic", at: int = 1) -> None:
        row = {"run": "r", "op": op, "process": HARNESS, "f": f, "type": "ok", "value": "{}"}
        harness.append(**row, invoked=at, completed=at)
        harness.flush()

    def ops(at: int = 1) -> list[int]:
        number = len(read)
        read.append(number)
        client.append(**poll(number, number, number, at=at))
        seal(client, clock)
        tables = window.advance()
        assert tables is not None
        return sorted(tables["operations"]["op"].to_pylist())

    change(-1)
    assert ops() == [-1]
    change(-2)  # The first segment is old enough to be sealed with this row.
    change(-3)
    assert ops() == [-3, -2, -1], "each of them once, sealed or not"
    change(-4, "phase")
    assert ops() == [-4, -3, -2, -1]
    change(-5, "worker")
    assert ops() == [-5, -3, -2, -1]
    assert ops(at=4_000_000_000_000) == [-5, -3, -2, -1]
    assert ops(at=4_000_000_000_000) == [-3, -2, -1]
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


def test_a_step_leads_from_window_to_window() -> None:
    def steps(*parts: Sequence[dict[str, Any]]) -> list[dict[int, int | None]]:
        line = Lines()
        made = [line.take(as_table(part)) for part in parts]
        return [
            dict(zip(each["index"].to_pylist(), each["previous"].to_pylist(), strict=True)) for each in made
        ]

    begun = [send(index, None, "invoke") for index in range(5)]
    assert steps([*begun[:2], send(0, 5), send(1, 6)], [begun[2], send(2, 7)]) == [{0: None, 1: 5}, {2: 6}]
    assert steps([*begun[:3], send(0, 5), send(2, 7)], [send(1, 6)], [begun[3], send(3, 8)]) == [
        {0: None, 1: None, 2: None}, {1: 5, 2: 6}, {3: 7},
    ], "1 was outstanding, and 2 is judged again"  # fmt: skip
    assert steps([*begun[:2], send(0, 5)], [begun[2], send(2, 7)], [send(1, 6)]) == [
        {0: None, 1: None}, {1: None, 2: None}, {1: 5, 2: 6},
    ]  # fmt: skip
    polls = [poll(index, index, index, assignment=a) for index, a in enumerate([1, 1, 2, 2])]
    assert steps(polls[:1], polls[1:2], polls[2:3], polls[3:]) == [{0: None}, {1: 0}, {2: None}, {3: 2}]
    members = [poll(index, index, index, generation=g) for index, g in enumerate([1, 1, 2])]
    assert steps(members[:1], members[1:2], members[2:]) == [{0: None}, {1: 0}, {2: None}]


def test_a_send_that_never_ends_is_not_waited_for_for_ever() -> None:
    line, minute = Lines(), 60_000_000_000

    def step(*rows: dict[str, Any]) -> dict[int, int | None]:
        made = line.take(as_table(rows))
        return dict(zip(made["index"].to_pylist(), made["previous"].to_pylist(), strict=True))

    def later(index: int, offset: int, minutes: int) -> dict[str, Any]:
        at = minutes * minute
        return send(index, offset) | {"invoked": at, "completed": at + 1}

    assert step(send(0, 5), send(1, None, "invoke")) == {0: None, 1: None}
    assert step(later(2, 7, 6)) == {2: None, 1: None}
    assert step(later(3, 8, 7)) == {3: 7}, "nothing before 2 is awaited any more"
    assert step(send(1, 6)) == {1: None}, "its end came too late"
    assert step(later(4, 9, 7)) == {4: 8}


def test_what_is_carried_does_not_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a soak with producers that take the place of others, and faults."""
    for module, name in ((recent, "LONGEST"), (lines, "LINE_SPAN")):
        monkeypatch.setattr(module, name, 600_000_000_000)
    monkeypatch.setattr(soaked_day, "ERA", 300)
    day = Day(tmp_path, rate=5, readers=1, partitions=2)
    window = Window(tmp_path / "history")
    sizes = []
    for _ in range(24):
        for _ in range(6):
            day.step()
        tables = window.advance()
        assert tables is not None
        day.forget()
        carried = window.carried
        held = (
            carried.recent.rows, carried.operations.rows, carried.lines.settled, carried.lines.open,
            *tables.values(),
        )  # fmt: skip
        sizes.append([len(each) for each in held])
    middle, last = sizes[12], sizes[-1]
    assert all(late <= 1.02 * early + 3 for early, late in zip(middle, last, strict=True)), (middle, last)
    new = 6 * 20 * (2 * 5 + 2 * 5 + 5 + 5)
    assert new <= last[-2] <= 1.05 * new, "a window has its new rows, and few others"


def test_an_empty_window_is_a_table() -> None:
    assert len(certain(RECORDS.empty_table())) == 0
