"""A request that changes something, put to one broker after another; any of them forwards to the controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from workloads.clients.connection import Address, ask

REFUSED = {17, 37, 38, 39, 40, 42, 44}
"""Invalid topic, partitions, replication factor, assignment, config, request; policy violation."""

LIMIT = 30.0
"""Seconds until a request without a final answer is given up."""


class _Again(Exception):
    """No final answer yet: (error code, text)."""


def ask_any(
    brokers: Mapping[int, Address], request: Any, pick: Callable[[Any], Any], *, done: set[int]
) -> tuple[int, str]:
    """Ask until an answer is final. Returns (error code, text); the code is -1 where no broker answered.

    pick  the part of the answer that holds error_code and perhaps error_message.
    done  error codes that are final, besides `REFUSED`.
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
