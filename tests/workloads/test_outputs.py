"""What is waited for at the end of a pipeline, and what is recorded of the output."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.workloads.test_transactions import rows
from workloads.clients.kafka_python.outputs import Output
from workloads.clients.protocol import Log
from workloads.reference import NotLoadable
from workloads.roles import application_output, output_audit
from workloads.roles.application_output import (
    UNNAMED,
    OutputSource,
    Sender,
    Senders,
    UnknownIdentity,
    excerpt,
)
from workloads.roles.context import WorkerContext

SOURCE, SINK = ("s-r", 0), ("o-r", 0)
OPTIONS = {
    "source": "s", "sink": "o", "group": "g", "identify": None, "aggregate": None, "instances": 2,
    "guarantee": "exactly-once", "quiet": 10.0,
    "settle": 60.0,
}  # fmt: skip


def output(
    offset: int, value: bytes = b"1", timestamp: int | None = 5, *, key: bytes | None = None, log: Log = SINK
) -> Output:
    return Output(log, offset, timestamp, key, value, ())


class FakeConsumer:
    """Gives one of the lists at each poll."""

    def __init__(self, polls: Sequence[list[Output]], log: Log = SINK) -> None:
        self._polls, self._log = [*polls], log
        self.positions: dict[Log, int] = {log: 0}
        self.closed = False

    def only(self, logs: tuple[Log, ...]) -> None:
        assert logs == (self._log,)

    def outputs(self, _: float) -> list[Output]:
        polled = self._polls.pop(0) if self._polls else []
        if polled:
            self.positions[self._log] = polled[-1].offset + 1
        return polled

    def close(self) -> None:
        self.closed = True


class FakeSource:
    """An output names the inputs whose numbers are its value."""

    group, sink = "g-r", "o-r"

    def __init__(self, polls: Sequence[list[Output]], **scripted: Any) -> None:
        self.made = FakeConsumer(polls)
        self.scripted = {
            "inputs": 2, "has_passed": False, "positions": {("s-r", 0): 7}, "ends": (3, 3),
            "has_function": False, "aggregate": None, "fed": [], "senders": {}, **scripted,
        }  # fmt: skip
        self.has_function, self.aggregate = self.scripted["has_function"], self.scripted["aggregate"]

    def consumer(self) -> FakeConsumer:
        return self.made

    def input_consumer(self) -> FakeConsumer:
        return FakeConsumer([self.scripted["fed"]], SOURCE)

    def input_ends(self) -> dict[Log, int]:
        return {SOURCE: len(self.scripted["fed"])}

    def keys(self, output: Output) -> list[str]:
        return [(output.key or b"").decode()]

    def senders(self, ends: Any) -> Senders:
        assert set(ends) == {SINK}
        senders = Senders()
        for base, sender in self.scripted["senders"].items():
            senders.add(SINK, base, sender)
        return senders

    def inputs(self) -> int:
        return int(self.scripted["inputs"])

    def has_passed(self) -> bool:
        return bool(self.scripted["has_passed"])

    def positions(self) -> dict[Log, int]:
        return dict(self.scripted["positions"])

    def sink_ends(self, *, committed: bool = False) -> dict[Log, int]:
        ends = self.scripted["ends"]
        if isinstance(ends, Exception):
            raise ends
        return {SINK: ends[0] if committed else ends[1]}

    def named(self, output: Output) -> list[int]:
        if output.value == b"bad":
            raise UnknownIdentity("identify raised")
        return [*map(int, (output.value or b"").split())]


class World:
    """A worker context whose clock moves by 0.2 s at each look."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reports: list[str] = []
        order = {
            "role": "x", "process": 8, "session": None, "run": "r", "home": str(home), "brokers": {1: ["h", 9]},
            "topics": {"s-r": 1, "o-r": 1}, "options": dict(OPTIONS), "library": "kafka-python",
        }  # fmt: skip
        self.home, self.now = home, 0.0
        self.context = WorkerContext(order, report=self.reports.append)
        self.context.go.set()
        self.context.stop.set()
        monkeypatch.setattr(self.context.gone, "wait", lambda _: False)
        self._monkeypatch = monkeypatch
        monkeypatch.setattr(output_audit, "record_group_log", lambda *_, **__: None)
        for module in (application_output, output_audit):
            monkeypatch.setattr(module.time, "monotonic", self._monotonic)

    def _monotonic(self) -> float:
        self.now += 0.2
        return self.now

    def has(self, source: Any) -> FakeSource:
        def made(_: WorkerContext) -> Any:
            if isinstance(source, Exception):
                raise source
            return source

        for module in (application_output, output_audit):
            self._monkeypatch.setattr(module, "OutputSource", made)
        return source  # type: ignore[no-any-return]

    @property
    def problems(self) -> list[str]:
        return [line.removeprefix("problem ") for line in self.reports if line.startswith("problem")]

    def recorded(self) -> list[dict[str, Any]]:
        output_audit.record_outputs(self.context)
        self.context.close()
        return rows(self.home, "operations")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(tmp_path, monkeypatch)


