"""How sends and transactions of the Java client end, with releases of kafka-clients, on a fake broker.

`fail` claims that a record is never read, or that a commit never takes effect. So a test that expects it also shows
that no request asked for it, or that the coordinator acknowledged an abort.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kafka.errors as errors
import pytest
from kafka.protocol.metadata import FindCoordinatorRequest
from kafka.protocol.producer import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    ProduceRequest,
    TxnOffsetCommitRequest,
)

from tests.support.fake_broker import DROP, SILENT, FakeBroker, fake_broker
from tests.support.java_client import java_library
from tests.support.sends import outcome, taken
from workloads.clients.command.library import CommandLibrary
from workloads.clients.java.releases import DEFAULT_RELEASE
from workloads.clients.outcome import Acks, Outcome
from workloads.clients.protocol import OUTSIDE, Ending

pytestmark = pytest.mark.timeout(300)

LOG = ("t", 0)

RELEASES = [
    release if release == DEFAULT_RELEASE else pytest.param(release, marks=pytest.mark.nightly)
    for release in ("2.8.2", "3.2.0", "3.7.2", "4.1.1", DEFAULT_RELEASE, "4.4.0")
]

SETTINGS = {
    "max.block.ms": 30_000, "retry.backoff.ms": 10, "request.timeout.ms": 3000, "delivery.timeout.ms": 20_000,
}  # fmt: skip
"""An answer may take 3 s on a busy machine: a request that is sent again for that changes what a test expects."""

EXPIRES = {"request_timeout_ms": 1000, "delivery_timeout_ms": 3000}

OF_BROKERS = [code for code in errors.kafka_errors if code not in (None, errors.NoError.errno)]
"""Every code that a broker can return."""

NOT_ENOUGH_REPLICAS = errors.NotEnoughReplicasError.errno
DUPLICATE = errors.DuplicateSequenceNumberError.errno
FENCED, INVALID_EPOCH = errors.ProducerFencedError.errno, errors.InvalidProducerEpochError.errno
NO_MAPPING, UNKNOWN_ID = errors.InvalidProducerIdMappingError.errno, errors.UnknownProducerIdError.errno
INVALID_STATE, ABORTABLE = errors.InvalidTxnStateError.errno, errors.TransactionAbortableError.errno


IDEMPOTENCE = pytest.mark.parametrize(
    "idempotence",
    [pytest.param(True, id="idempotent"), pytest.param(False, id="plain", marks=pytest.mark.nightly)],
)


@pytest.fixture(scope="module", params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def client(release: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLibrary]:
    """One process for all tests of a release."""
    log: Path = tmp_path_factory.mktemp("java") / "client.log"
    one = CommandLibrary(java_library(release), log=log)
    with fake_broker() as broker:
        # A virtual machine that has just started needs more time than the tests allow.
        producer(one, broker).close(1)
    yield one
    one.close()


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with fake_broker() as one:
        yield one


@pytest.fixture(params=[pytest.param(1, id="v1", marks=pytest.mark.nightly), pytest.param(2, id="v2")])
def coordinator(request: pytest.FixtureRequest) -> Iterator[FakeBroker]:
    """With each version of transactions: from 4.0 on, clients use version 2 (KIP-890) if the broker has it."""
    with fake_broker(transactions=request.param) as one:
        yield one


def producer(
    client: CommandLibrary,
    broker: FakeBroker,
    *,
    acks: Acks = "all",
    idempotence: bool = False,
    **settings: Any,
) -> Any:
    return client.producer(
        bootstrap=broker.bootstrap, topics=("t",), acks=acks, idempotence=idempotence,
        settings={**SETTINGS, **{name.replace("_", "."): value for name, value in settings.items()}},
    )  # fmt: skip


def transactional(client: CommandLibrary, broker: FakeBroker, **settings: Any) -> Any:
    """It has begun a transaction."""
    one = client.transactional(
        bootstrap=broker.bootstrap, topics=("t",), transactional_id="id", timeout=30,
        settings={**SETTINGS, **{name.replace("_", "."): value for name, value in settings.items()}},
    )  # fmt: skip
    one.begin()
    return one


def outcomes(one: Any, *payloads: bytes) -> list[Outcome]:
    """Of sends one after another, which share a batch where the producer lingers."""
    for op, payload in enumerate(payloads):
        one.send(op, LOG, payload)
    return [each.outcome for each in sorted(taken(one, len(payloads)))]


def test_an_acknowledgement(client: CommandLibrary, broker: FakeBroker) -> None:
    for acks in ("all", 1):
        one = producer(client, broker, acks=acks)
        first, second = outcome(one), outcome(one)
        assert (first.type, second.type) == ("ok", "ok")
        assert (first.offset or 0) + 1 == second.offset
        one.close(1)
    one = producer(client, broker, acks=0)
    assert outcome(one) == Outcome("info", None, None)
    one.close(1)


def test_what_a_broker_has_already_is_acknowledged_without_an_offset(
    client: CommandLibrary, broker: FakeBroker
) -> None:
    one = producer(client, broker, linger_ms=200)
    broker.answer(ProduceRequest, DUPLICATE)
    assert outcomes(one, b"a", b"b", b"c") == [Outcome("ok", None, None)] * 3
    assert broker.count(ProduceRequest) == 1
    one.close(1)


def test_what_send_refuses_is_a_failure(client: CommandLibrary, broker: FakeBroker) -> None:
    one = producer(client, broker, max_request_size=1000, max_block_ms=3000)
    assert outcome(one, payload=b"x" * 2000) == Outcome("fail", None, "MESSAGE_TOO_LARGE")
    assert outcome(one, log=("t", 99)) == Outcome("fail", None, "REQUEST_TIMED_OUT")
    for error, name in (
        (errors.TopicAuthorizationFailedError, "TOPIC_AUTHORIZATION_FAILED"),
        (errors.InvalidTopicError, "INVALID_TOPIC_EXCEPTION"),
    ):
        broker.refuse_topic(name, error.errno)
        assert outcome(one, log=(name, 0)) == Outcome("fail", None, name)
    assert not broker.produced
    one.close(1)


def test_what_finds_no_memory_is_a_failure(client: CommandLibrary, broker: FakeBroker) -> None:
    one = producer(
        client,
        broker,
        buffer_memory=50_000,
        max_block_ms=3000,
        request_timeout_ms=10_000,
    )
    broker.answer(ProduceRequest, SILENT)
    payloads = [bytes([letter]) * 20_000 for letter in b"abc"]
    for op, payload in enumerate(payloads):
        one.send(op, LOG, payload)
    (completion,) = taken(one, 1)
    assert (completion.op, completion.outcome) == (2, ("fail", None, "REQUEST_TIMED_OUT"))
    assert [each.outcome.type for each in one.close(0)] == ["info", "info"]
    assert payloads[2] not in broker.produced


def test_no_error_of_a_broker_is_a_failure(client: CommandLibrary, broker: FakeBroker) -> None:
    """Every error of a single attempt, and one of a later Kafka: the library does not report how often it sent."""
    one = producer(client, broker, retries=0)
    for code in (*OF_BROKERS, 9999):
        broker.answer(ProduceRequest, code)
        assert outcome(one).type == ("ok" if code == DUPLICATE else "info"), code
    one.close(1)


def test_no_error_of_a_broker_is_a_failure_of_an_idempotent_producer(
    client: CommandLibrary, broker: FakeBroker
) -> None:
    """It sends again after some, and cannot be used after others."""
    types = {}
    for code in (*OF_BROKERS, 9999):
        one = producer(client, broker, idempotence=True, delivery_timeout_ms=5000)
        broker.answer(ProduceRequest, code)
        first, second = outcome(one), outcome(one)
        assert {first.type, second.type} <= {"ok", "info"}, (code, first, second)
        types[code] = first.type
        one.close(1)
    assert {"ok", "info"} == set(types.values())


@IDEMPOTENCE
@pytest.mark.parametrize(
    "answers",
    [
        (NOT_ENOUGH_REPLICAS,) * 2,
        (errors.NotEnoughReplicasAfterAppendError.errno,),
        (errors.NotLeaderForPartitionError.errno,),
        (errors.RequestTimedOutError.errno,),
        (errors.KafkaStorageError.errno,),
        (errors.CorruptRecordError.errno,),
        (DROP,),
        (SILENT,),
    ],
    ids=lambda answers: f"{answers[0]}",
)
def test_an_error_before_an_acknowledgement_is_ok(
    client: CommandLibrary, broker: FakeBroker, answers: tuple[Any, ...], idempotence: bool
) -> None:
    one = producer(client, broker, idempotence=idempotence)
    broker.answer(ProduceRequest, *answers)
    assert outcome(one) == Outcome("ok", 0, None)
    assert broker.produced[b"x"] == len(answers) + 1
    one.close(1)


@IDEMPOTENCE
@pytest.mark.parametrize("answer", [SILENT, DROP, NOT_ENOUGH_REPLICAS])
def test_a_record_that_expires_is_unknown(
    client: CommandLibrary, broker: FakeBroker, answer: Any, idempotence: bool
) -> None:
    one = producer(client, broker, idempotence=idempotence, **EXPIRES)
    broker.answer(ProduceRequest, *[answer] * 1000)
    assert outcome(one).type == "info"
    assert broker.produced[b"x"] > 0
    one.close(1)


def test_a_record_that_expires_unsent_is_unknown(client: CommandLibrary, broker: FakeBroker) -> None:
    """Nothing in the error distinguishes it from one that was sent."""
    one = producer(client, broker, **EXPIRES)
    broker.close()
    assert outcome(one) == Outcome("info", None, "REQUEST_TIMED_OUT")
    assert not broker.produced
    one.close(1)


def test_a_batch_that_is_too_large_is_split(client: CommandLibrary, broker: FakeBroker) -> None:
    one = producer(client, broker, linger_ms=200)
    broker.answer(ProduceRequest, errors.MessageSizeTooLargeError.errno)
    assert {each.type for each in outcomes(one, b"a" * 9000, b"b" * 5000)} == {"ok"}
    assert broker.count(ProduceRequest) >= 2
    assert set(broker.produced.values()) == {2}
    one.close(1)


def test_what_is_under_way_when_a_producer_closes_at_once_is_unknown(
    client: CommandLibrary, broker: FakeBroker
) -> None:
    """The producer's own thread reports it, not the one that calls close."""
    one = producer(client, broker, request_timeout_ms=10_000, linger_ms=100)
    broker.answer(ProduceRequest, SILENT)
    one.send(1, LOG, b"sent")
    one.flush()
    while not broker.produced:
        time.sleep(0.01)
    one.send(2, LOG, b"waits")
    assert {each.outcome.type for each in one.close(0)} == {"info"}


