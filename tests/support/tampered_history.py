"""The history of a run as rows, and one way to tamper with it for each anomaly that an append log can have."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from workloads.history.schema import TABLES

Row = dict[str, Any]


class Recorded:
    """The tables of a run as rows to be tampered with."""

    def __init__(self, home: Path) -> None:
        folders = {name: home / "history" / name for name in TABLES}
        tables = {name: pq.read_table(folder, schema=TABLES[name]) for name, folder in folders.items()}
        self.records: list[Row] = tables["records"].to_pylist()
        self.operations: list[Row] = tables["operations"].to_pylist()
        self.observations: list[Row] = tables["observations"].to_pylist()

    def write(self, home: Path, run: str) -> Path:
        for name, schema in TABLES.items():
            rows = [row | {"run": run} for row in getattr(self, name)]
            (home / "history" / name).mkdir(parents=True)
            pq.write_table(pa.Table.from_pylist(rows, schema), home / "history" / name / "part-0.parquet")
        return home

    def send(self) -> Row:
        """A producer's acknowledged send from the middle."""
        sends = [row for row in self.records if row["f"] == "send" and row["session"] is None]
        acked = sorted((row for row in sends if row["type"] == "ok"), key=lambda row: row["offset"])
        return acked[len(acked) // 2]

    def own(self) -> list[Row]:
        """The acknowledged sends of the session, in order."""
        sends = [row for row in self.records if row["f"] == "send" and row["session"] is not None]
        return sorted((row for row in sends if row["type"] == "ok"), key=lambda row: row["invoked"])

    def polls(self, value: int, *, final: bool | None = None) -> list[Row]:
        return [
            row
            for row in self.records
            if row["f"] == "poll" and row["value"] == value and final in (None, row["final"])
        ]

    def drop(self, rows: list[Row]) -> None:
        assert rows, "nothing to drop: the plant would plant nothing"
        gone = {id(row) for row in rows}
        self.records = [row for row in self.records if id(row) not in gone]

    def final_read(self) -> Row:
        (row,) = (row for row in self.operations if row["f"] == "final-read")
        return row


def lost(recorded: Recorded) -> None:
    recorded.drop(recorded.polls(recorded.send()["value"], final=True))


def unseen(recorded: Recorded) -> None:
    recorded.operations.remove(recorded.final_read())
    last = max((row for row in recorded.records if row["f"] == "poll"), key=lambda row: row["offset"])
    recorded.drop(recorded.polls(last["value"]))


def lost_after_a_read(recorded: Recorded) -> None:
    sent = recorded.send()
    lost(recorded)
    sent.update(type="info", offset=None)


def expired(recorded: Recorded) -> None:
    """The topic keeps its records for a shorter time than the run takes."""
    (created,) = (row for row in recorded.operations if row["f"] == "topic" and '"created"' in row["value"])
    value = json.loads(created["value"])
    value["config"]["retention.ms"] = "1"
    created["value"] = json.dumps(value)
    sent = recorded.send()
    recorded.drop(recorded.polls(sent["value"]))
    recorded.final_read()["start_offset"] = sent["offset"] + 1


def risen(recorded: Recorded) -> None:
    """In a compacted topic, a reader leaves out the tombstone of a key of which it got the value."""
    (created,) = (row for row in recorded.operations if row["f"] == "topic" and '"created"' in row["value"])
    value = json.loads(created["value"])
    value["config"] |= {"cleanup.policy": "compact", "delete.retention.ms": "86400000"}
    created["value"] = json.dumps(value)
    tombstone = recorded.send()
    rows = recorded.polls(tombstone["value"])
    before = {row["offset"]: row["value"] for row in recorded.records if row["f"] == "poll"}
    for key, is_tombstone in ((before[tombstone["offset"] - 1], False), (tombstone["value"], True)):
        for row in recorded.records:
            if row["value"] == key:
                row.update(key=7, tombstone=is_tombstone)
    recorded.drop([row for row in rows if not row["final"]])


def duplicate(recorded: Recorded) -> None:
    (read,) = recorded.polls(recorded.send()["value"], final=True)
    recorded.records.append(read | {"offset": recorded.final_read()["end_offset"], "previous": None})


def inconsistent(recorded: Recorded) -> None:
    (read,) = recorded.polls(recorded.send()["value"], final=True)
    recorded.records.append(read | {"offset": read["offset"] + 1, "previous": None})


def back(recorded: Recorded, *, within: bool = False) -> None:
    read = recorded.polls(recorded.send()["value"], final=False)[0]
    read.update(previous=read["offset"], within=within)


def skip(recorded: Recorded, *, within: bool = False) -> None:
    read = recorded.polls(recorded.send()["value"], final=False)[0]
    read.update(previous=read["offset"] - 3, within=within)


def stalled(recorded: Recorded) -> None:
    """One reader gets its first record only. Without the row of the recovery, nothing interrupts the others."""
    workers = [json.loads(row["value"]) for row in recorded.operations if row["f"] == "worker"]
    process = next(worker["process"] for worker in workers if "poll_limit" in worker)
    mine = [row for row in recorded.records if row["f"] == "poll" and row["process"] == process]
    recorded.drop(sorted(mine, key=lambda row: row["index"])[1:])
    recorded.operations = [row for row in recorded.operations if row["f"] != "recovery"]


def sent_back(recorded: Recorded, *, within: bool = False) -> None:
    sent = recorded.send()
    sent.update(previous=sent["offset"] + 1, within=within)


def sent_over_others(recorded: Recorded) -> None:
    sent = recorded.send()
    sent.update(previous=sent["offset"] - 3, within=True)


def overtaken(recorded: Recorded) -> None:
    end = max(row["completed"] or 0 for row in recorded.records)
    recorded.send().update(invoked=end + 1, completed=end + 2)


def overtaken_unknown(recorded: Recorded) -> None:
    end = max(row["completed"] or 0 for row in recorded.records)
    recorded.send().update(type="info", offset=None, invoked=end + 1, completed=None)


def above_watermark(recorded: Recorded) -> None:
    """The leader that served a record reports a high watermark below it for the rest of the run."""
    read = recorded.polls(recorded.send()["value"], final=False)[0]
    later = [row for row in recorded.observations if (row["asked"] or 0) > read["fetched"]]
    assert later, "nothing to change: the plant would plant nothing"
    for sample in later:
        sample["high_watermark"] = read["offset"]


def reused(recorded: Recorded) -> None:
    """Much later, the value of another record is polled there, in the epoch after that of the first."""
    first, other = (
        recorded.polls(row["value"], final=True)[0] for row in (recorded.send(), recorded.own()[0])
    )
    late = {"leader_epoch": first["leader_epoch"] + 1} | {
        moment: first[moment] + 10**12 for moment in ("fetched", "completed")
    }
    recorded.records.append(other | late | {"offset": first["offset"], "previous": None})


def own_writes_swapped(recorded: Recorded) -> None:
    first, *_, last = recorded.own()
    first["offset"], last["offset"] = last["offset"], first["offset"]


def wrote_before_its_reads(recorded: Recorded) -> None:
    recorded.own()[-1]["offset"] = 0


def missed_own(recorded: Recorded) -> None:
    sent = recorded.own()[0]
    recorded.drop([row for row in recorded.polls(sent["value"]) if row["session"] == sent["session"]])


def session_back(recorded: Recorded) -> None:
    reads = [row for row in recorded.operations if row["f"] == "read" and row["type"] == "ok"]
    reads[-1]["end_offset"] = reads[0]["start_offset"]


def searched_too_far(recorded: Recorded) -> None:
    """The session asked for the time of a record that it had read, and was sent to a later one."""
    read = next(row for row in recorded.records if row["f"] == "poll" and not row["final"])
    recorded.operations.append(dict.fromkeys(TABLES["operations"].names) | {
        "run": read["run"], "op": 1 << 62, "process": read["process"], "f": "search", "type": "ok",
        "invoked": read["completed"], "completed": read["completed"] + 1, "topic": read["topic"],
        "partition": read["partition"], "start_offset": read["offset"], "end_offset": read["offset"] + 1,
        "value": json.dumps({"timestamp": 1, "value": read["value"], "found": None}),
    })  # fmt: skip


def phantom(recorded: Recorded) -> None:
    recorded.drop([recorded.send()])


def aborted(recorded: Recorded) -> None:
    recorded.send().update(type="fail", offset=None)


def payload(problem: str) -> Callable[[Recorded], None]:
    def plant(recorded: Recorded) -> None:
        recorded.polls(recorded.send()["value"], final=False)[0].update(error=problem, value=None)

    return plant


PLANTS: dict[str, Callable[[Recorded], None]] = {
    "lost-write": lost,
    "lost-read": lost_after_a_read,
    "unseen": unseen,
    "expired": expired,
    "duplicate": duplicate,
    "inconsistent-offsets": inconsistent,
    "offset-reuse": reused,
    "phantom-read": phantom,
    "G1a": aborted,
    "foreign-record": payload("foreign"),
    "corrupt-record": payload("corrupt"),
    "read-your-writes": missed_own,
    "monotonic-reads": session_back,
    "monotonic-writes": own_writes_swapped,
    "writes-follow-reads": wrote_before_its_reads,
    "poll-skip": skip,
    "nonmonotonic-poll": back,
    "int-poll-skip": partial(skip, within=True),
    "int-nonmonotonic-poll": partial(back, within=True),
    "stalled-reader": stalled,
    "nonmonotonic-send": sent_back,
    "int-nonmonotonic-send": partial(sent_back, within=True),
    "int-send-skip": sent_over_others,
    "realtime-order": overtaken,
    "overtaken-write": overtaken_unknown,
    "read-above-watermark": above_watermark,
    "wrong-offset-for-time": searched_too_far,
    "risen-key": risen,
}
"""By anomaly: what makes the history of a run show it."""