def test_it_waits_for_an_output_of_each_input_and_then_for_a_short_quiet(world: World) -> None:
    source = world.has(FakeSource([[output(0)], *[[]] * 20, [output(1, b"2")]]))
    application_output.wait_for_outputs(world.context)
    assert source.made.closed
    assert (
        21 * 0.2 + application_output.SHORT_QUIET <= world.now < 21 * 0.2 + application_output.SHORT_QUIET + 2
    )
    assert world.problems == []


def test_an_input_may_come_late_as_long_as_the_output_was_not_quiet_for_long(world: World) -> None:
    world.has(FakeSource([[output(0)]]))
    application_output.wait_for_outputs(world.context)
    assert OPTIONS["quiet"] < world.now < OPTIONS["quiet"] + 2  # type: ignore[operator]
    assert world.problems == []


def test_a_group_that_has_committed_everything_makes_nothing_more(world: World) -> None:
    world.has(FakeSource([[output(0)]], has_passed=True))
    application_output.wait_for_outputs(world.context)
    assert world.now < application_output.SHORT_QUIET + application_output.ASK_AGAIN + 2


def test_what_names_no_input_is_no_output_of_one(world: World) -> None:
    world.has(FakeSource([[output(0), output(1, b"-1")]]))
    application_output.wait_for_outputs(world.context)
    assert world.now > OPTIONS["quiet"]  # type: ignore[operator]


def test_an_output_that_is_never_quiet_is_a_problem(world: World) -> None:
    world.has(FakeSource([[output(at)] for at in range(1000)]))
    application_output.wait_for_outputs(world.context)
    (problem,) = world.problems
    assert problem.startswith("The output o-r was not quiet 60 s after the last input: it had ")
    assert "records that name 1 of 2 inputs" in problem


def test_aggregates_that_are_never_quiet_name_no_inputs(world: World) -> None:
    world.has(FakeSource([[output(at, b"")] for at in range(1000)], aggregate=no_answer))
    application_output.wait_for_outputs(world.context)
    (problem,) = world.problems
    assert " records, and the application went on writing" in problem


@pytest.mark.parametrize("source", [NotLoadable("x"), FakeSource([[output(0, b"bad")]])])
def test_a_function_that_fails_ends_the_wait_and_is_reported_once(world: World, source: Any) -> None:
    world.has(source)
    application_output.wait_for_outputs(world.context)
    assert world.problems == []


def test_each_input_that_an_output_names_has_a_row(world: World) -> None:
    polls = [[output(0, b"1 2")], [output(1, b""), output(2, b"-1", None), output(3)]]
    world.has(FakeSource(polls))
    found = world.recorded()
    made = [(each["start_offset"], json.loads(each["value"])["source"]) for each in found[:-1]]
    assert made == [(0, 1), (0, 2), (1, None), (2, None)], "the record at the end belongs to somebody else"
    assert [json.loads(each["value"])["written"] is None for each in found[:-1]] == [False] * 3 + [True]
    last = found[-1]
    assert (last["f"], last["type"], last["topic"], last["end_offset"]) == ("pipeline", "ok", "s-r", 7)
    assert (last["group"], json.loads(last["value"])) == ("g-r", {"sink": "o-r", "guarantee": "exactly-once"})
    assert world.problems == []