@pytest.mark.parametrize("code", [FENCED, INVALID_EPOCH, errors.InvalidRecordError.errno, ABORTABLE])
def test_a_send_after_a_failed_one_of_its_transaction_is_unknown_and_ends_once(
    client: CommandLibrary, coordinator: FakeBroker, code: int
) -> None:
    """From 3.2 on, send() puts a record into a batch before it fails. The producer's own thread reports it again, and
    may send it before: of 180 records, 3.2.0 sent 3, and 3.7.2 sent 10."""
    one = transactional(client, coordinator)
    coordinator.answer(ProduceRequest, code)
    assert outcome(one).type == "info"
    for _ in range(3):
        later = outcome(one, payload=b"later")
        # The first report counts: that of send(), or the broker's where it was sent before.
        assert later.type == "info" or (later.type == "ok" and coordinator.produced[b"later"])
    time.sleep(0.2)
    assert one.take(0.1) == []
    assert one.end("commit", 3).type in ("fail", "info")
    assert True not in coordinator.ends()
    one.close(1)


def test_a_record_that_is_too_large_spoils_its_transaction(
    client: CommandLibrary, coordinator: FakeBroker
) -> None:
    one = transactional(client, coordinator, max_request_size=1000)
    assert outcome(one).type == "ok"
    assert outcome(one, payload=b"x" * 2000) == Outcome("fail", None, "MESSAGE_TOO_LARGE")
    later = outcome(one, payload=b"later")
    ended = one.end("commit", 3)
    # 2.8 does not notice: the application has to abort.
    is_noticed = later.type == "info"
    assert (later.type, ended.type) in (("info", "fail"), ("ok", "ok"))
    assert coordinator.ends() == [not is_noticed]
    one.close(1)


