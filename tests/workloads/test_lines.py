"""Histories as JSON lines: every field of every kind is imported and exported, and becomes the rows of a history."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.support.json_lines import final_read, poll, send, write_lines
from workloads.history import schema
from workloads.history.lines import fields
from workloads.history.lines.export import export_lines
from workloads.history.lines.fields import Field, Kind, Type
from workloads.history.lines.imports import Imported, import_lines, sent_lines
from workloads.history.lines.kinds import KINDS, RECORD
from workloads.history.lines.parse import RECORD_FIELDS, BadLines
from workloads.history.schema import HARNESS, NEMESIS, VALUE_BITS

NS = {"kafkacheck_history": 1, "unit": "ns"}


def imported(tmp_path: Path, *rows: Any, header: Any = None) -> tuple[Imported, Any]:
    """And a function that returns the rows of a table."""
    path = write_lines(tmp_path / "h.jsonl", *rows, header=header)
    home = tmp_path / "home"
    return import_lines(path, home), lambda table: pq.read_table(home / "history" / table).to_pylist()


def example(of: Type) -> Any:
    """A value of the type that its absence does not equal."""
    known = {
        fields.TIME: 50,
        fields.TEXT: "some text",
        fields.NAME: "a-name",
        fields.BOOLEAN: True,
        fields.OBJECT: {"cleanup.policy": "delete"},
        fields.ANY: [[1], [2, 3]],
        fields.SECONDS: 1.5,
        fields.MILLISECONDS: -5,
        fields.LOCK: 15_000_000_000,
        fields.SETTINGS: {"cleanup.policy": "delete"},
        fields.CHANGES: {"retention.ms": "60000", "cleanup.policy": None},
        fields.TOKEN: 7,
        fields.SPANS: {"possibly": [1, 2], "surely": [1, 2]},
        fields.COUNT: 3,
        fields.OFFSET: 4,
        fields.INTEGER: 5,
        fields.SMALL: 6,
        fields.NODE: 2,
    }
    if of in known:
        return known[of]
    if of.name.startswith("list of"):
        return [7, 8]
    return of.name.split(" | ")[0]


def full(kind: Kind) -> dict[str, Any]:
    """A line with every field of its kind. A transaction decides about sends; so they have none here."""
    fields = {each.name: example(each.type) for each in kind.fields}
    fields |= {"invoked": 40, "completed": 60} if "invoked" in fields else {}
    if kind.f in ("send", "poll", "commit"):
        del fields["transaction"]
    if kind.f == "poll":
        record = {
            each.name: example(each.type)
            for each in RECORD
            if each.name not in ("error", "topic", "partition")
        }
        fields |= {"records": [record, {"offset": 9, "error": "corrupt"}], "index": 0}
        del fields["error"]
    if kind.f == "send":
        fields["index"] = 0
    if kind.f == "fault":
        fields["fault"] = "isolate"
    return {"f": kind.f} | fields


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.f)
def test_every_field_survives_import_and_export(tmp_path: Path, kind: Kind) -> None:
    line = full(kind)
    assert line.keys() - {"f"} >= {each.name for each in kind.fields if each.required}
    topic = {"f": "topic", "topic": line.get("topic", "t"), "invoked": 0}
    rows = [line] if kind.f == "topic" else [topic, line]
    imported(tmp_path, *rows, header=NS)
    export_lines(tmp_path / "home", tmp_path / "again.jsonl")
    lines = [json.loads(text) for text in (tmp_path / "again.jsonl").read_text().splitlines()]
    (again,) = [
        each for each in lines[1:] if each["f"] == kind.f and (kind.f == "topic" or each != lines[1])
    ][:1]
    named = {each.name for each in (*kind.fields, *RECORD) if each.refers in ("value", "operation")}
    assert without(again, named) == without(line, named), "identities of values and operations become numbers"
    assert again.keys() == line.keys() - ({"op"} if kind.f == "send" else set())


def without(line: dict[str, Any], names: set[str]) -> dict[str, Any]:
    rest = {name: value for name, value in line.items() if name not in names}
    if "records" in rest:
        rest["records"] = [without(each, names) for each in rest["records"]]
    return rest


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.f)
def test_only_the_required_fields_are_required(tmp_path: Path, kind: Kind) -> None:
    line = full(kind)
    needed = {each.name for each in kind.fields if each.required} | {"invoked", "completed"} & line.keys()
    needed |= {"send": {"partition"}, "poll": {"topic", "partition"}, "final-read": {"end_offset"}}.get(
        kind.f, set()
    )
    needed |= {"txn": {"op"}, "member": {"topic", "partition"}, "inspect": {"topic"}}.get(kind.f, set())
    # Its example names itself as the delivery.
    needed |= {"op"} if kind.f == "acknowledgement" else set()
    imported(
        tmp_path,
        {"f": kind.f} | {name: each for name, each in line.items() if name in needed and name != "key"},
    )


def test_a_history_in_rows(tmp_path: Path) -> None:
    """Numbers and times are those of the tables, and the names are kept beside them."""
    found, table = imported(
        tmp_path,
        poll(5, "a", "b"),
        send("a", 1, 0),
        send("b", 2, 1, error="retried", session="ann"),
        *final_read(9, "a", "b"),
    )
    assert (found.run, found.requires, found.allow) == ("h", None, ())
    assert found.clients == {1: "reader", 2: "writer", 3: "last"}
    a, b = 2 << VALUE_BITS, 2 << VALUE_BITS | 1
    sends = [row for row in table("records") if row["f"] == "send"]
    assert [(row["op"], row["value"], row["offset"], row["index"]) for row in sends] == [
        (a, a, 0, 0),
        (b, b, 1, 1),
    ]
    assert (sends[1]["invoked"], sends[1]["completed"]) == (2_000_000, 3_000_000)
    assert (sends[1]["previous"], sends[1]["error"], sends[1]["session"]) == (0, "retried", 1)
    polls = [row for row in table("records") if row["f"] == "poll" and not row["final"]]
    assert [(row["value"], row["within"], row["committed"]) for row in polls] == [
        (a, None, None),
        (b, True, None),
    ]
    assert {row["op"] for row in polls} == {2}, "the number of the line"
    (read,) = table("operations")
    assert (read["f"], read["start_offset"], read["end_offset"], read["process"]) == ("final-read", 0, 2, 3)
    assert sent_lines(tmp_path / "h.jsonl") == {a: 3, b: 4}


def test_an_invocation_without_completion_is_a_send_of_unknown_outcome(tmp_path: Path) -> None:
    """Also if the completion has no time of its invocation, which the invocation then says."""
    begun = {"f": "send", "process": "w", "topic": "t", "partition": 0, "type": "invoke"}
    done = send("a", 0, 0, process="w")
    del done["invoked"]
    _, table = imported(
        tmp_path,
        begun | {"value": "a", "invoked": 1},
        begun | {"value": "b", "invoked": 2},
        done | {"completed": 4},
    )
    rows = {row["value"]: (row["type"], row["invoked"], row["completed"]) for row in table("records")}
    first = 1 << VALUE_BITS
    assert rows == {first: ("ok", 1_000_000, 4_000_000), first | 1: ("info", 2_000_000, None)}


def test_a_send_of_unknown_partition_is_where_a_poll_found_it(tmp_path: Path) -> None:
    lost, found = send("lost", 1), send("found", 2)
    for row in (lost, found):
        del row["partition"]
    _, table = imported(tmp_path, lost, found, poll(5, "found", partition=3))
    rows = [row for row in table("records") if row["f"] == "send"]
    assert sorted((row["value"] & 1, row["partition"]) for row in rows) == [(0, 3), (1, 3)]
    (polled,) = (row for row in table("records") if row["f"] == "poll")
    assert polled["error"] is None


def test_a_value_from_another_partition_is_misrouted_and_one_that_nobody_sent_is_a_stranger(
    tmp_path: Path,
) -> None:
    found, table = imported(tmp_path, send("a", 1, 0), poll(5, "a", "z", partition=1))
    polls = {row["offset"]: row for row in table("records") if row["f"] == "poll"}
    assert (polls[0]["error"], polls[1]["error"]) == ("misrouted", None)
    assert found.clients[polls[1]["value"] >> VALUE_BITS] == "an unknown client"


def test_a_member_without_numbers_of_assignments_has_those_of_its_events(tmp_path: Path) -> None:
    """It lost partition 0 and got it again, and kept partition 1. A number that the file has counts."""
    about = {"f": "member", "process": "m", "group": "g", "member": "m", "type": "ok"}
    of = {partition: {"topic": "t", "partition": partition} for partition in (0, 1)}
    records = [{"offset": 0, "value": "a", **of[0]}, {"offset": 0, "value": "b", **of[1]}]
    polls = [
        {"f": "poll", "process": "m", "type": "ok", "invoked": at - 1, "completed": at, "records": records}
        for at in (5, 20, 30)
    ]
    _, rows = imported(
        tmp_path,
        *(
            about | {"event": "assigned", "invoked": 1, "completed": 2} | of[partition]
            for partition in (0, 1)
        ),
        about | {"event": "revoked", "invoked": 6, "completed": 7} | of[0],
        about | {"event": "joined", "invoked": 8, "completed": 9},
        about | {"event": "assigned", "invoked": 20, "completed": 21} | of[0],
        about | {"event": "lost", "invoked": 22, "completed": 23, "type": "fail"} | of[0],
        about | {"event": "left", "invoked": 25, "completed": 26},
        *polls[:2],
        polls[2] | {"assignment": 7},
        polls[2] | {"invoked": 31, "completed": 32},
        header=NS,
    )
    found = {(row["completed"], row["partition"]): row["assignment"] for row in rows("records")}
    assert [found[at, 0] for at in (5, 20, 30, 32)] == [1, 3, 7, 4]
    assert [found[at, 1] for at in (5, 20, 30, 32)] == [1, 1, 7, 2]


@pytest.mark.parametrize(
    ("known", "fields", "requested"),
    [
        ({"ending": 4}, {}, False),
        ({"ending": 4}, {"ending": 14}, None),
        ({"ending": 4}, {"requested": True}, True),
        ({"ending": 4}, {"completed": 15}, None),
        ({}, {}, None),
        ({}, {"requested": False}, False),
    ],
    ids=["never", "timed", "said", "completed, which says so", "not recorded of any", "denied"],
)
def test_whether_the_end_of_a_transaction_was_requested(
    tmp_path: Path, known: dict[str, int], fields: dict[str, Any], requested: bool | None
) -> None:
    """Absence of `ending` says so only in a history that has it of all acknowledged transactions."""
    txn = {"f": "txn", "process": "w", "outcome": "commit", "transactional_id": "x"}
    _, rows = imported(
        tmp_path,
        txn | {"op": "a", "type": "ok", "invoked": 1, "completed": 9} | known,
        txn | {"op": "b", "type": "info", "invoked": 11} | fields,
        send("a", 12, 0) | {"transaction": "b"},
    )
    values = {row["type"]: json.loads(row["value"]) for row in rows("operations")}
    assert values["info"].get("requested") is requested
    assert "requested" not in values["ok"]


@pytest.mark.parametrize(
    ("of_txn", "outcome", "of_send", "expected"),
    [
        ("ok", "commit", "ok", ("ok", 9)),
        ("ok", "commit", "info", ("info", 3)),
        ("ok", "abort", "ok", ("fail", 9)),
        ("fail", "commit", "ok", ("fail", 9)),
        ("info", "commit", "ok", ("info", 9)),
        ("info", "commit", "fail", ("fail", 3)),
        ("ok", "commit", "fail", ("fail", 3)),
    ],
)
def test_a_transaction_decides_about_its_sends_and_commits(
    tmp_path: Path, of_txn: str, outcome: str, of_send: str, expected: tuple[str, int]
) -> None:
    """The client need not know: a send is acknowledged before its transaction is."""
    txn = {
        "f": "txn",
        "op": "t1",
        "process": "w",
        "type": of_txn,
        "outcome": outcome,
        "transactional_id": "x",
    }
    commit = {"f": "commit", "group": "g", "member": "m", "topic": "t", "partition": 0, "end_offset": 1}
    of_both = {"process": "w", "type": of_send, "transaction": "t1", "invoked": 2, "completed": 3}
    _, table = imported(
        tmp_path, send("a", 2, 0) | of_both, commit | of_both, txn | {"invoked": 1, "completed": 9}
    )
    (sent,) = table("records")
    committed, of = sorted(table("operations"), key=lambda row: row["f"])
    for row in (sent, committed):
        assert (row["type"], row["completed"] // 1_000_000) == expected
    assert (
        sent["transaction"]
        == of["op"]
        == committed["op"]
        == json.loads(committed["value"])["transaction"]
        == 4
    )


def test_only_a_file_that_mentions_phases_is_judged_by_them(tmp_path: Path) -> None:
    """Of the rows of the harness, those without a mark do."""
    worker = {"f": "worker", "process": "w", "role": "producer", "event": "stopped", "invoked": 5}
    rows = [send("a", 1, 0, process="w"), worker, {"f": "recovery", "invoked": 6}]
    _, table = imported(tmp_path, *rows)
    assert [json.loads(row["value"]).get("imported") for row in table("operations")] == [True, True]
    (tmp_path / "phases").mkdir()
    _, table = imported(tmp_path / "phases", *rows, {"f": "phase", "phase": "steady", "invoked": 0})
    assert not any("imported" in (row["value"] or "") for row in table("operations"))


def test_an_acknowledgement_belongs_to_its_delivery(tmp_path: Path) -> None:
    record = {"type": "ok", "process": "a", "topic": "t", "partition": 0, "group": "q", "start_offset": 4}
    delivery = {"f": "delivery", "op": "d-1", "invoked": 1, "completed": 2} | record
    said = {
        "f": "acknowledgement",
        "delivery": "d-1",
        "kind": "accept",
        "invoked": 3,
        "completed": 4,
    } | record
    _, table = imported(tmp_path, delivery, said)
    first, second = sorted(table("operations"), key=lambda row: row["invoked"])
    assert json.loads(second["value"]) == {"delivery": first["op"], "kind": "accept"}
    with pytest.raises(BadLines, match="line 2: acknowledgement delivery: no line has the op 'd-1'"):
        imported(tmp_path, said)


def test_a_coarse_clock_makes_no_write_look_out_of_order(tmp_path: Path) -> None:
    """Two sends of one millisecond: the later line is the one that was acknowledged later, not the one sent later.
    A client that knows their order says it."""
    for name, more, previous in (("unknown", [{}, {}], 0), ("known", [{"index": 0}, {"index": 1}], 7)):
        (tmp_path / name).mkdir()
        rows = [
            send(value, 5, offset, **each) for value, offset, each in zip("ab", (7, 0), more, strict=True)
        ]
        _, table = imported(tmp_path / name, *rows)
        assert max(row["previous"] for row in table("records") if row["previous"] is not None) == previous


def test_the_numbers_of_an_exported_run_are_kept(tmp_path: Path) -> None:
    first = 3 << VALUE_BITS | 4
    found, table = imported(tmp_path, send(first, 1, 0, process=3), send(first + 1, 2, 1, process=3))
    assert {row["value"] for row in table("records")} == {first, first + 1}
    assert found.clients == {}


@pytest.mark.parametrize(
    ("unit", "at", "ns"),
    [("ns", 1_700_000_000_123_456_789, 1_700_000_000_123_456_789), ("us", 5, 5_000), ("s", 3, 3_000_000_000)],
)
def test_times_have_the_unit_of_line_1(tmp_path: Path, unit: str, at: int, ns: int) -> None:
    _, table = imported(tmp_path, send("a", at, 0), header={"kafkacheck_history": 1, "unit": unit})
    assert table("records")[0]["invoked"] == ns


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.f)
def test_every_time_and_duration_has_the_unit_of_line_1(tmp_path: Path, kind: Kind) -> None:
    """A line in us, and the same one in ns."""
    found = []
    for unit, factor in (("us", 1), ("ns", 1000)):
        line = {name: in_ns(kind.by_name.get(name), each, factor) for name, each in full(kind).items()}
        if kind.f == "poll":
            line["records"] = [
                {
                    name: in_ns(fields, record[name], factor)
                    for name, fields in RECORD_FIELDS.items()
                    if name in record
                }
                for record in line["records"]
            ]
        topic = {"f": "topic", "topic": line.get("topic", "t"), "invoked": 0}
        (tmp_path / unit).mkdir()
        header = {"kafkacheck_history": 1, "unit": unit}
        _, table = imported(tmp_path / unit, *([] if kind.f == "topic" else [topic]), line, header=header)
        found.append({name: table(name) for name in schema.TABLES})
    assert found[0] == found[1]


def in_ns(field: Field | None, value: Any, factor: int) -> Any:
    """A value in us, in a unit that is so many times as small if it is a time."""
    if field is None or field.type not in (fields.TIME, fields.LOCK, fields.SPANS):
        return value
    if isinstance(value, dict):
        return {name: [each * factor for each in span] for name, span in value.items()}
    return min(value, 1_000_000_000) * factor


def test_times_with_decimals_are_exact(tmp_path: Path) -> None:
    row = json.dumps(send("a", 0, 0)).replace(
        '"invoked": 0, "completed": 1', '"invoked": 1700000000.123456789'
    )
    row = row.replace('"type"', '"completed": 1700000000.123456790, "type"')
    _, table = imported(tmp_path, row, header={"kafkacheck_history": 1, "unit": "s"})
    assert table("records")[0]["invoked"] == 1_700_000_000_123_456_789


def test_nobody_acts_as_client_in_faults_and_settings(tmp_path: Path) -> None:
    """And null counts as absent; own fields of the program are left alone."""
    fault = {
        "f": "fault",
        "fault": "isolate",
        "event": "e",
        "stage": "inject",
        "target": "leader",
        "effective": True,
    }
    _, table = imported(
        tmp_path,
        fault | {"invoked": 1, "processes": ["w"], "evidence": None},
        {"f": "topic", "topic": "t", "invoked": 0, "x_mine": [1], "id": None},
        send("a", 1, 0, process="w"),
    )
    by = {row["f"]: row for row in table("operations")}
    assert (by["isolate"]["process"], by["topic"]["process"]) == (NEMESIS, HARNESS)
    assert json.loads(by["isolate"]["value"])["processes"] == [1]
    assert json.loads(by["topic"]["value"]) == {"event": "created", "imported": True}
    assert by["topic"]["completed"] == 0


def doubts(home: Path) -> list[str]:
    found: list[str] = json.loads((home / "history" / "format.json").read_text()).get("doubts", [])
    return found


def test_what_a_history_lacks_is_said(tmp_path: Path) -> None:
    txn = {"f": "txn", "op": "t1", "process": "w", "type": "ok", "outcome": "commit", "transactional_id": "x"}
    commit = {
        "f": "commit",
        "process": "m",
        "group": "g",
        "member": "m",
        "topic": "t",
        "partition": 0,
        "type": "ok",
    }
    no_offset = send("b", 3, 0)
    del no_offset["offset"]
    imported(
        tmp_path,
        send("a", 1, 0),
        no_offset,
        txn | {"invoked": 1, "completed": 2},
        commit | {"end_offset": 1, "invoked": 5, "completed": 6},
        poll(4, "a", process="m"),
        poll(6, "b", committed=True),
    )
    assert doubts(tmp_path / "home") == [
        "The history does not contain offset of 1 of 2 acknowledged sends, so nobody can say: whether writes kept "
        "their order, and whether an offset was given twice.",
        "The history does not contain committed of 1 of 2 polls, so nobody can say: in a history with transactions, "
        "whether it had a right to see what it saw.",
        "The history does not contain generation of 1 of 1 polls by members of groups, so nobody can say: of a "
        "member of a group, whether it owned what it read.",
        "The history does not contain an assignment of group g (member lines), so nobody can say who owned the "
        "partitions that it committed.",
    ]


def test_a_whole_history_lacks_nothing(tmp_path: Path) -> None:
    imported(tmp_path, send("a", 1, 0), poll(3, "a"), *final_read(9, "a"))
    assert doubts(tmp_path / "home") == []


def test_every_kind_of_operation_has_a_line() -> None:
    """Of those that the schema of the history documents; otherwise a run with one cannot be exported."""
    source = Path(schema.__file__).read_text()
    documented = set(re.findall(r"^``([a-z-]+)``  +", source, re.MULTILINE))
    assert {"read", "txn", "unread"} <= documented
    assert documented <= KINDS.keys()


def test_fields_that_say_nothing_if_absent_are_those_with_a_sentence() -> None:
    """The sentences of a verdict come from the declaration."""
    unknown: list[tuple[str, Field]] = [
        (f, each) for f, kind in KINDS.items() for each in kind.fields if each.unknown
    ]
    assert [(f, each.name) for f, each in unknown] == [
        ("send", "offset"),
        ("poll", "committed"),
        ("poll", "generation"),
    ]
