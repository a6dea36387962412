"""Bad lines of a history are named by number, with what was wrong and what was expected."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.support.json_lines import HEADER, poll, send, write_lines
from workloads.history.lines.export import export_lines
from workloads.history.lines.imports import import_lines
from workloads.history.lines.parse import EXAMPLES, BadLines, is_lines

GOOD = send("a", 1, 0)
TXN = {"f": "txn", "op": "t", "process": "w", "type": "ok", "outcome": "commit", "transactional_id": "x"}
TXN |= {"invoked": 1, "completed": 2}


def without(row: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != name}


def refused(path: Path) -> str:
    with pytest.raises(BadLines) as error:
        import_lines(path, path.parent / "home")
    assert not (path.parent / "home" / "history" / "format.json").exists()
    return str(error.value).removeprefix(f"{path}: ")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{", "not JSON (Expecting property name enclosed in double quotes): expected one object, found '{'"),
        ('{"f": NaN}', "not JSON (NaN is no number in JSON): expected one object, found '{\"f\": NaN}'"),
        ('{"f": "send", "invoked": 1e99999999999999999999}', "not JSON (1e99999999999999999999 is no number)"),
        (f'{{"f": {"9" * 5000}}}', "not JSON (Exceeds the limit"),
        ("[" * 100_000, "not JSON ("),
        ("[1]", "expected an object, found [1]"),
        ({}, "f: expected one of send, poll, "),
        ({"f": "sent"}, ", found 'sent'"),
        ({"f": ["send"]}, ", found ['send']"),
        (without(GOOD, "value"), "send value: missing; expected text or whole number, identifies the record: no"),
        (without(GOOD, "type"), "send type: missing; expected ok | fail | info, ok: it happened; fail: it did not"),
        (GOOD | {"value": None}, "send value: missing"),
        (GOOD | {"value": ""}, "send value: expected text that is not empty, or a whole number, found ''"),
        (GOOD | {"value": 1.5}, "send value: expected text that is not empty, or a whole number, found 1.5"),
        (GOOD | {"value": True}, "send value: expected text that is not empty, or a whole number, found True"),
        (GOOD | {"value": 1 << 70}, "send value: expected text that is not empty, or a whole number, found 1180"),
        (GOOD | {"type": "done"}, "send type: expected ok or fail or info, found 'done'"),
        (GOOD | {"ofset": 1}, "send 'ofset': no such field; there are process, session, "),
        (GOOD | {"more": {}}, "send 'more': no such field"),
        (GOOD | {"topic": 5}, "send topic: expected text that is not empty, found 5"),
        (GOOD | {"partition": -1}, "send partition: expected a whole number from 0 to 2147483647, found -1"),
        (GOOD | {"partition": 1 << 31}, "send partition: expected a whole number from 0 to 2147483647, found 21"),
        (GOOD | {"offset": "0"}, "send offset: expected a whole number from 0 to 9223372036854775807, found '0'"),
        (GOOD | {"tombstone": 1}, "send tombstone: expected true or false, found 1"),
        (GOOD | {"invoked": -1}, "send invoked: expected a time, a number from 0 on in the unit of line 1, foun"),
        (GOOD | {"invoked": "now"}, "send invoked: expected a time, a number from 0 on in the unit of line 1, f"),
        (GOOD | {"invoked": 1 << 62}, "send invoked: expected a time, a number from 0 on in the unit of line 1,"),
        (GOOD | {"invoked": 5}, "send completed: expected a time from invoked on, found one 3 ms before"),
        (without(GOOD, "completed"), "send completed: missing; expected the time of the outcome with type ok"),
        (without(GOOD, "invoked"), "send invoked: missing, and no line with type invoke says it; expected one o"),
        (without(GOOD, "partition"), "send partition: missing; expected the one that was acknowledged, with typ"),
        (GOOD | {"type": "invoke"}, "send completed: expected none with type invoke; the completion has a line "),
        (without(without(GOOD, "completed"), "invoked") | {"type": "invoke"}, "send invoked: missing; expected "),
        (GOOD | {"key": 3}, "send key: no line with f topic describes t; expected one such as"),
        (GOOD | {"transaction": "t"}, "send transaction: no line with f txn has the op 't'; expected one"),
        (without(poll(1, "a"), "records"), "poll records: missing; expected list of objects, "),
        (poll(1), "poll records: expected a list of at least one object, found []"),
        (poll(1) | {"records": [5]}, "records[0]: expected an object, found 5"),
        (poll(1) | {"records": [{"offset": 1}]}, "records[0] value: missing; expected it, or error: foreign | c"),
        (poll(1) | {"records": [{"value": 1}]}, "records[0] offset: missing; expected whole number, its offset"),
        (poll(1) | {"records": [{"value": 1, "offset": 1, "x": 1}]}, "records[0] 'x': no such field; there are "),
        (without(poll(1, "a"), "topic"), "records[0] topic: missing, and the line has none either; expected one"),
        (poll(1, "a") | {"type": "invoke"}, "poll type: expected ok or fail or info, found 'invoke'"),
        (without(poll(1, "a"), "invoked"), "poll invoked: missing; expected the time at which the client began it"),
        (poll(1, "a") | {"transaction": 9}, "poll transaction: no line with f txn has the op 9; expected one"),
        (without(TXN, "op"), "txn op: missing; expected the name by which its sends refer to it"),
        ({"f": "final-read", "process": 1, "type": "ok", "topic": "t", "partition": 0, "invoked": 1, "completed": 2},
         "final-read end_offset: missing; expected the end of the log that it got to, with type ok"),
        ({"f": "member", "process": 1, "type": "ok", "group": "g", "member": "m", "event": "lost", "topic": "t",
          "invoked": 1, "completed": 1}, "member partition: missing; expected it with the event lost"),
        ({"f": "fault", "fault": "isolate", "event": "e", "stage": "heal", "target": "x", "effective": True,
          "invoked": 1, "active": {"surely": [1]}}, "fault active: expected two times each, the first and the l"),
        ({"f": "inspect", "process": 1, "type": "ok", "node": 1, "invoked": 1, "completed": 1},
         "inspect topic: missing; expected the one that the broker described, with type ok"),
        ({"f": "sample", "time": 1, "isr": 3}, "sample isr: expected a list, found 3"),
        ({"f": "recovery", "invoked": 1, "limit": "x"}, "recovery limit: expected a number, found 'x'"),
        ({"f": "topic", "topic": "t", "invoked": 1, "config": []}, "topic config: expected an object, found []"),
    ],
)  # fmt: skip
def test_a_bad_line_is_named(tmp_path: Path, row: Any, message: str) -> None:
    found = refused(write_lines(tmp_path / "h.jsonl", send("z", 1, 9), row))
    assert found.startswith("line 3: ")
    assert message in found
    assert len(found) < 700


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            (GOOD, GOOD),
            "line 3: send value: 'a' was sent in line 2 already; expected a value that no other send has",
        ),
        (
            (without(GOOD, "completed") | {"type": "invoke"},) * 2,
            "line 3: send value: 'a' was sent in line 2 already",
        ),
        (
            (without(GOOD, "completed") | {"type": "invoke"}, GOOD | {"process": "other"}),
            "line 3: send process: 'other' completes the send that 'writer' invoked in line 2; expected the same",
        ),
        (
            (TXN, TXN),
            "line 3: txn op: 't' names the transaction of line 2 already; expected a name that no other",
        ),
    ],
)
def test_lines_that_contradict_each_other_are_named(tmp_path: Path, rows: Any, message: str) -> None:
    assert message in refused(write_lines(tmp_path / "h.jsonl", *rows))


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (
            {},
            "line 1: kafkacheck_history: missing; expected the version of the schema and the unit of the times, ",
        ),
        (json.dumps(GOOD), "line 1: kafkacheck_history: missing"),
        (
            HEADER | {"kafkacheck_history": 2},
            "line 1: kafkacheck_history: expected version 1, which this kafkacheck ",
        ),
        (HEADER | {"kafkacheck_history": True}, "found True"),
        ({"kafkacheck_history": 1}, "line 1: unit: expected one of ns, us, ms, s, found None"),
        (HEADER | {"unit": "h"}, "line 1: unit: expected one of ns, us, ms, s, found 'h'"),
        (HEADER | {"unit": ["s"]}, "found ['s']"),
        (
            HEADER | {"units": "s"},
            "line 1: 'units': no such field of line 1; there are kafkacheck_history, unit, run,",
        ),
        (HEADER | {"run": ""}, "line 1: run: expected text that is not empty, found ''"),
        (
            HEADER | {"requires": "transactions"},
            "line 1: requires: expected a list of names, found 'transactions'",
        ),
        (HEADER | {"allow": [1]}, "line 1: allow: expected a list of names, found [1]"),
        ("nonsense", "line 1: not JSON (Expecting value): expected one object, found 'nonsense'"),
    ],
)
def test_a_bad_first_line_is_named(tmp_path: Path, header: Any, message: str) -> None:
    assert message in refused(write_lines(tmp_path / "h.jsonl", GOOD, header=header))


def test_a_few_bad_lines_are_shown_and_the_rest_is_counted(tmp_path: Path) -> None:
    found = refused(write_lines(tmp_path / "h.jsonl", GOOD, *[{"f": "x"}] * (EXAMPLES + 3)))
    assert [f"line {number}: " in found for number in (3, 2 + EXAMPLES, 3 + EXAMPLES)] == [True, True, False]
    assert found.endswith("; and 3 more bad lines")
    (tmp_path / "two").mkdir()
    assert refused(write_lines(tmp_path / "two" / "h.jsonl", *[{"f": "x"}] * (EXAMPLES + 1))).endswith(
        "1 more bad line"
    )


def test_files_that_are_none(tmp_path: Path) -> None:
    file = tmp_path / "h.jsonl"
    assert "cannot be read (No such file or directory)" in refused(file)
    file.write_text("")
    assert 'is empty; expected line 1 to be {"kafkacheck_history": 1, "unit": "ms"}' in refused(file)
    write_lines(file)
    assert refused(file) == "line 2: missing; expected at least one operation after line 1"
    write_lines(file, json.dumps(GOOD)[:-20])
    assert "line 2: not JSON" in refused(file), "a last line that was cut"
    folder = tmp_path / "folder.jsonl"
    folder.mkdir()
    assert "cannot be read (Is a directory)" in refused(folder)


@pytest.mark.parametrize("name", ["h.jsonl", "h.jsonl.gz"])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_line_that_is_not_utf8_is_named(tmp_path: Path, name: str, number: int) -> None:
    lines = [json.dumps(each).encode() for each in (HEADER, send("ä", 1, 0), send("b", 2, 1))]
    lines[number - 1] = b'{"x_\xff' + lines[number - 1][2:]
    data = b"\n".join(lines) + b"\n"
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    found = refused(tmp_path / name)
    assert found == f"line {number}: not UTF-8 text (byte 5 of the line: invalid start byte)"


def test_a_history_of_any_name_is_known_by_its_first_line(tmp_path: Path) -> None:
    text = f"{json.dumps(HEADER)}\n{json.dumps(GOOD)}\n".encode()
    for name, data in (
        ("lost.txt", text),
        ("lost", gzip.compress(text)),
        ("lost.log", b"\xef\xbb\xbf" + text),
    ):
        (tmp_path / name).write_bytes(data)
        assert is_lines(tmp_path / name)
        assert import_lines(tmp_path / name, tmp_path / f"home-{name}").run == name
    for name, data in (
        ("none.txt", b"[1]\n"),
        ("x", b""),
        ("y", b"\xff"),
        ("z", b"\x1f\x8bxx"),
        ("cut", text[:9]),
    ):
        (tmp_path / name).write_bytes(data)
        assert not is_lines(tmp_path / name)
    assert not is_lines(tmp_path)
    assert not is_lines(tmp_path / "absent")


def test_durations_and_messages_have_the_unit_of_the_file(tmp_path: Path) -> None:
    queue = {
        "f": "queue",
        "type": "ok",
        "process": "q",
        "topic": "t",
        "partition": 0,
        "group": "g",
        "end_offset": 1,
    }
    for unit, lock, most, early in (
        ("s", 3601, "3,600 s", "0.5 s"), ("ms", 3_600_001, "3,600,000 ms", "0.5 ms"),
        ("us", 1 << 62, "3,600,000,000 us", "0.5 us"), ("ns", 1 << 62, "3,600,000,000,000 ns", None),
    ):  # fmt: skip
        header = {"kafkacheck_history": 1, "unit": unit}
        rows = [queue | {"invoked": 1, "completed": 2, "lock": lock}]
        rows += [send("a", 1, 0) | {"invoked": 1.5, "completed": 1}] if early else []
        found = refused(write_lines(tmp_path / f"{unit}.jsonl", *rows, header=header))
        assert f"queue lock: expected a duration from 0 to {most}, found {lock}" in found
        assert early is None or f"found one {early} before it" in found
    importable = queue | {"invoked": 1, "completed": 2, "lock": 15.25}
    file = write_lines(
        tmp_path / "good.jsonl", send("a", 1, 0), importable, header={"kafkacheck_history": 1, "unit": "s"}
    )
    import_lines(file, tmp_path / "home-of-locks")
    (row,) = pq.read_table(tmp_path / "home-of-locks" / "history" / "operations").to_pylist()
    assert json.loads(row["value"])["lock"] == 15_250_000_000


def test_damaged_gzip(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "h.jsonl.gz", *[send(f"v{number}", 1, number) for number in range(2000)])
    whole = file.read_bytes()
    import_lines(file, tmp_path / "whole")
    file.write_bytes(whole[:-2000])
    assert "not a whole gzip file" in refused(file)
    file.write_bytes(b"plain text")
    assert "not a whole gzip file (Not a gzipped file" in refused(file)
    file.write_bytes(gzip.compress(b"x" * 10) + b"junk")
    assert "not a whole gzip file" in refused(file)


def test_an_export_overwrites_nothing_and_has_a_known_name(tmp_path: Path) -> None:
    import_lines(write_lines(tmp_path / "h.jsonl", GOOD), tmp_path / "home")
    with pytest.raises(ValueError, match=r"expected a name that ends with \.jsonl or \.jsonl\.gz"):
        export_lines(tmp_path / "home", tmp_path / "x.json")
    with pytest.raises(FileExistsError):
        export_lines(tmp_path / "home", tmp_path / "h.jsonl")
    assert export_lines(tmp_path / "home", tmp_path / "again.jsonl.gz") == 2
    import_lines(tmp_path / "again.jsonl.gz", tmp_path / "again")