@pytest.mark.parametrize("outcome_of_it", ["commit", "abort"])
@pytest.mark.parametrize(
    "answers",
    [
        (),
        (errors.ConcurrentTransactionsError.errno,) * 3,
        (errors.NotCoordinatorError.errno,),
        (errors.CoordinatorNotAvailableError.errno,),
        (errors.CoordinatorLoadInProgressError.errno,),
        (DROP,),
        (SILENT,),
    ],
    ids=lambda answers: f"{answers[0] if answers else 0}",
)
def test_an_end_is_requested_until_the_coordinator_acknowledges_it(
    client: CommandLibrary, coordinator: FakeBroker, answers: tuple[Any, ...], outcome_of_it: Any
) -> None:
    one = transactional(client, coordinator)
    assert outcome(one).type == "ok"
    coordinator.answer(EndTxnRequest, *answers)
    assert one.end(outcome_of_it, 5) == Ending("ok")
    assert coordinator.ends() == [outcome_of_it == "commit"] * (len(answers) + 1)
    one.begin()
    assert outcome(one).type == "ok"
    assert one.end("commit", 5) == Ending("ok")
    one.close(1)


def test_a_commit_that_is_never_acknowledged_is_unknown(
    client: CommandLibrary, coordinator: FakeBroker
) -> None:
    one = transactional(client, coordinator, max_block_ms=5000, request_timeout_ms=1000)
    assert outcome(one).type == "ok"
    coordinator.answer(EndTxnRequest, *[SILENT] * 20)
    assert one.end("commit", 1.5) == Ending("info", "REQUEST_TIMED_OUT")
    assert set(coordinator.ends()) == {True}
    one.close(0)