def test_an_output_has_its_producer_where_the_headers_were_read(world: World) -> None:
    senders = {1: Sender(77, True), 2: Sender(None, False)}
    world.has(FakeSource([[output(0), output(1), output(2)]], senders=senders))
    made = [json.loads(row["value"]) for row in world.recorded() if row["f"] == "output"]
    told = [(each.get("producer", "unknown"), each.get("transactional")) for each in made]
    assert told == [("unknown", None), (77, True), (None, False)]


def test_a_function_may_leave_records_out(world: World) -> None:
    world.has(FakeSource([[output(0), output(1, b""), output(2, b"-1")]], has_function=True))
    assert [each["start_offset"] for each in world.recorded()[:-1]] == [0, 2]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (FakeSource([], ends=(0, 0)), "the application wrote nothing to o-r"),
        (FakeSource([[output(0, b""), output(2, b"")]]),
         "none of the 2 records of o-r names an input by the header kafkacheck or by its token: let the application "
         "pass one of them on, or set identify. The last one: key None, value b'', headers none"),
        (FakeSource([[output(2, b"")]], has_function=True), "The last one: identify found nothing"),
        (FakeSource([[output(0, b"bad")]]), "identify raised"),
        (FakeSource([[output(0)]]), "o-r-0 was not read to its end, 3, within 60 s"),
        (FakeSource([], ends=(1, 3)), "a transaction is open in o-r-0 at offset 1, 60 s after the application ended"),
        (FakeSource([], ends=TimeoutError("no leader")), "no leader"),
        (NotLoadable("no file"), "a function cannot be loaded: no file"),
    ],
)  # fmt: skip
def test_outputs_that_are_not_all_known_are_a_problem(world: World, source: Any, said: str) -> None:
    world.has(source)
    last = world.recorded()[-1]
    (problem,) = world.problems
    assert problem.startswith("The outputs cannot be judged: ")
    assert said in problem
    assert (last["f"], last["type"]) == ("pipeline", "info")
    assert said in last["error"]


FED = [output(at, b"1", key=key, log=SOURCE) for at, key in enumerate((b"a", b"b", b"a"))]


def counted(key: str, inputs: list[Output], outputs: list[Output]) -> bool | str:
    """The last output of a key is the number of its inputs."""
    if not outputs:
        return False
    count = int(outputs[-1].value or b"")
    return count == len(inputs) or f"{count} instead of {len(inputs)} of {key}"


def test_aggregates_are_judged_by_key(world: World) -> None:
    """Inputs of two keys; the outputs of the second one are wrong, and one has a key that was not fed."""
    polls = [output(at, value, key=key) for at, (key, value) in enumerate(
        ((b"a", b"1"), (b"b", b"4"), (b"x", b"7"), (b"a", b"2"))
    )]  # fmt: skip
    positions = {SOURCE: 3}
    world.has(FakeSource([polls], ends=(4, 4), aggregate=counted, fed=FED, positions=positions))
    *found, strange, last = world.recorded()
    about = [json.loads(each["value"]) for each in found]
    assert [(each["of_key"], each["inputs"], each["outputs"], each["wrong"], each["last"]) for each in about] == [
        ("a", 2, 2, None, "0 at 3"), ("b", 1, 1, "4 instead of 1 of b", "0 at 1")
    ]  # fmt: skip
    assert {(each["f"], each["type"], each["topic"], each["partition"]) for each in found} == {
        ("aggregate", "ok", *SOURCE)
    }
    assert (strange["f"], strange["start_offset"], json.loads(strange["value"])["source"]) == (
        "output",
        2,
        None,
    )
    assert (last["f"], last["type"], json.loads(last["value"])["sink"]) == ("pipeline", "ok", "o-r")
    assert world.problems == []


