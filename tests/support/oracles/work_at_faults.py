"""What clients had to do as a fault began, in plain Python: walks through what was known then."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from analyzers.judge.work_at_faults import HELD, LOCK, ClientAtFault
from tests.support.oracles.rows import Row, Tables, log, sends
from workloads.history.schema import HARNESS, NEMESIS

Log = tuple[Any, Any]


class Life(NamedTuple):
    """Of a client process, ns."""

    process: int
    role: str
    instance: int | None
    started: int
    ended: int | None


class Turn(NamedTuple):
    """A member had a partition since then, ns, and until then; None for to the end."""

    log: Log
    owner: str | None
    member: str | None
    since: int
    until: int | None


def about(row: Row) -> dict[str, Any]:
    return dict(json.loads(row["value"] or "{}"))


def lives(tables: Tables) -> list[Life]:
    rows = [(o, about(o)) for o in tables["operations"] if (o["process"], o["f"]) == (HARNESS, "worker")]
    found = []
    for process in sorted({said["process"] for _, said in rows}):
        mine = [(o["invoked"], said) for o, said in rows if said["process"] == process]
        began = [(at, said) for at, said in mine if said["event"] == "started"]
        ended = [at for at, said in mine if said["event"] != "started"]
        if began and not began[0][1].get("observes"):
            ((started, said),) = began
            found.append(Life(process, said["role"], said.get("instance"), started, min(ended, default=None)))
    return found


def hit(tables: Tables) -> Iterator[tuple[Row, Life]]:
    """Each fault as it was injected, with each client on which it acts."""
    for fault in tables["operations"]:
        if fault["process"] != NEMESIS or about(fault)["stage"] != "inject":
            continue
        at = fault["invoked"]
        for life in lives(tables):
            is_alive = life.started <= at and (life.ended is None or life.ended >= at)
            is_hit = life.process in about(fault).get("processes", [])
            if fault["f"] == "cut-clients":
                is_hit = is_alive
            if fault["f"] == "rebalance":
                name = about(fault)["target"].removeprefix("group:")
                is_hit = is_alive and any(
                    each == name or each.startswith(f"{name}-") for each in groups(tables, life)
                )
            if is_hit:
                yield fault, life


def groups(tables: Tables, life: Life) -> set[str]:
    if life.instance is None:
        return {o["group"] for o in marks(tables, life.process)}
    of_logs = {o["group"] for o in tables["operations"] if o["f"] == "pipeline"}
    return of_logs | {about(o)["group"] for o in tables["observations"] if is_of_group(o)}


def is_of_group(row: Row) -> bool:
    return row["kind"] in ("group", "group_log")


def turns(tables: Tables) -> list[Turn]:
    """The owners of partitions, one after the other. A row that repeats the one before it is no turn."""
    found: list[Turn] = []
    for of in {log(o) for o in tables["observations"] if is_of_group(o)}:
        rows = [
            (o["time"], o["kind"], about(o).get("generation") or 0, about(o))
            for o in tables["observations"]
            if is_of_group(o) and log(o) == of and "owner" in about(o)
        ]
        changes: list[tuple[int, str | None, str | None]] = []
        for time, _, _, said in sorted(rows, key=lambda each: each[:3]):
            if not changes or changes[-1][1:] != (said["owner"], said["member"]):
                changes.append((time, said["owner"], said["member"]))
        ends = [*(time for time, _, _ in changes[1:]), None]
        found += [
            Turn(of, owner, member, since, end)
            for (since, owner, member), end in zip(changes, ends, strict=False)
        ]
    return found


def is_held(tables: Tables, turn: Turn, at: int) -> bool:
    """Whether the instance has the partition, as far as it knows."""
    if turn.since > at:
        return False
    if turn.until is None or turn.until > at:
        return True
    (current,) = (
        each for each in turns(tables)
        if each.log == turn.log and each.since <= at and (each.until is None or each.until > at)
    )  # fmt: skip
    return current.owner is None and current.since == turn.until and at - turn.until < HELD


def position(tables: Tables, of: Log, at: int) -> int:
    """That the application's group had committed."""
    rows = [(o, about(o)) for o in tables["observations"] if is_of_group(o)]
    is_logged = any(o["kind"] == "group_log" and said.get("position") is not None for o, said in rows)
    known = [
        (o["time"], said["position"])
        for o, said in rows
        if log(o) == of and o["time"] <= at and said.get("position") is not None
        and o["kind"] == ("group_log" if is_logged else "group")
    ]  # fmt: skip
    return max(known, default=(0, 0))[1]


def acknowledged(tables: Tables, of: Log, at: int) -> list[Row]:
    return [r for r in sends(tables["records"], "ok") if log(r) == of and r["completed"] <= at]


def outputs(tables: Tables, value: int) -> list[int | None]:
    """When the outputs of an input were written."""
    rows = [about(o) for o in tables["operations"] if o["f"] == "output"]
    return [o["written"] for o in rows if o["source"] == value]