@pytest.mark.parametrize("code", [FENCED, INVALID_EPOCH, INVALID_STATE, NO_MAPPING, UNKNOWN_ID, 9999])
@pytest.mark.parametrize("first", [(), (DROP,)], ids=["first", "again"])
def test_a_commit_that_is_refused_is_unknown(
    client: CommandLibrary, coordinator: FakeBroker, code: int, first: tuple[Any, ...]
) -> None:
    """An earlier request may have been accepted. A coordinator that lost its log does not know the id: then, up to
    3.7, the library ignores that it refuses the abort as well, and claims the id again."""
    one = transactional(client, coordinator)
    assert outcome(one).type == "ok"
    coordinator.answer(EndTxnRequest, *first, code, code)
    assert one.end("commit", 3).type == "info"
    assert coordinator.ends()[0] is True
    one.close(0)


def test_a_commit_is_a_failure_if_the_coordinator_acknowledges_its_abort(
    client: CommandLibrary, release: str, coordinator: FakeBroker
) -> None:
    """TRANSACTION_ABORTABLE (KIP-890), which releases before 3.8 do not know."""
    one = transactional(client, coordinator)
    assert outcome(one).type == "ok"
    coordinator.answer(EndTxnRequest, ABORTABLE)
    is_known = release.startswith("4")
    expected = Ending("fail", "TRANSACTION_ABORTABLE") if is_known else Ending("info", "KAFKA")
    assert one.end("commit", 3) == expected
    assert coordinator.ends() == ([True, False] if is_known else [True])
    one.close(0)


def test_a_commit_is_unknown_if_its_abort_is_refused(client: CommandLibrary, coordinator: FakeBroker) -> None:
    one = transactional(client, coordinator)
    assert outcome(one).type == "ok"
    coordinator.answer(EndTxnRequest, ABORTABLE, INVALID_STATE)
    assert one.end("commit", 3).type == "info"
    one.close(0)