def test_a_key_without_an_output_is_judged_as_well(world: World) -> None:
    source = FakeSource(
        [[output(0, b"2", key=b"a")]], ends=(1, 1), aggregate=counted, fed=FED, positions={SOURCE: 3}
    )
    world.has(source)
    about = [json.loads(each["value"]) for each in world.recorded()[:-1]]
    assert [(each["of_key"], each["wrong"], each["last"]) for each in about] == [
        ("a", None, "0 at 0"),
        ("b", "the function aggregate returned False", None),
    ]


def test_keys_with_an_input_that_the_group_has_not_passed_are_not_judged(world: World) -> None:
    source = FakeSource([[output(0, b"1", key=b"b")]], ends=(1, 1), aggregate=counted, fed=FED)
    source.scripted["positions"] = {SOURCE: 2}
    world.has(source)
    assert [json.loads(each["value"])["of_key"] for each in world.recorded()[:-1]] == ["b"]


def no_answer(*_: Any) -> None:
    pass


@pytest.mark.parametrize(
    ("polls", "judge", "said"),
    [
        ([], counted, "the application wrote nothing to o-r"),
        ([output(0, key=b"x")], counted,
         "none of the 1 records of o-r has the key of an input: let the application write aggregates with the key of "
         "their inputs, or set identify, which returns these keys. The last one: key b'x'"),
        ([output(0, b"x", key=b"a")], counted,
         "aggregate raised ValueError (invalid literal for int() with base 10: b'x') for a with 2 inputs and 1 "
         "outputs"),
        ([output(0, key=b"a")], no_answer,
         "aggregate returned None for a with 2 inputs and 1 outputs: expected True, False, or text that says what is "
         "wrong"),
        ([output(0, key=b"a")], lambda *_: "", "aggregate returned '' for a"),
        ([output(0, key=b"a")], lambda *_: 1, "aggregate returned 1 for a"),
    ],
)  # fmt: skip
def test_aggregates_that_cannot_be_judged_are_a_problem(
    world: World, polls: list[Output], judge: Any, said: str
) -> None:
    ends = (len(polls), len(polls))
    world.has(FakeSource([polls], ends=ends, aggregate=judge, fed=FED, positions={SOURCE: 3}))
    (last,) = world.recorded()
    (problem,) = world.problems
    assert problem.startswith("The outputs cannot be judged: ")
    assert said in problem
    assert (last["f"], last["type"]) == ("pipeline", "info")


def test_an_aggregate_belongs_to_the_keys_that_the_function_returns(world: World) -> None:
    options = world.context.options
    options["aggregate"] = {"module": "test_outputs", "name": "counted", "file": __file__}
    source = OutputSource(world.context)
    assert source.aggregate is not None
    assert source.aggregate.__name__ == "counted"
    assert source.keys(output(0, key=b"a")) == ["a"]
    assert source.named(output(0, key=b"a")) == [], "no single input"
    options["identify"] = {"module": "test_outputs", "name": "raises", "file": __file__}
    with pytest.raises(UnknownIdentity, match=r"identify raised KeyError \('id'\) for offset 4"):
        OutputSource(world.context).keys(output(4))


def test_what_the_function_of_the_user_raises_is_said_with_the_output(world: World) -> None:
    world.context.options["identify"] = {
        "module": __name__.rpartition(".")[2],
        "name": "raises",
        "file": __file__,
    }
    source = OutputSource(world.context)
    assert (source.group, source.sink, source.has_function) == ("g-r", "o-r", True)
    with pytest.raises(
        UnknownIdentity, match=r"identify raised KeyError \('id'\) for offset 4 of o-r-0: key None"
    ):
        source.named(output(4))
    long = output(0, b"x" * 500)
    assert len(excerpt(long)) < 250
    assert UNNAMED < 0


def raises(*_: Any) -> list[str]:
    raise KeyError("id")
