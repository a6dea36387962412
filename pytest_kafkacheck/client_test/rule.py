"""A rule of the protocol, as something that can be tested."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from pytest_kafkacheck.client_test.bench import Bench


@dataclass(frozen=True, kw_only=True)
class Rule:
    """name   on the command line.
    says   what the client has to do, in one clause.
    needs  capabilities without which the rule does not apply.
    release  the first release of the brokers to which it applies.
    test   raises Broken, Refusal or ClientFailure.
    """

    name: str
    says: str
    test: Callable[[Bench], None]
    needs: Collection[str] = ()
    release: tuple[int, int] = (0, 0)
