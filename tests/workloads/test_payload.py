"""A payload identifies its run, topic, partition and value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.payload import amount_of, decode, decode_all, encode, source_of

VALUE = 3 << 40 | 17


@given(
    run=st.text(max_size=20),
    topic=st.text(max_size=20),
    partition=st.integers(0, 2**31 - 1),
    value=st.integers(-(2**63), 2**63 - 1),
    size=st.integers(0, 300),
    figure=st.none() | st.tuples(st.booleans(), st.integers(-(2**63), 2**63 - 1)),
)
def test_round_trip(
    run: str, topic: str, partition: int, value: int, size: int, figure: tuple[bool, int] | None
) -> None:
    source = figure[1] if figure is not None and figure[0] else None
    amount = figure[1] if figure is not None and not figure[0] else None
    payload = encode(run, topic, partition, value, size=size, source=source, amount=amount)
    assert len(payload) >= size
    assert decode(payload, run, topic, partition) == (value, None)
    assert (source_of(payload), amount_of(payload)) == (source, amount)


def test_a_payload_without_a_source_is_as_it_was_before_there_were_sources() -> None:
    assert encode("r", "t", 1, 2).hex() == "4b43484b010100000001000000000000000272743ce98a66"
    assert source_of(None) is amount_of(None) is None


def test_a_record_with_a_source_and_an_amount_is_refused() -> None:
    with pytest.raises(ValueError, match="source 1 and amount 2: a record has one of them at most"):
        encode("r", "t", 0, 1, source=1, amount=2)


def test_padded_to_exactly_its_size() -> None:
    assert len(encode("run", "topic", 1, VALUE, size=1000)) == 1000


@pytest.mark.parametrize("payload", [None, b"", b"hello", b"x" * 100, encode("other", "topic", 1, VALUE)])
def test_foreign(payload: bytes | None) -> None:
    assert decode(payload, "run", "topic", 1) == (None, "foreign")


@pytest.mark.parametrize(("topic", "partition"), [("topic", 2), ("other", 1)])
def test_misrouted_keeps_its_value(topic: str, partition: int) -> None:
    assert decode(encode("run", "topic", 1, VALUE), "run", topic, partition) == (VALUE, "misrouted")


def test_run_and_topic_are_kept_apart() -> None:
    assert decode(encode("ab", "c", 1, VALUE), "a", "bc", 1) == (None, "foreign")


def test_every_flipped_bit_and_every_cut_is_detected() -> None:
    payload = encode("run", "topic", 1, VALUE, size=60)
    for position in range(len(payload) * 8):
        broken = bytearray(payload)
        broken[position // 8] ^= 1 << position % 8
        value, problem = decode(bytes(broken), "run", "topic", 1)
        assert (value, problem) in [(None, "corrupt"), (None, "foreign")], position
    for size in range(len(payload)):
        assert decode(payload[:size], "run", "topic", 1)[1] in ("corrupt", "foreign")


def test_a_name_that_is_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="255 bytes"):
        encode("r" * 256, "topic", 0, 1)


@given(
    st.lists(
        st.sampled_from([
            None, b"", b"KCHK", encode("run", "topic", 1, VALUE), encode("run", "topic", 1, -1, size=100),
            encode("run", "topic", 2, VALUE), encode("run", "other", 1, VALUE), encode("other", "topic", 1, VALUE),
            encode("runt", "opic", 1, VALUE), encode("run", "topic", 1, VALUE, source=5),
            encode("run", "topic", 1, VALUE, amount=-5), encode("run", "topic", 2, VALUE, amount=7),
            encode("other", "topic", 1, VALUE, source=5), encode("run", "topic", 1, VALUE)[:-1],
            b"X" + encode("run", "topic", 1, VALUE)[1:], encode("run", "topic", 1, VALUE)[:-1] + b"X",
        ])
    )
)  # fmt: skip
def test_many_are_decoded_as_each_alone(payloads: list[bytes | None]) -> None:
    values, *columns = decode_all(payloads, "run", "topic", 1)
    alone = [decode(payload, "run", "topic", 1) for payload in payloads]
    figures = [
        (source_of(payload), amount_of(payload)) if value is not None else (None, None)
        for payload, (value, _) in zip(payloads, alone, strict=True)
    ]
    of_each = [(value, problem, *more) for (value, problem), more in zip(alone, figures, strict=True)]
    full = [column or [None] * len(payloads) for column in columns]
    assert [*zip(values, *full, strict=True)] == of_each
