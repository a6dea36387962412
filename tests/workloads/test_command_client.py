"""Clients as processes: what they send and get, and how failures of the process itself are reported."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from tests.support import fake_client
from tests.support.fake_client import FLAWS
from workloads.clients.command import process as processes
from workloads.clients.command.library import CommandLibrary, introduce
from workloads.clients.command.member import CommandMember
from workloads.clients.command.messages import Error, Move, Poll, Position, Refusal
from workloads.clients.command.process import ClientFailure, ClientProcess
from workloads.clients.connection import Address
from workloads.clients.outcome import NOT_WRITTEN, REFUSED
from workloads.clients.protocol import OUTSIDE, Completion, Ending, MemberEvent
from workloads.keys import Keyed

BROKERS = (Address("files", 1),)
"""Never asked, because the client has files."""

TOPIC = "orders-2"
LOG, OTHER = (TOPIC, 0), (TOPIC, 1)
PROGRAM = str(Path(fake_client.__file__))

Make = Callable[..., CommandLibrary]


@pytest.fixture
def make(tmp_path: Path, request: pytest.FixtureRequest) -> Make:
    """A library of the fake client with these options."""

    def made(*options: str) -> CommandLibrary:
        name = " ".join(["command:", sys.executable, "-I", "-S", PROGRAM, str(tmp_path), *options])
        library = CommandLibrary(name, log=tmp_path / "client.log")
        request.addfinalizer(library.close)
        return library

    return made


def processes_of_clients() -> list[int]:
    """Process ids of the clients that run."""
    running = psutil.Process().children()
    return [
        each.pid for each in running if each.status() != psutil.STATUS_ZOMBIE and PROGRAM in each.cmdline()
    ]


def producer(library: CommandLibrary, **settings: Any) -> Any:
    return library.producer(
        bootstrap=BROKERS, topics=(TOPIC,), acks="all", idempotence=True, settings=settings
    )


def consumer(library: CommandLibrary, *, committed: bool = False, start: int = 0) -> Any:
    return library.consumer(
        bootstrap=BROKERS, start={LOG: start, OTHER: 0}, committed=committed, assignment=3
    )


def member(library: CommandLibrary, **settings: Any) -> Any:
    return library.member(
        bootstrap=BROKERS, topics=(TOPIC,), group="g", settings={"assignor": "range", **settings}
    )


def transactional(library: CommandLibrary) -> Any:
    return library.transactional(
        bootstrap=BROKERS, topics=(TOPIC,), transactional_id="t", timeout=10, settings={}
    )


def take(one: Any, count: int) -> list[Completion]:
    taken: list[Completion] = []
    deadline = time.monotonic() + 20
    while len(taken) < count and time.monotonic() < deadline:
        taken += one.take(0.1)
    assert len(taken) == count, taken
    return taken


def wrote(library: CommandLibrary, count: int) -> None:
    one = producer(library)
    for op in range(count):
        one.send(op, LOG, str(op).encode())
    take(one, count)
    one.close(1)


def test_each_send_ends_once_with_its_offset(make: Make) -> None:
    one = producer(make())
    ops = [op << 48 for op in range(100)]
    for op in ops:
        one.send(op, LOG, b"x")
    assert one.in_flight == 100
    taken = take(one, 100)
    assert [each.op for each in taken] == ops
    assert [each.outcome for each in taken] == [("ok", offset, None) for offset in range(100)]
    assert (one.in_flight, one.problem(), one.take(0), one.close(1)) == (0, None, [], [])


def test_an_error_fails_a_send_only_if_nothing_was_written(make: Make) -> None:
    """It was not sent; one attempt was refused; an error that nobody knows promises nothing."""
    one = producer(make())
    one.send(1, (TOPIC, 7), b"x")
    one.send(2, ("small-1", 0), b"x" * 2000)
    one.send(3, LOG, b"x", Keyed(1 << 70))
    outcomes = {each.op: each.outcome for each in take(one, 3)}
    assert outcomes == {
        1: ("fail", None, "REQUEST_TIMED_OUT"),
        2: ("fail", None, "MESSAGE_TOO_LARGE"),
        3: ("fail", None, "error"),
    }
    other = producer(make("--flaw", "unknown-error"))
    other.send(4, LOG, b"x")
    assert [each.outcome for each in take(other, 1)] == [("info", None, "SOMETHING_NEW")]


def test_the_outcome_table_has_the_same_errors_in_kafkas_names() -> None:
    import kafka.errors

    from workloads.clients.command.producer import REFUSED as names

    differently = {"MESSAGE_SIZE_TOO_LARGE": "MESSAGE_TOO_LARGE", "INVALID_TOPIC": "INVALID_TOPIC_EXCEPTION"}
    classes = [*REFUSED, *(name for name, origin in NOT_WRITTEN.items() if origin == "broker")]
    ours = {getattr(kafka.errors, name).message for name in classes}
    assert {differently.get(name, name) for name in ours} == names


def test_without_completions_the_sends_of_a_closed_producer_are_unknown(make: Make) -> None:
    one = producer(make("--flaw", "never-acks"))
    one.send(1, LOG, b"x")
    assert [each.outcome.type for each in one.close(0)] == ["info"]


def test_a_process_serves_one_client_after_another(make: Make) -> None:
    library = make()
    wrote(library, 3)
    (first,) = processes_of_clients()
    reader = consumer(library)
    assert [(each.offset, each.payload, each.leader_epoch) for each in reader.poll(0.1)] == [
        (0, b"0", 0), (1, b"1", 0), (2, b"2", 0),
    ]  # fmt: skip
    other = consumer(library)
    assert len(processes_of_clients()) == 2, "the first one is in use"
    reader.close()
    other.close()
    consumer(library)
    consumer(library)
    assert len(processes_of_clients()) == 2
    assert first in processes_of_clients()
    library.close()
    assert processes_of_clients() == []


def test_a_reader_goes_where_it_is_sent_and_passes_markers(make: Make) -> None:
    library = make()
    wrote(library, 2)
    one = transactional(library)
    for op, outcome in ((5, "commit"), (6, "abort")):
        one.begin()
        one.send(op, LOG, str(op).encode())
        take(one, 1)
        assert one.end(outcome, 5) == Ending("ok")
    assert (one.producer_id, one.epoch) == (7001, 0)
    reader = consumer(make(), committed=True)
    assert [each.payload for each in reader.poll(0.1)] == [b"0", b"1", b"5"]
    assert reader.positions == {LOG: 6, OTHER: 0}
    assert (reader.assignment, reader.leader_epoch(LOG), reader.leader_epoch(OTHER)) == (3, 0, -1)
    reader.seek(LOG, 1)
    assert (reader.assignment, reader.positions[LOG]) == (4, 1)
    reader.only((OTHER,))
    assert not reader.poll(0.1)
    reader.only((LOG, OTHER))
    assert [each.offset for each in reader.poll(0.1)] == [1, 2]
    with pytest.raises(ValueError, match="are not assigned"):
        reader.only((("x", 0),))


def test_a_position_counts_as_lost_when_it_was_refused_several_times(make: Make) -> None:
    reader = consumer(make(), start=40)
    for _ in range(5):
        assert reader.lost() == []
        reader.poll(0)
    assert [(each.log, each.position, each.divergence) for each in reader.lost()] == [(LOG, 40, None)]
    reader.seek(LOG, 0)
    assert reader.lost() == []


def test_a_member_commits_and_the_next_one_goes_on(make: Make) -> None:
    library = make()
    wrote(library, 4)
    one = member(library)
    assert (one.id, one.generation, one.membership, one.positions) == ("", None, None, {})
    assert [each.offset for each in one.poll(0.1)] == [0, 1, 2, 3]
    events: list[MemberEvent] = one.events()
    assert [(each.event, each.log, each.start) for each in events] == [
        ("assigned", LOG, 0),
        ("assigned", OTHER, 0),
    ]
    assert all(each.at <= time.monotonic_ns() for each in events)
    assert (one.id.startswith("member-"), one.generation, one.assignment) == (True, 1, 2)
    assert one.commit({LOG: 3}, 1) == Ending("ok")
    other = member(make())
    other.poll(0.1)
    assert one.commit({LOG: 4}, 1) == Ending("info", "ILLEGAL_GENERATION")
    one.close()
    assert {(each.event, each.log) for each in one.events()} == {("revoked", LOG), ("revoked", OTHER)}
    assert one.positions == {}
    assert [each.offset for each in other.poll(0.1)] == [3]
    assert (other.generation, other.positions) == (3, {LOG: 4, OTHER: 0})


def test_offsets_are_part_of_a_transaction_with_a_membership(make: Make) -> None:
    library = make()
    wrote(library, 4)
    one, reader = transactional(library), member(library, committed=True)
    reader.poll(0.1)
    one.begin()
    assert one.add_positions({LOG: 2}, None, 1) == Ending("fail", OUTSIDE)
    assert one.add_positions({LOG: 2}, reader.membership, 1) == Ending("ok")
    assert one.end("commit", 1) == Ending("ok")
    reader.close()
    again = member(library)
    assert [each.offset for each in again.poll(0.1)] == [2, 3]


def test_a_new_owner_of_an_id_fences_the_former_one(make: Make) -> None:
    library = make()
    one = transactional(library)
    one.begin()
    other = transactional(library)
    assert other.epoch == 1
    assert one.end("commit", 1) == Ending("info", "PRODUCER_FENCED")
    with pytest.raises(ConnectionError, match="cannot begin a transaction: PRODUCER_FENCED"):
        one.begin()


def test_keys_tombstones_and_bodies_arrive_as_they_were_sent(make: Make) -> None:
    library = make()
    one = producer(library)
    sent = [(b"payload", Keyed(5)), (b"gone", Keyed(5, tombstone=True)), (b"plain", None)]
    for op, (payload, keyed) in enumerate(sent):
        one.send(op, LOG, payload, keyed)
    take(one, 3)
    polled = consumer(library).poll(0.1)
    assert [(each.payload, each.keyed) for each in polled] == sent


def test_brokers_that_do_not_answer_are_an_os_error_and_wrong_settings_a_failure(make: Make) -> None:
    library = make()
    with pytest.raises(ConnectionError, match="could not connect: REQUEST_TIMED_OUT"):
        library.producer(
            bootstrap=(Address("unreachable", 1),), topics=(), acks=1, idempotence=False, settings={}
        )
    with pytest.raises(ClientFailure, match=r"refuses its settings: INVALID_CONFIG: no\.such\.setting"):
        producer(library, **{"no.such.setting": 1})


def test_the_processs_end_ends_the_client(make: Make) -> None:
    one = producer(make())
    (pid,) = processes_of_clients()
    os.kill(pid, 9)
    with pytest.raises(ClientFailure, match="ended by itself with signal 9"):
        send_until_it_fails(one)


def send_until_it_fails(one: Any) -> None:
    for op in range(100):
        one.send(op, LOG, b"x")
        one.take(0.1)


def use(library: CommandLibrary, *, consumes: bool) -> None:
    if consumes:
        consumer(library).poll(0.2)
        return
    one = producer(library)
    one.send(1, LOG, b"x")
    one.take(0.2)
    one.take(0.5)
    one.close(0.2)


WRONG = {
    "wrong-version": "speaks version 1, and kafkacheck speaks version 2",
    "no-hello": "ended by itself with status 3; its last output: Exception in thread main",
    "garbage-hello": "wrote a line that is no JSON object: Picked up JAVA_TOOL_OPTIONS: -Xmx1g",
    "garbage": r"wrote a line that is no JSON object: \[main\] WARN something happened; it printed nothing",
    "out-of-turn": r"answered out of turn, while request \d+ \(\w+\) was under way",
    "unasked": "completed record 999999, which was not sent|completed records, and none were under way",
    "dies": "ended by itself with status 1.*; its last output: fatal: out of memory",
    "silent": "has not written its answer to '.*' within 1 s",
    "no-position": "answer to 'poll' that is not in the form of the protocol: .* missing required field `positions`",
    "acks-twice": "completed record 1, which was not sent or is completed already",
    "foreign-record": "returned a record of other-1-0, which is not polled",
    "closes-output": "has closed its output",
}


@pytest.mark.parametrize("flaw", WRONG)
def test_a_client_that_breaks_the_protocol_is_reported_in_one_line(
    make: Make, flaw: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Only what never comes is not waited for: a busy machine delays the rest.
    if flaw == "silent":
        monkeypatch.setattr(processes, "GRACE", 0.6)
    if flaw == "closes-output":
        monkeypatch.setattr(processes, "END_LIMIT", 1.0)
    after = "0" if flaw in ("no-position", "foreign-record") else "1"
    library = make("--flaw", flaw, "--after", after)
    with pytest.raises(ClientFailure, match=WRONG[flaw]) as caught:
        use(library, consumes=after == "0")
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("client '"), caught.value
    assert set(WRONG) <= set(FLAWS)


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"offsets": [1, 2], "values": ["eA=="]}, "a column of 1 values for 2 offsets"),
        ({"offsets": [1], "values": [None], "keys": []}, "a column of 0 values for 1 offsets"),
        ({"offsets": [], "values": []}, "a batch without offsets"),
        ({"offset": 1, "value": "eA=="}, "missing required field `offsets`"),
    ],
)
def test_columns_of_a_poll_that_do_not_fit(columns: dict[str, Any], problem: str) -> None:
    answer = {"records": [{"topic": "t", "partition": 0, **columns}], "positions": []}
    with pytest.raises(msgspec.ValidationError, match=problem):
        msgspec.convert(answer, Poll)


def test_a_program_that_is_not_there_and_one_that_cannot_be_run() -> None:
    with pytest.raises(ClientFailure, match="there is no program '/no/such/program' that can be executed"):
        introduce("command:/no/such/program x")
    with pytest.raises(ClientFailure, match=r"by itself with status 2; its last output: .*no_such_file"):
        introduce(f"command:{sys.executable} no_such_file.py")
    for name, problem in (("command: ", "expected a command"), ("command:a 'b", "No closing quotation")):
        with pytest.raises(ValueError, match=problem):
            CommandLibrary(name)


def test_a_missing_capability_is_named(make: Make) -> None:
    with pytest.raises(ClientFailure, match=r"\(fake 1.0\) has no transactions$"):
        transactional(make("--without", "transactions"))
    with pytest.raises(ClientFailure, match="has no assignor-sticky"):
        member(make(), assignor="sticky")


def test_settings_that_follow_from_the_workload_are_ours() -> None:
    library = CommandLibrary("command:x")
    library.check_producer_setting("linger.ms")
    for name in ("acks", "ssl.truststore.location", "transactional.id"):
        with pytest.raises(ValueError, match="kafkacheck sets this itself"):
            library.check_producer_setting(name)
    with pytest.raises(ValueError, match="commits within a poll"):
        library.check_member({"commits_in_poll": "auto"})


class Stating:
    """A client process whose next answer states an event. answered: before and after it, in ns."""

    def __init__(self) -> None:
        self.moves: list[Move] = []
        self.answered = 0, 0

    def call(self, *_: Any, **__: Any) -> Poll:
        began = time.monotonic_ns()
        time.sleep(0.001)
        self.answered = began, time.monotonic_ns()
        return Poll(records=[], positions=[], events=self.moves)


def test_times_of_events_count_only_if_they_are_of_our_clock() -> None:
    """Otherwise a partition is given up when the request begins: two owners at a time are then never invented."""
    before = time.monotonic_ns()
    for has_clock in (True, False):
        client: Any = Stating()
        one = CommandMember(
            lambda client=client: client, lambda _: None, config={}, topics=(TOPIC,), has_clock=has_clock
        )
        one.poll(0)
        opened = time.monotonic_ns()

        def at(event: str, stated: int | None, one: CommandMember = one, client: Any = client) -> int:
            client.moves = [Move(*LOG, event, None, None, stated)]
            one.poll(0)
            (stated_event,) = one.events()
            return stated_event.at

        def is_of_the_request(at: int, since: int, client: Any = client) -> bool:
            return since <= at <= client.answered[0]

        def is_of_the_answer(at: int, client: Any = client) -> bool:
            return bool(client.answered[1] <= at <= time.monotonic_ns())

        for event in ("revoked", "lost"):
            for stated in (None, 2 * opened, 3, before) if has_clock else (None, opened):
                since = time.monotonic_ns()
                assert is_of_the_request(at(event, stated), since)
        for stated in (None, 2 * opened, 3, before) if has_clock else (None, opened):
            assert is_of_the_answer(at("assigned", stated))
        if has_clock:
            assert at("revoked", opened) == opened, "within an earlier request that failed"
            assert at("assigned", opened) == opened


def test_a_poll_that_fails_for_good_makes_another_client(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = consumer(make())
    call = ClientProcess.call
    calls: list[str] = []

    def refusing(process: ClientProcess, do: str, *form: Any, **fields: Any) -> Any:
        calls.append(do)
        if do == "poll" and len(calls) == 1:
            raise Refusal(Error("GROUP_AUTHORIZATION_FAILED"))
        return call(process, do, *form, **fields)

    monkeypatch.setattr(ClientProcess, "call", refusing)
    assert not reader.poll(0.1)
    assert calls == ["poll", "close", "open", "only"]
    assert (reader.assignment, len(reader.poll(0.1))) == (4, 0)


def test_a_position_of_a_member_is_where_its_library_goes_on(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after a topic was created again, or with auto.offset.reset, which may move it either way."""
    library = make()
    wrote(library, 4)
    one = member(library)
    one.poll(0.1)
    for offset in (90, 0):
        answer = Poll(
            records=[], positions=[Position(*LOG, offset)], member=one.id, generation=one.generation
        )
        with monkeypatch.context() as patch:
            patch.setattr(ClientProcess, "call", lambda *_, answer=answer, **__: answer)
            one.poll(0.1)
        assert one.positions == {LOG: offset, OTHER: 0}
