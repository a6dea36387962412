"""Jepsen histories are read from EDN and JSON; other files are refused with file, position and reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from workloads.history.jepsen.micro_operations import Pair
from workloads.history.jepsen.operations import JepsenError, Notes, Op, Unordered, read
from workloads.history.jepsen.tables import write

INVOKE = {
    "type": "invoke",
    "f": "txn",
    "process": 3,
    "time": 5,
    "index": 0,
    "value": [["send", 7, 1], ["poll"]],
}
OK = {
    "type": "ok",
    "f": "txn",
    "process": 3,
    "time": 9,
    "index": 1,
    "value": [["send", 7, [10, 1]], ["poll", {"7": [[8, 0], [9, None]], "x": []}]],
    "rebalance-log": [{"type": "lost", "keys": [7]}],
}
READ = [
    Op(position=0, index=0, type="invoke", f="txn", process=3, time=5, invoked=0, invoked_time=5),
    Op(
        position=1,
        index=1,
        type="ok",
        f="txn",
        process=3,
        time=9,
        invoked=0,
        invoked_time=5,
        pairs=(
            Pair(call="send", mop=0, key="7", offset=10, value="1"),
            Pair(call="poll", mop=1, key="7", offset=8, value="0"),
            Pair(call="poll", mop=1, key="7", offset=9, value="null"),
            Pair(call="poll", mop=1, key='"x"', value=None),
        ),
        rebalanced=frozenset({"7"}),
    ),
]
EDN = """{:type :invoke, :f :txn, :process 3, :time 5, :index 0, :value [[:send 7 1] [:poll]]}
#jepsen.history.Op{:type :ok, :f :txn, :process 3, :time 9, :index 1, :value [[:send 7 [10 1]]
 [:poll {7 [[8 0] [9 nil]], :x []}]], :rebalance-log [{:type :lost, :keys [7]}]}
