"""Sends a request that changes something to one broker after another. Any broker forwards it to the controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from workloads.clients.connection import Address, ask

REFUSED = {17, 37, 38, 39, 40, 42, 44}
"""Error codes: invalid topic, partitions, replication factor, assignment, config, request; policy violation."""

LIMIT = 30.0
"""Seconds after which a request without a final answer is abandoned."""


class _Again(Exception):
    """No final answer yet: (error code, text)."""


def ask_any(
    brokers: Mapping[int, Address], request: Any, pick: Callable[[Any], Any], *, done: set[int]
) -> tuple[int, str]:
    """Repeat the request until an answer is final. Returns (error code, text); the code is -1 if no broker answered.

    pick  returns the part of an answer with error_code and, in some versions, error_message.
    done  error codes that are final, in addition to `REFUSED`.
    """

    def once() -> tuple[int, str]:
        last = (-1, "no broker answered")
        for address in brokers.values():
            try:
                answer = pick(ask(address, request, timeout=6.0))
            except OSError as error:
                last = (-1, f"{address}: {error!r}")
                continue
            last = (answer.error_code, getattr(answer, "error_message", "") or "")
            if last[0] in done | REFUSED:
                return last
        raise _Again(*last)

    try:
        return Retrying(
            stop=stop_after_delay(LIMIT),
            wait=wait_fixed(0.3),
            retry=retry_if_exception_type(_Again),
            reraise=True,
        )(once)
    except _Again as again:
        code, text = again.args
        return code, text
