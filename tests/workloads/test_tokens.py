"""Tokens: the identity of an input is found in what an application makes of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workloads.keys import HEADER, Keyed, from_wire, to_wire
from workloads.payload import encode
from workloads.tokens import Headers, TokenFinder, body, token

VALUE = 3 << 40 | 17
OTHER = 3 << 40 | 170
TOKEN = b"kc-a1-3-17"


def found(
    key: bytes | None = None, value: bytes | None = None, headers: Headers = (), identify: Any = None
) -> list[int]:
    return TokenFinder("a1", "orders-a1", identify).find(key, value, headers)


def test_a_token_names_run_writer_and_number() -> None:
    assert token("a1", VALUE) == TOKEN.decode()


def test_a_record_may_be_json() -> None:
    made = body('{"id": "{token}", "of": {"key": "{key}"}, "n": {number}}', "a1", VALUE, 5)
    assert json.loads(made) == {"id": "kc-a1-3-17", "of": {"key": "key-5"}, "n": 17}


@pytest.mark.parametrize(
    "parts",
    [
        {"key": TOKEN},
        {"value": b"<invoice of='" + TOKEN + b"'/>"},
        {"value": b"\x00\x14" + TOKEN + b"\xff"},
        {"headers": [("id", TOKEN)]},
        {"headers": [(HEADER, encode("a1", "orders-a1", 2, VALUE))], "value": b"anything"},
        {"key": TOKEN, "value": TOKEN, "headers": [(HEADER, encode("a1", "orders-a1", 2, VALUE)), ("x", None)]},
    ],
)  # fmt: skip
def test_an_output_names_an_input(parts: dict[str, Any]) -> None:
    assert found(**parts) == [VALUE]


def test_an_output_names_several_inputs() -> None:
    assert found(value=b"kc-a1-3-170, kc-a1-3-17") == [OTHER, VALUE]
    header = encode("a1", "orders-a1", 2, OTHER)
    assert found(value=TOKEN, headers=[(HEADER, header)]) == [OTHER, VALUE]


@pytest.mark.parametrize(
    "value",
    [None, b"", b"kc-b2-3-17", b"kc-a1-3-", b"kc-a1-3", b"KC-A1-3-17", b"kc-a1-3-" + b"1" * 13],
)
def test_what_names_no_input_of_the_run(value: bytes | None) -> None:
    assert found(value=value) == []


def test_headers_of_other_runs_and_damaged_ones_name_nothing() -> None:
    damaged = encode("a1", "orders-a1", 2, VALUE)[:-1] + b"x"
    for header in (encode("b2", "orders-b2", 2, VALUE), damaged, b"", None):
        assert found(headers=[(HEADER, header)]) == []


def test_a_function_says_what_an_output_names() -> None:
    def identify(_: bytes | None, value: bytes | None, __: Headers) -> list[str]:
        named_in: list[str] = json.loads(value or b"[]")
        return named_in

    def named(*texts: str) -> list[int]:
        return found(value=json.dumps(texts).encode(), identify=identify)

    assert named() == []
    assert named("kc-a1-3-17", "kc-a1-3-170") == [VALUE, OTHER]
    assert named("kc-a1-3-17", "kc-a1-3-17") == [VALUE]
    assert named("order 17") == [-1]
    assert found(value=TOKEN, identify=lambda *_: []) == []


def test_a_record_with_a_body_has_its_payload_in_the_header() -> None:
    payload = encode("a1", "orders-a1", 2, VALUE)
    key, value, headers = to_wire(payload, Keyed(7, body=b"text"))
    assert (key, value, headers) == (b"key-7", b"text", [(HEADER, payload)])
    assert from_wire(key, value, headers) == (payload, None)
    # As long as one of our keys.
    key, value, headers = to_wire(payload, Keyed(1234, body=b"text"))
    assert len(key or b"") == 8
    assert from_wire(key, value, headers) == (payload, None)
