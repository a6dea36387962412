"""Jepsen histories are read from EDN and JSON; other files are refused with file, position and reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from workloads.history.jepsen.micro_operations import Pair
from workloads.history.jepsen.operations import JepsenError, Op, read

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
    monkeypatch.setattr("workloads.history.jepsen.stream.PIECE", piece)
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
        (f"{row()}\n{row(process=4, time=4)}", "row 1: time: 4 after 5"),
        (f"{row(index=3)}\n{row(process=4, index=2)}", "row 1: index: 2 after 3"),
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
    (tmp_path / "latin").write_bytes(b"\xff\xfe{}")
    with pytest.raises(JepsenError, match="not UTF-8 text"):
        list(read(tmp_path / "latin"))