@pytest.mark.parametrize("code", [FENCED, INVALID_EPOCH, INVALID_STATE, ABORTABLE, 9999])
def test_an_abort_that_is_refused_is_unknown(
    client: CommandLibrary, coordinator: FakeBroker, code: int
) -> None:
    one = transactional(client, coordinator)
    assert outcome(one).type == "ok"
    coordinator.answer(EndTxnRequest, code)
    assert one.end("abort", 3).type == "info"
    assert coordinator.ends() == [False]
    one.close(0)


@pytest.mark.parametrize(
    "code", [FENCED, INVALID_STATE, errors.TopicAuthorizationFailedError.errno, NO_MAPPING]
)
def test_a_partition_that_cannot_be_added_is_never_committed(
    client: CommandLibrary, broker: FakeBroker, code: int
) -> None:
    one = transactional(client, broker)
    broker.answer(AddPartitionsToTxnRequest, code)
    assert outcome(one).type == "info"
    assert one.end("commit", 3).type in ("fail", "info")
    assert (broker.produced, True in broker.ends()) == ({}, False)
    one.close(0)


MEMBERSHIP = {"group": "g", "member": "m", "generation": 1, "instance": None}


@pytest.mark.parametrize(
    "error",
    [
        errors.IllegalGenerationError,
        errors.UnknownMemberIdError,
        errors.FencedInstanceIdError,
        errors.GroupAuthorizationFailedError,
        errors.ProducerFencedError,
    ],
)
def test_positions_that_the_group_refuses_are_not_committed(
    client: CommandLibrary, coordinator: FakeBroker, error: Any
) -> None:
    """No role requests a commit after this, and the library does not commit by itself when it closes."""
    one = transactional(client, coordinator)
    assert outcome(one).type == "ok"
    assert one.add_positions({LOG: 3}, None, 3) == Ending("fail", OUTSIDE)
    coordinator.answer(TxnOffsetCommitRequest, error.errno)
    assert one.add_positions({LOG: 3}, MEMBERSHIP, 3).type == "fail"
    one.close(1)
    assert True not in coordinator.ends()


@pytest.mark.parametrize("code", [FENCED, INVALID_STATE])
def test_positions_of_a_group_that_cannot_be_added_are_not_committed(
    client: CommandLibrary, broker: FakeBroker, code: int
) -> None:
    """Transactions of version 2 have no such request."""
    one = transactional(client, broker)
    assert outcome(one).type == "ok"
    broker.answer(AddOffsetsToTxnRequest, code)
    assert one.add_positions({LOG: 3}, MEMBERSHIP, 3).type == "fail"
    one.close(1)
    assert (True not in broker.ends(), broker.count(TxnOffsetCommitRequest)) == (True, 0)


def test_positions_whose_request_has_no_answer_are_not_committed(
    client: CommandLibrary, coordinator: FakeBroker
) -> None:
    one = transactional(client, coordinator, max_block_ms=5000, request_timeout_ms=1000)
    assert outcome(one).type == "ok"
    coordinator.answer(TxnOffsetCommitRequest, *[SILENT] * 20)
    assert one.add_positions({LOG: 3}, MEMBERSHIP, 1) == Ending("fail", "REQUEST_TIMED_OUT")
    one.close(1)
    assert True not in coordinator.ends()


@pytest.mark.parametrize("kind", [FindCoordinatorRequest, InitProducerIdRequest])
def test_an_id_that_cannot_be_claimed_is_an_os_error(
    client: CommandLibrary, coordinator: FakeBroker, kind: type
) -> None:
    coordinator.answer(kind, errors.TransactionalIdAuthorizationFailedError.errno)
    with pytest.raises(ConnectionError, match="TRANSACTIONAL_ID_AUTHORIZATION_FAILED"):
        transactional(client, coordinator)
    one = transactional(client, coordinator)
    assert one.end("commit", 3) == Ending("ok")
    one.close(1)