"""


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([INVOKE, OK]),
        json.dumps([INVOKE, OK], indent=2),
        f"{json.dumps(INVOKE)}\n{json.dumps(OK)}\n",
        EDN,
        f"[{EDN}]",
    ],
)
@pytest.mark.parametrize("piece", [7, 1 << 18])
def test_both_notations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, piece: int) -> None:
    monkeypatch.setattr("workloads.history.jepsen.operations.PIECE", piece)
    file = tmp_path / "history"
    file.write_text(text)
    assert list(read(file)) == READ


def row(**fields: Any) -> str:
    return json.dumps(INVOKE | fields)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no operation"),
        ("[]", "holds no operation"),
        (f"[{row()}", "after row 0: the text ends within the list"),
        (f"[{row()}, {row()[:30]}", "after row 0: not JSON"),
        (f"[{row()}] 1", "there is more text after the end of the list"),
        (f"[{row()} {row()}]", "expected a comma"),
        (f"{row()}\n{row()[:30]}", "after row 0: not JSON"),
        (EDN[:-20], "line 3, column 62: the text ends before"),
        ("PAR1\x00", "row 0: expected a map"),
        ("[1]", "row 0: expected a map, found 1"),
        (row(type="done"), 'row 0: type: expected one of invoke, ok, fail, info, found "done"'),
        (row(f=None), "row 0: f: expected a name, found nothing"),
        (row(process=None), "row 0: process: expected a number or a name, found nothing"),
        (row(process=True), "row 0: process: expected a number or a name, found true"),
        (row(time="5"), 'row 0: time: expected a whole number, found "5"'),
        (row(type="ok", value=7), "row 0: value: expected a list, found 7"),
        (row(type="ok", value=[["append", 7, 1]]), "row 0: micro-operation 0: expected [send key value]"),
        (row(type="ok", value=[["send", 7, [1, 2, 3]]]), "expected an offset and a value"),
        (row(type="ok", value=[["send", 7, [-1, 2]]]), "offset: expected a whole number from 0, found -1"),
        (
            row(type="ok", value=[["poll", {"7": [[1]]}]]),
            "expected [offset value] for each record, found [1]",
        ),
        (row(type="ok", value=[["poll", {"7": 1}]]), "expected a list, found 1"),
        (row(type="ok", **{"rebalance-log": [7]}), "rebalance-log: expected maps with keys"),
        (f"{row()}\n{row()}", "row 1: process 3 begins txn before its txn of row 0 completed"),
        (
            f"{row()}\n{row(type='ok', f='poll', value=[])}",
            "process 3 completes poll, but began txn in row 0",
        ),
    ],
)
def test_a_file_that_is_not_a_history_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "history"
    file.write_text(text)
    with pytest.raises(JepsenError) as error:
        list(read(file))
    assert str(error.value).startswith(f"{file}: ")
    assert message in str(error.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(JepsenError, match="cannot be read: No such file"):
        list(read(tmp_path / "absent"))
    (tmp_path / "latin").write_bytes(b"\n;; \xff\xfe{}")
    with pytest.raises(JepsenError, match=r"latin: line 2: not UTF-8 text \(byte 4 of the line"):
        list(read(tmp_path / "latin"))


def noted(tmp_path: Path, text: str) -> Notes:
    (tmp_path / "history").write_text(text)
    notes = Notes()
    list(read(tmp_path / "history", notes))
    return notes


def test_times_that_go_back_are_a_warning(tmp_path: Path) -> None:
    """The rows keep their order. Of two steps back, the larger one is by 52.5 ms. A row may have no time."""
    times = [60_000_000, None, 7_500_000.25, 8_000_000, 7_999_999]
    rows = [row(process=process, time=time, index=process) for process, time in enumerate(times)]
    (warning,) = noted(tmp_path, "\n".join(rows)).warnings()
    assert warning == (
        "the time goes back in 2 rows, at most by 52.5 ms in row 2; the rows are taken in the order of the file"
    )
    assert [op.position for op in read(tmp_path / "history")] == [0, 1, 2, 3, 4]
    assert not [*noted(tmp_path, "\n".join(rows[:2])).warnings()]


def test_rows_that_are_not_in_the_order_of_their_index_are_sorted(tmp_path: Path) -> None:
    """Those without one stay behind the row above them."""
    rows = [
        row(type="ok", index=4, time=9),
        json.dumps({**INVOKE, "process": 4, "index": None}),
        row(index=1),
    ]
    file = tmp_path / "history"
    file.write_text("\n".join(rows))
    with pytest.raises(Unordered):
        list(read(file))
    ops = list(read(file, by_index=True))
    assert [(op.position, op.process, op.invoked) for op in ops] == [(0, 3, 0), (1, 3, 0), (2, 4, 2)]
    first = tmp_path / "ordered"
    first.write_text(EDN)
    written = write([first, file, tmp_path / "absent"], tmp_path)
    assert (written.runs, written.without) == ({0: 0, 1: 4}, {1, 2})
    assert list(written.failed) == [2]
    assert [*written.notes[0].warnings()] == []
    (warning, _) = written.notes[1].warnings()
    assert warning.startswith("the rows are not in the order of their index: they were sorted by it")
    operations = pq.read_table(tmp_path / "operations.parquet").to_pylist()
    assert [each["pos"] for each in operations if each["run"] == 4] == [1]


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (
            [row(f="read"), row(f="read", type="ok", value=5)],
            "the operations of its clients are: read (1 invoke, 1 ok)",
        ),
        (
            [
                row(f="write", process=1, value=2),
                row(f="write", process=1, type="info"),
                row(f="cas", process=2),
            ],
            "the operations of its clients are: cas (1 invoke), write (1 invoke, 1 info)",
        ),
        ([row()], "the operations of its clients are: txn (1 invoke)"),
        ([row(f="crash"), row(f="crash", type="info")], "are: crash (1 invoke, 1 info)"),
        ([row(process="nemesis", f="kill", type="info")], "the operations of its clients are: none"),
    ],
)
def test_a_history_of_another_workload_shows_nothing(tmp_path: Path, rows: list[str], reason: str) -> None:
    (found,) = noted(tmp_path, "\n".join(rows)).reasons()
    assert found.startswith("it holds no completed operation of Jepsen's Kafka workload (send, poll, txn, ")
    assert found.endswith(reason)


def test_operations_of_another_workload_beside_those_of_kafka_are_named(tmp_path: Path) -> None:
    notes = noted(
        tmp_path, "\n".join([row(), row(type="fail"), row(f="read"), row(f="read", type="ok", value=1)])
    )
    assert not [*notes.reasons()]
    assert [*notes.warnings()] == [
        "operations that are not of Jepsen's Kafka workload were not judged: read (1 invoke, 1 ok)"
    ]


MAELSTROM = """#jepsen.history.Op{:index 0, :time 10, :type :invoke, :process 0, :f :assign, :value ["9"]}
#jepsen.history.Op{:index 1, :time 20, :type :ok, :process 0, :f :assign, :value ["9"]}
#jepsen.history.Op{:index 2, :time 30, :type :invoke, :process 0, :f :send, :value [[:send "9" 1]]}
#jepsen.history.Op{:index 3, :time 40, :type :ok, :process 0, :f :send, :value [[:send "9" [0 1]]]}
#jepsen.history.Op{:index 4, :time 50, :type :invoke, :process 0, :f :poll, :value [[:poll]]}
#jepsen.history.Op{:index 5, :time 60, :type :ok, :process 0, :f :poll, :value [[:poll {"9" [[0 1]]}]]}
#jepsen.history.Op{:index 6, :time 70, :type :invoke, :process 1, :f :poll, :value [[:poll]]}
#jepsen.history.Op{:index 7, :time 80, :type :info, :process 1, :f :poll, :value [[:poll]], :error :net-timeout}
#jepsen.history.Op{:index 8, :time 90, :type :invoke, :process 1, :f :crash, :value nil}
#jepsen.history.Op{:index 9, :time 95, :type :info, :process 1, :f :crash, :value nil, :error nil}
"""
"""As ``maelstrom test -w kafka`` writes it: keys are texts of digits."""


def test_a_history_of_maelstrom(tmp_path: Path) -> None:
    notes = noted(tmp_path, MAELSTROM)
    assert not [*notes.reasons(), *notes.warnings()]
    ops = [op for op in read(tmp_path / "history") if op.type != "invoke"]
    assert [op.keys for op in ops] == [("9",), (), (), (), ()]
    sent, polled = ([Pair(call=call, mop=0, key="9", offset=0, value="1")] for call in ("send", "poll"))
    assert [list(op.pairs) for op in ops] == [[], sent, polled, [], []]
