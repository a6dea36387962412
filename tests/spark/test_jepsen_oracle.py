"""The profile jepsen agrees with its rules written in plain Python, on random histories.

Files that are not histories, and histories on which the reference crashes, are judged in the same call.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from analyzers.jepsen.analyze import Options, analyze

pytestmark = [pytest.mark.spark, pytest.mark.nightly]

Op = dict[str, Any]
HISTORIES = 250


def written(op: Op) -> dict[str, list[tuple[int | None, int]]]:
    found = defaultdict(list)
    for mop in op["value"] if op["type"] != "invoke" and op["f"] in ("send", "txn") else []:
        if mop[0] == "send":
            found[mop[1]].append(tuple(mop[2]) if isinstance(mop[2], list) else (None, mop[2]))
    return found


def polled(op: Op) -> dict[str, list[tuple[int | None, int]]]:
    found: dict[str, list[Any]] = defaultdict(list)
    for mop in op["value"] if op["type"] != "invoke" and op["f"] in ("poll", "txn") else []:
        if mop[0] == "poll" and len(mop) > 1:
            for key, pairs in mop[1].items():
                found[key] += map(tuple, pairs)
    return found


class Oracle:
    """Counts errors by type. `self.at` is a position."""

    def __init__(self, history: list[Op], *, ww_deps: bool) -> None:
        self.ops = [op for op in enumerate(history) if op[1]["type"] != "invoke"]
        self.history = history
        self.ww_deps = ww_deps
        self.count: Counter[str] = Counter()
        self.ok_read = {
            (k, v) for _, op in self.of("ok") for k, pairs in polled(op).items() for _, v in pairs
        }
        self.writer = {
            (k, v): at for at, op in self.ops for k, pairs in written(op).items() for _, v in pairs
        }
        self.logs = self.make_logs()
        self.dense = {key: [log[offset] for offset in sorted(log)] for key, log in self.logs.items()}
        self.by_index = {key: [min(values, key=str) for values in log] for key, log in self.dense.items()}
        self.place = {(key, v): i for key, vs in self.by_index.items() for i, v in enumerate(vs)}

    def of(self, *types: str) -> Iterator[tuple[int, Op]]:
        return ((at, op) for at, op in self.ops if op["type"] in types)

    def happened(self, op: Op) -> bool:
        proved = any((k, v) in self.ok_read for k, pairs in written(op).items() for _, v in pairs)
        return op["type"] == "ok" or (op["type"] == "info" and proved)

    def make_logs(self) -> dict[str, dict[int, set[int]]]:
        logs: dict[str, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
        for _, op in self.ops:
            for pairs_of in [polled(op), written(op) if self.happened(op) else {}]:
                for key, pairs in pairs_of.items():
                    for offset, value in pairs:
                        if offset is not None:
                            logs[key][offset].add(value)
        return logs

    def counts(self) -> Counter[str]:
        self.logs_disagree()
        self.bad_reads()
        self.lost()
        self.unseen()
        self.inside()
        self.across("poll", polled, {"ok"}, {"ok", "info", "fail"})
        self.across("send", written, {"ok", "info"}, {"ok", "info"})
        self.cycles()
        return +self.count

    def logs_disagree(self) -> None:
        for log in self.logs.values():
            self.count["inconsistent-offsets"] += sum(len(values) > 1 for values in log.values())
            copies = Counter(value for values in log.values() for value in values)
            self.count["duplicate"] += sum(n > 1 for n in copies.values())

    def bad_reads(self) -> None:
        failed = {(k, v) for _, op in self.of("fail") for k, pairs in written(op).items() for _, v in pairs}
        for _, op in self.ops:
            reads = [(k, v) for k, pairs in polled(op).items() for _, v in pairs]
            own = {(k, v) for k, pairs in written(op).items() for _, v in pairs}
            self.count["precommitted-read"] += bool(own.intersection(reads))
            self.count["G1a"] += sum(read in failed for read in reads) if op["type"] == "ok" else 0

    def lost(self) -> None:
        for key, log in self.dense.items():
            first, last = {}, {}
            for i, values in enumerate(log):
                for value in values:
                    first.setdefault(value, i)
                    last[value] = i
            bound = max((first[v] for k, v in self.ok_read if k == key and v in first), default=-1)
            for value, i in last.items():
                writer = self.writer.get((key, value))
                if i <= bound and (key, value) not in self.ok_read and writer is not None:
                    self.count["lost-write"] += self.happened(self.history[writer])

    def unseen(self) -> None:
        sent: dict[str, set[int]] = {}
        read: dict[str, set[int]] = {}
        for _, op in self.of("ok"):
            if op["f"] not in ("send", "poll", "txn"):
                continue
            for into, pairs_of in ((sent, written(op)), (read, polled(op))):
                for key, pairs in pairs_of.items():
                    into[key] = into.get(key, set()) | {v for _, v in pairs}
            # As the reference does: what was read of a key that was never sent to is taken for unseen.
            sent = {
                key: sent[key] - read.get(key, set()) if key in sent else read[key] for key in sent | read
            }
        self.count["unseen"] += sum(map(len, sent.values()))

    def inside(self) -> None:
        for _, op in self.ops:
            rebalanced = {key for event in op.get("rebalance-log", []) for key in event["keys"]}
            for call, pairs_of in (("poll", polled(op)), ("send", written(op))):
                for key, pairs in pairs_of.items():
                    if call == "poll" and key in rebalanced:
                        continue
                    for (_, a), (_, b) in pairwise(pairs):
                        self.step(f"int-{call}-skip", f"int-nonmonotonic-{call}", key, a, b)

    def step(self, skip: str | None, back: str, key: str, a: int | None, b: int | None) -> None:
        i, j = self.place.get((key, a)), self.place.get((key, b))
        delta = j - i if i is not None and j is not None else 1
        self.count[back] += delta < 1
        if skip:
            self.count[skip] += delta > 1

    def across(self, call: str, pairs_of: Any, counting: set[str], compared: set[str]) -> None:
        for process in {op["process"] for _, op in self.ops}:
            last: dict[str, int | None] = {}
            for _, op in self.ops:
                if op["process"] != process:
                    continue
                if op["f"] in ("assign", "subscribe") and op["type"] != "fail":
                    last = {key: value for key, value in last.items() if key in op["value"]}
                for key, pairs in pairs_of(op).items() if op["type"] in compared else ():
                    if key in last and pairs:
                        skip = "poll-skip" if call == "poll" else None
                        self.step(skip, f"nonmonotonic-{call}", key, last[key], pairs[0][1])
                    if op["type"] in counting:
                        last[key] = pairs[-1][1] if pairs else None

    def cycles(self) -> None:
        begun: dict[int, int] = {}
        invoked: dict[int, int] = {}
        for at, op in enumerate(self.history):
            if op["type"] == "invoke":
                begun[op["process"]] = at
            else:
                invoked[at] = begun[op["process"]]
        data = [at for at, op in self.ops if op["f"] in ("send", "poll", "txn")]
        wr, ww, realtime = set(), set(), set()
        for at, op in self.ops:
            for key, pairs in polled(op).items():
                wr |= {(self.writer.get((key, v)), at) for _, v in pairs}
        for (key, value), at in self.writer.items():
            if self.place.get((key, value), 0):
                ww.add((self.writer.get((key, self.by_index[key][self.place[key, value] - 1])), at))
        for a in data:
            realtime |= {(a, b) for b in data if self.history[a]["type"] == "ok" and a < invoked[b]}
        clean = lambda edges: {(a, b) for a, b in edges if a is not None and a != b}  # noqa: E731
        wr, ww = clean(wr), clean(ww) if self.ww_deps else set()
        self.count["empty-transaction-graph"] += not (wr | ww | realtime)
        for component in components(wr | ww | realtime):
            inside = lambda edges: any(components({e for e in edges if set(e) <= component}))  # noqa: B023, E731
            if inside(ww):
                self.count["PL-1-cycle-exists"] += 1
                continue
            self.count["PL-2-cycle-exists"] += inside(ww | wr)
            self.count["strong-PL-1-cycle-exists"] += inside(ww | realtime)
            self.count["strong-PL-2-cycle-exists"] += not (inside(ww | wr) or inside(ww | realtime))


def components(edges: set[tuple[int, int]]) -> list[frozenset[int]]:
    """Computed from which operation reaches which."""
    reach: dict[int, set[int]] = defaultdict(set)
    for a, b in edges:
        reach[a].add(b)
    for via in list(reach):
        for a in list(reach):
            if via in reach[a]:
                reach[a] |= reach[via]
    found = {frozenset(b for b in reach[a] if a in reach.get(b, ())) for a in reach if a in reach[a]}
    return [component for component in found if len(component) > 1]


KEYS = st.sampled_from(["x", "x", "x", "y"])


def offset(value: int) -> st.SearchStrategy[int | None]:
    """An offset for a value; mostly the one that is equal to the value."""
    return st.one_of(st.just(value), st.just(value), st.just(value), st.integers(0, 6), st.none())


@st.composite
def histories(draw: st.DrawFn) -> list[Op]:
    """A history with many errors; every polled value was sent."""
    sent: list[tuple[str, int]] = []
    plans = []
    for _ in range(draw(st.integers(1, 12))):
        f = draw(st.sampled_from([*["send", "poll", "txn"] * 3, "assign", "subscribe"]))
        mops: list[Any] = []
        for _ in range(draw(st.integers(1, 3))):
            kind = {"send": "send", "poll": "poll"}.get(f) or draw(st.sampled_from(["send", "poll"]))
            mops.append([kind])
            if kind == "send":
                sent.append((draw(KEYS), len(sent)))
                mops[-1] += [sent[-1][0], [draw(offset(sent[-1][1])), sent[-1][1]]]
        plans.append((f, mops))
    history: list[Op] = []
    waiting: dict[int, Op] = {}
    for f, mops in plans:
        for process in draw(st.permutations(sorted(waiting)))[: draw(st.integers(0, 2))]:
            history.append(waiting.pop(process))
        process = draw(st.sampled_from([p for p in range(3) if p not in waiting] or [9]))
        value = (
            draw(st.lists(st.sampled_from(["x", "y"]), unique=True)) if f in ("assign", "subscribe") else mops
        )
        for mop in mops:
            if mop[0] == "poll" and f in ("poll", "txn") and draw(st.integers(0, 9)):
                found: dict[str, list[Any]] = {}
                for key, one in draw(st.lists(st.sampled_from(sent), max_size=3)) if sent else []:
                    found.setdefault(key, []).append([draw(offset(one)), one])
                mop.append(found | ({} if draw(st.integers(0, 5)) else {"y": found.get("y", [])}))
        kind = draw(st.sampled_from(["ok", "ok", "ok", "info", "fail"]))
        done: Op = {"type": kind, "f": f, "process": process, "value": value}
        if f in ("poll", "txn") and not draw(st.integers(0, 4)):
            done["rebalance-log"] = [{"keys": ["x"]}]
        history.append({"type": "invoke", "f": f, "process": process})
        if process in waiting:
            history.insert(-1, waiting.pop(process))
        waiting[process] = done
    history += waiting.values()
    return history


POLLS_A_VALUE_NEVER_SENT = [
    {"type": "invoke", "f": "poll", "process": 0},
    {"type": "ok", "f": "poll", "process": 0, "value": [["poll", {"x": [[0, 7]]}]]},
    {"type": "invoke", "f": "send", "process": 0},
    {"type": "ok", "f": "send", "process": 0, "value": [["send", "y", [0, 1]]]},
    {"type": "invoke", "f": "poll", "process": 0},
    {"type": "ok", "f": "poll", "process": 0, "value": [["poll", {"y": [[0, 1]]}]]},
]
POLLS_NO_KNOWN_OFFSET = [
    {"type": "invoke", "f": "send", "process": 0},
    {"type": "ok", "f": "send", "process": 0, "value": [["send", "x", 1]]},
    {"type": "invoke", "f": "poll", "process": 0},
    {"type": "ok", "f": "poll", "process": 0, "value": [["poll", {"x": [[None, 1]], "y": []}]]},
]


@pytest.fixture(scope="module")
def judged(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """Hypothesis only draws the histories. All of them are judged in one call for each option."""
    histories: dict[str, Any] = {}

    @settings(
        max_examples=HISTORIES,
        phases=[Phase.generate],
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(histories())
    def draw(history: list[Op]) -> None:
        histories[f"h{len(histories)}"] = history

    draw()
    histories |= {"never-sent": POLLS_A_VALUE_NEVER_SENT, "no-offset": POLLS_NO_KNOWN_OFFSET}
    # Cut in the middle of a row, after rows that parse: of those nothing may be left.
    texts = {"cut": json.dumps(POLLS_A_VALUE_NEVER_SENT)[:-9], "empty": ""}
    texts |= {name: json.dumps(history) for name, history in histories.items()}
    folder: Path = tmp_path_factory.mktemp("histories")
    for name, text in texts.items():
        (folder / name).write_text(text)
    files = [folder / name for name in texts]
    answers = {
        ww_deps: dict(zip(texts, analyze(spark, files, options=Options(ww_deps=ww_deps)), strict=True))
        for ww_deps in (True, False)
    }
    return {"histories": histories, "answers": answers}


@pytest.mark.parametrize("ww_deps", [True, False])
def test_the_profile_agrees_with_the_oracle(judged: Any, ww_deps: bool) -> None:
    met: Counter[str] = Counter()
    cycles = {"G0", "G1c", "G0-realtime", "G1c-realtime"}
    for name, history in judged["histories"].items():
        expected = Oracle(history, ww_deps=ww_deps).counts()
        met.update(expected.keys())
        found = {kind: n for kind, n in judged["answers"][ww_deps][name].counts.items() if kind not in cycles}
        assert found == dict(expected), history
    # Each rule must apply to several histories; otherwise the agreement is vacuous.
    rare = {"PL-1-cycle-exists", "strong-PL-1-cycle-exists"} if not ww_deps else set()
    every = {
        *("duplicate", "inconsistent-offsets", "G1a", "precommitted-read", "lost-write", "unseen"),
        *("int-poll-skip", "int-nonmonotonic-poll", "int-send-skip", "int-nonmonotonic-send"),
        *("poll-skip", "nonmonotonic-poll", "nonmonotonic-send", "empty-transaction-graph"),
        *("PL-1-cycle-exists", "PL-2-cycle-exists", "strong-PL-1-cycle-exists", "strong-PL-2-cycle-exists"),
    }
    assert {kind for kind in every - rare if met[kind] < 5} == set()


def test_every_violated_level_has_a_cycle(judged: Any) -> None:
    for name in judged["histories"]:
        counts = judged["answers"][True][name].counts
        levels = sum(n for kind, n in counts.items() if kind.endswith("-cycle-exists"))
        assert levels == sum(n for kind, n in counts.items() if kind.startswith(("G0", "G1c")))


def test_histories_on_which_the_reference_crashes(judged: Any) -> None:
    never_sent = judged["answers"][True]["never-sent"]
    assert never_sent.valid == "unknown"
    assert "1 value(s) were polled that no completed operation sent, the first 7" in never_sent.reasons[0]
    assert judged["answers"][True]["no-offset"].valid is True


def test_files_that_are_not_histories(judged: Any) -> None:
    for name, said in (("cut", "after row 4: no JSON"), ("empty", "holds no operation")):
        answer = judged["answers"][True][name]
        assert (answer.valid, answer.errors) == ("unknown", {})
        assert said in str(answer.error)
        assert answer.file in str(answer.error)
