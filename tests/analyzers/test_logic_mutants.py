"""Each piece of the logic of verdicts matters: without it, one of a few cases comes out differently. No JVM."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from types import ModuleType
from typing import Any

import pytest

from analyzers.judge import readers
from analyzers.verdict import promises, verdict
from analyzers.verdict.exercised import NOTHING, Exercised, FaultExercised, GroupExercised, ReaderExercised
from analyzers.verdict.finding import Finding
from tests.support.source_mutants import mutated

LOST = Finding(anomaly="lost-write", count=1, summary="lost")
TWICE = Finding(anomaly="duplicate", count=2, summary="twice", allowed=True)
AGAIN = replace(TWICE, allowed=False, count=5)
UNSEEN = Finding(anomaly="unseen", count=1, summary="unseen")
NOTE = Finding(anomaly="G0", count=1, summary="cycle")
SOME: tuple[tuple[Finding, ...], ...] = ((), (LOST,), (TWICE,), (AGAIN, UNSEEN), (UNSEEN, LOST), (NOTE,))

FAULT = FaultExercised(
    event="e1",
    fault="kill",
    target="1",
    effective=True,
    healed=True,
    acks_during=1,
    acks_after=1,
    copies_after=1,
    acknowledgements_after=1,
    reads_after=1,
    transactions_after=1,
)
DONE = Exercised(
    sends={"ok": 3}, transactions={"ok": 2}, committed=1, copies={"ok": 1}, commits={"ok": 1}, faults=(FAULT,),
    transfers={"ok": 2}, snapshots=2, whole_snapshots=2, snapshots_of_transfers=1,
    session_reads={"ok": 1}, rereads={"ok": 1}, searches={"ok": 1}, inspections={"ok": 1},
    comparisons={"ok": 1},
    brokers=(1, 2), sampled=(1, 2, 3), outputs=1, pipelines={"ok": 1},
    deliveries=2, acknowledgements=1, queues={"ok": 1},
    readers=(ReaderExercised(process=3, polls=4, last=2.0),),
)  # fmt: skip
RUNS = (
    NOTHING,
    DONE,
    replace(DONE, committed=0),
    replace(DONE, copies={"fail": 2}),
    replace(DONE, copies={}),
    replace(DONE, outputs=0),
    replace(DONE, pipelines={"info": 2}),
    replace(DONE, pipelines={}),
    replace(DONE, outputs=0, pipelines={}),
    replace(DONE, faults=(FAULT, replace(FAULT, event="e2", copies_after=0))),
    replace(DONE, faults=(FAULT, replace(FAULT, event="e2", acknowledgements_after=0))),
    replace(DONE, acknowledgements=0),
    replace(DONE, queues={}),
    replace(DONE, queues={"ok": 1, "info": 1}),
    replace(DONE, queues={"info": 1}),
    replace(DONE, deliveries=0, queues={}),
    replace(DONE, deliveries=0, acknowledgements=0),
    replace(DONE, faults=(FAULT, replace(FAULT, event="e2", reads_after=0))),
    replace(DONE, faults=(FAULT, replace(FAULT, event="e2", transactions_after=0))),
    replace(DONE, faults=(FAULT, replace(FAULT, event="e2", idle_groups=("g", "h")))),
    replace(DONE, commits={"fail": 1}, session_reads={"info": 1}, rereads={"info": 1}),
    replace(DONE, inspections={"info": 1}),
    replace(DONE, comparisons={"info": 1}),
    replace(DONE, searches={"info": 1}),
    replace(DONE, snapshots_of_transfers=0),
    replace(DONE, transfers={}, snapshots_of_transfers=0),
    replace(DONE, faults=(FAULT, replace(FAULT, event="e2", acks_after=0))),
    replace(DONE, faults=(FAULT, replace(FAULT, event="e2", acks_during=0))),
    replace(DONE, faults=(replace(FAULT, acks_during=0),), committed=0),
    replace(DONE, commits={}, groups=(GroupExercised(group="g", commits=0),)),
    replace(DONE, groups=(GroupExercised(group="g", commits=1, silent=("t-0",)),)),
    replace(DONE, groups=(GroupExercised(group="g", commits=1), GroupExercised(group="h", commits=0))),
    replace(DONE, groups=(GroupExercised(group="g", commits=1),)),
    replace(DONE, brokers=(1, 4)),
    replace(DONE, sampled=()),
    replace(DONE, compacted=0),
    replace(DONE, compacted=3),
    replace(DONE, readers=(ReaderExercised(process=3, polls=1, behind=("t-0",)), *DONE.readers)),
    replace(DONE, readers=(ReaderExercised(process=3, polls=1, behind=("t-0",)),), faults=()),
    replace(DONE, readers=(ReaderExercised(process=3, polls=0, behind=("t-0",)),)),
    replace(DONE, readers=(ReaderExercised(process=4, polls=0),)),
    replace(DONE, readers=(ReaderExercised(process=4, polls=0), *DONE.readers)),
)


def verdicts(of: dict[str, Any]) -> Iterable[Any]:
    for findings, unknowns, exercised in product(SOME, ((), ("why",)), (RUNS[2],)):
        judged = of["judge"]("r", findings=findings, unknowns=unknowns, exercised=exercised)
        yield judged.to_json()
        yield of["Verdict"].from_json(judged.to_json()).to_json()
        for others, more, allow in product(SOME, ((), ("why", "also")), ((), ("lost-write",))):
            yield of["amended"](judged, findings=others, unknowns=more, allow=allow).to_json()


def promised(of: dict[str, Any]) -> Iterable[Any]:
    for exercised, names in product(RUNS, (["transactions", "acks-during-faults"], list(promises.PROMISES))):
        yield of["not_exercised"](exercised)
        yield of["unmet"](exercised, names)
    for names in (["transactions"], ["sends"], [["transactions"]], "transactions", 3):
        try:
            yield of["require_promises"](names)
        except (TypeError, ValueError) as error:
            yield error


@dataclass(frozen=True, kw_only=True)
class Row:
    process: int = 3
    topic: str = "t"
    partition: int = 0
    n: int = 5
    top: int | None = 8
    last: int | None = 10
    final: bool = False
    grouped: bool = False


FINAL = Row(process=9, top=9, final=True)
POLLED = (
    [FINAL, Row()], [Row()], [FINAL, Row(top=9)], [FINAL, Row(last=20)], [FINAL, Row(last=21)],
    [FINAL, Row(last=None)], [replace(FINAL, top=8), Row(), Row(process=4)],
    [replace(FINAL, top=8), Row(top=9), Row()],
    [replace(FINAL, top=8), Row(), Row(process=4, top=9)],
    [FINAL, Row(), Row(top=9)], [FINAL, Row(), Row(partition=1)], [FINAL, Row(grouped=True), Row(process=7)],
    [FINAL, replace(FINAL, top=1), Row()], [FINAL, Row(top=None)],
    [replace(FINAL, top=None), Row(top=None)],
    [FINAL, Row(process=5), Row(process=4), Row(last=12)], [FINAL, Row(partition=1)],
    [FINAL, replace(FINAL, partition=1), Row(), Row(partition=1), Row(partition=1, last=30)],
)  # fmt: skip


def read(of: dict[str, Any]) -> Iterable[Any]:
    for rows, following, acknowledged in product(POLLED, ((), (3, 7), (5,)), ((), (("t", 0), ("t", 1)))):
        yield of["readers"](
            rows, following=following, acknowledged=acknowledged, excluded={7}, since=20, began=5
        )


MUTANTS: tuple[tuple[ModuleType, Callable[[dict[str, Any]], Iterable[Any]], tuple[tuple[str, str], ...]], ...] = (
    (verdict, verdicts, (
        ("if not finding.allowed}", "}"),
        ('if "invalid" in severities', 'if "unknown" in severities'),
        ('"unknown" in severities or unknowns', "unknowns"),
        ('"unknown" in severities or unknowns', '"unknown" in severities'),
        ('"unknown" in severities or unknowns', '"unknown" in severities and unknowns'),
        (' else "valid"', ' else "unknown"'),
        ("(finding.allowed, rank(finding.anomaly))", "rank(finding.anomaly)"),
        ("(finding.allowed, rank(finding.anomaly))", "finding.allowed"),
        (" if finding.anomaly not in known", ""),
        ("each.allowed or each.anomaly in allow", "each.allowed"),
        ("each.allowed or each.anomaly in allow", "each.anomaly in allow"),
        ("dict.fromkeys([*verdict.unknowns, *unknowns])", "[*verdict.unknowns, *unknowns]"),
        ("[*verdict.unknowns, *unknowns]", "unknowns"),
        ("result=judged.result, ", ""),
        (", unknowns=judged.unknowns)", ")"),
        ("not_exercised=not_exercised(exercised)", "not_exercised=()"),
        ('tuple(data.get("not_exercised", ()))', "()"),
    )),
    (promises, promised, (
        ("promise.concerns(exercised) and promise", "promise"),
        ("promise.concerns(exercised) and promise.missing(exercised) is not None", "promise.concerns(exercised)"),
        ("is not None\n    )", "is None\n    )"),
        ("for name, why in sentences if why is not None", "for name, why in sentences"),
        ("sorted(names, key=list(PROMISES).index)", "list(names)"),
        ("or name not in PROMISES", "or name in PROMISES"),
        ("not isinstance(name, str) or ", ""),
        ("isinstance(names, str) or ", ""),
        (" or not isinstance(names, Collection)", ""),
        ("if not fault.acks_during", "if fault.acks_during"),
        ("if not fault.acks_after", "if fault.acks_after"),
        ('counts.get("ok", 0)', "counts"),
        ('exercised.commits.get("ok", 0)', "exercised.commits"),
        ("group.silent or not group.commits", "group.silent"),
        ("group.silent or not group.commits", "not group.commits"),
        ("if not idle", "if idle"),
        ("exercised.commits or exercised.groups", "exercised.commits"),
        ("exercised.commits or exercised.groups", "exercised.groups"),
        ("if exercised.committed", "if exercised.transactions"),
        ("any(reader.polls for reader in exercised.readers)", "exercised.readers"),
        ("any(reader.polls for reader in exercised.readers)", "all(reader.polls for reader in exercised.readers)"),
        ("        if reader.polls\n", "        if not reader.polls\n"),
        ("if reader.behind", "if not reader.behind"),
        ('"after the last heal" if exercised.faults else "in', '"in" if exercised.faults else "in'),
        ("if not exercised.sampled", "if not exercised.brokers"),
        ("{*exercised.brokers} - {*exercised.sampled}", "{*exercised.sampled} - {*exercised.brokers}"),
    )),
    (readers, read, (
        ("max(ends.get(log, -1), _offset(row))", "_offset(row)"),
        ("if row.final:", "if True:"),
        ("row.final or row.grouped or ", "row.grouped or "),
        ("or row.grouped or", "or"),
        (" or row.process in excluded", ""),
        ("row.last > since", "row.last >= since"),
        ("row.last > since", "row.last < since"),
        (" and row.last > since", ""),
        (") or _offset(row) >= ends.get(log, -1)", ")"),
        ("_offset(row) >= ends", "_offset(row) > ends"),
        ("sum(row.n for row in of_one)", "len(of_one)"),
        ("seconds(max(", "seconds(min("),
        ("in sorted(by_process.items())", "in by_process.items()"),
        ("ends.keys() & set(acknowledged)", "ends.keys()"),
        ("ends.keys() & set(acknowledged)", "set(acknowledged)"),
        (" for process in following if process not in excluded}", " for process in following}"),
        ("readable if process in following else ()", "()"),
        ("readable if process in following else ()", "readable"),
    )),
)  # fmt: skip


def outcomes(cases: Callable[[dict[str, Any]], Iterable[Any]], of: dict[str, Any]) -> list[str]:
    """Of each case up to the first error, which counts as an outcome."""
    found: list[str] = []
    try:
        for each in cases(of):
            found.append(repr(each))
    except Exception as error:
        found.append(repr(error))
    return found


@cache
def unaltered(cases: Callable[[dict[str, Any]], Iterable[Any]], module: ModuleType) -> list[str]:
    return outcomes(cases, vars(module))


@pytest.mark.parametrize(
    ("module", "cases", "old", "new"),
    [(module, cases, *change) for module, cases, changes in MUTANTS for change in changes],
)
def test_no_logic_can_be_altered_unnoticed(
    module: ModuleType, cases: Callable[[dict[str, Any]], Iterable[Any]], old: str, new: str
) -> None:
    assert outcomes(cases, mutated(module, old, new)) != unaltered(cases, module)
