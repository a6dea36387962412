"""Rules about the process itself: its first line, its turns, and its end."""

from __future__ import annotations

import time

from pytest_kafkacheck.client_test.bench import LIMIT, Bench, Rule, expect, opened
from workloads.clients.command import settings
from workloads.clients.command.messages import Refusal
from workloads.clients.connection import Address

NOBODY = Address("127.0.0.1", 1)
"""Where no broker listens."""

END_LIMIT = 10.0
"""Seconds for a process to end after the end of its input."""


def _hello(bench: Bench) -> None:
    bench.start()


def _unknown_request(bench: Bench) -> None:
    one = bench.start()
    error = one.error("no-such-request")
    expect(error.name == "INVALID_REQUEST", f"it answered an unknown request with {error}")
    _is_alive(one.error("poll", timeout_ms=0))


def _no_request(bench: Bench) -> None:
    one = bench.start()
    for line in ("this is no JSON", '["neither", "is", "this"]', '{"id": 1}'):
        try:
            answer = one.process.provoke(line)
        except Refusal as error:
            expect(error.name == "INVALID_REQUEST", f"it answered the line {line!r} with {error}")
        else:
            expect(False, f"it answered the line {line!r} with {answer}")
    _is_alive(one.error("poll", timeout_ms=0))


def _wrong_state(bench: Bench) -> None:
    topic = bench.topic(1)
    one = bench.producer(topic)
    config = settings.producer(bench.brokers.bootstrap, acks="all", idempotence=False, settings={})
    for do, fields in (
        ("open", {"role": "producer", "config": config, "topics": [topic]}),
        ("poll", {"timeout_ms": 0}),
    ):
        error = one.error(do, **fields)
        expect(error.name == "INVALID_STATE", f"with a producer open, it answered {do!r} with {error}")


def _wrong_config(bench: Bench) -> None:
    topic, one = bench.topic(1), bench.start()
    config = settings.producer(bench.brokers.bootstrap, acks="all", idempotence=False, settings={})
    error = one.error("open", role="producer", config={**config, "acks": "7"}, topics=[topic], limit=6.0)
    expect(error.name == "INVALID_CONFIG", f"it answered acks=7 with {error}")
    opened(one, role="producer", config=config, topics=[topic])


def _no_brokers(bench: Bench) -> None:
    topic, one = bench.topic(1), bench.start()
    config = settings.producer([NOBODY], acks="all", idempotence=False, settings={})
    error = one.error("open", role="producer", config=config, topics=[topic], limit=6.0)
    expect(bool(error.name), "the error has no name")
    bench.producer(topic, one=one)


def _end(bench: Bench) -> None:
    one = bench.start()
    one.process.end_input()
    deadline = time.monotonic() + END_LIMIT
    while one.process.is_running and time.monotonic() < deadline:
        time.sleep(0.05)
    expect(
        not one.process.is_running,
        f"it still ran {END_LIMIT:.0f} s after the end of its input",
    )


def _is_alive(error: Refusal) -> None:
    expect(error.name == "INVALID_STATE", f"without a client open, it answered 'poll' with {error}")


RULES = (
    Rule(name="hello", says="its first line states version 2, its library and its capabilities", test=_hello),
    Rule(name="unknown-request", says="an unknown request is an error, and it goes on", test=_unknown_request),
    Rule(
        name="no-request", says="a line that is no request is answered with id null, and it goes on",
        test=_no_request,
    ),
    Rule(
        name="wrong-state", says="a request that the open client does not have is INVALID_STATE",
        test=_wrong_state, needs=("producer",),
    ),
    Rule(
        name="wrong-config", says="settings that the library refuses are INVALID_CONFIG", test=_wrong_config,
        needs=("producer",),
    ),
    Rule(
        name="no-brokers", says=f"a producer without brokers is an error within {LIMIT + 6:.0f} s, and it goes on",
        test=_no_brokers, needs=("producer",),
    ),
    Rule(name="end", says="it ends with its input", test=_end),
)  # fmt: skip