def is_answered_later(tables: Tables, send: Row, at: int) -> bool:
    known = [time for time in outputs(tables, send["value"]) if time is not None]
    return bool(known) and min(known) > at


def instance(tables: Tables, fault: Row, life: Life) -> ClientAtFault:
    at = fault["invoked"]
    former = [
        each for each in lives(tables)
        if (each.role, each.instance) == (life.role, life.instance) and each.started < life.started
    ]  # fmt: skip
    died = max((each.ended for each in former if each.ended is not None), default=None)
    every = turns(tables)
    mine = [each for each in every if each.owner == f"{life.role}:{life.instance}"]
    own = [
        each for each in mine if min(one.since for one in every if one.member == each.member) > life.started
    ]
    held = {each.log for each in own if is_held(tables, each, at)}
    flying = 0
    for of in held:
        flying += sum(
            (send["offset"] is not None and send["offset"] >= position(tables, of, at))
            or is_answered_later(tables, send, at)
            for send in acknowledged(tables, of, at)
        )
    if is_watched := any(is_of_group(o) and ("owner" in about(o)) for o in tables["observations"]):
        gone = [each.until for each in own] + [
            each.until if each.until is not None and (died is None or each.until < died) else died
            for each in mine
            if each not in own and each.since <= at
        ]
        timeouts = [about(o).get("session_timeout") for o in tables["observations"]]
    else:
        gone, timeouts = [], []
        for of in {log(o) for o in tables["operations"] if o["f"] == "pipeline"}:
            flying += sum(
                not outputs(tables, send["value"]) or is_answered_later(tables, send, at)
                for send in acknowledged(tables, of, at)
            )
    return ClientAtFault(
        process=life.process, at=at, in_flight=flying, is_instance=True, died=died,
        owned=len(held) if is_watched else None,
        gone=max((each for each in gone if each is not None and each <= at), default=None),
        back=min((each.since for each in own if each.since > at), default=None),
        session_timeout=max((each for each in timeouts if each is not None), default=None),
    )  # fmt: skip


def marks(tables: Tables, process: int) -> list[Row]:
    rows = [o for o in tables["operations"] if (o["f"], o["process"]) == ("member", process)]
    return [o | {"mark": about(o)["event"]} for o in rows if o["type"] != "fail"]


def partitions(tables: Tables, process: int, at: int) -> dict[Log, int]:
    """Those that a member had, with the position from which it went on, or that its group committed since."""
    had: dict[Log, Row] = {}
    for row in sorted(marks(tables, process), key=lambda o: (o["invoked"], o["topic"] is None, o["op"])):
        if row["invoked"] > at:
            continue
        if row["mark"] in ("left", "fenced"):
            had = {}
        elif row["mark"] == "assigned":
            had[log(row)] = row
        else:
            had.pop(log(row), None)
    found = {}
    for of, row in had.items():
        commits = [
            (o["completed"], o["end_offset"]) for o in tables["operations"]
            if (o["f"], o["type"], o.get("group"), log(o)) == ("commit", "ok", row["group"], of)
            and o["completed"] <= at
        ]  # fmt: skip
        found[of] = max(commits)[1] if commits else row["start_offset"] or 0
    return found


def held_records(tables: Tables, process: int, at: int) -> int:
    answers = [
        about(o)["delivery"] for o in tables["operations"]
        if (o["f"], o["type"]) == ("acknowledgement", "ok") and o["completed"] <= at
    ]  # fmt: skip
    return sum(
        at - LOCK < o["completed"] <= at and o["op"] not in answers
        for o in tables["operations"]
        if (o["f"], o["process"]) == ("delivery", process)
    )


def other(tables: Tables, fault: Row, life: Life) -> ClientAtFault:
    at, process = fault["invoked"], life.process
    done = [r for r in tables["records"] if r["process"] == process and not r.get("final")]
    done += [
        o for o in tables["operations"]
        if o["process"] == process and o["f"] not in ("subscribe", "member", "position-lost", "queue")
    ]  # fmt: skip
    begun = [r for r in done if r["invoked"] <= at]
    times = [at if r["completed"] is None else min(r["completed"], at) for r in begun]
    if marks(tables, process):
        had = partitions(tables, process, at)
        flying = sum(
            r["offset"] is not None and r["offset"] >= start
            for of, start in had.items() for r in acknowledged(tables, of, at)
        )  # fmt: skip
    else:
        flying = held_records(tables, process, at) or sum(
            r["f"] == "send" and (r["completed"] is None or r["completed"] > at) for r in begun
        )
    return ClientAtFault(
        process=process, at=at, in_flight=flying, last=max(times, default=None),
        owned=len(had) if marks(tables, process) else None,
    )  # fmt: skip


def work_at_faults(tables: Tables) -> dict[str, list[ClientAtFault]]:
    """By event."""
    found: dict[str, list[ClientAtFault]] = {}
    for fault, life in hit(tables):
        client = (other if life.instance is None else instance)(tables, fault, life)
        found.setdefault(about(fault)["event"], []).append(client)
    return {event: sorted(clients, key=lambda each: each.process) for event, clients in found.items()}
