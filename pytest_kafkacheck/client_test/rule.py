"""A rule of the protocol, as something that can be tested."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_kafkacheck.client_test.bench import Bench


class Broken(Exception):
    """A client does not keep to a rule; the text says what it did, and what was expected."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """name   on the command line.
    says   what the client has to do, in one clause.
    needs  capabilities without which the rule does not apply.
    test   raises Broken, or ClientFailure.
    """

    name: str
    says: str
    test: Callable[[Bench], None]
    needs: Collection[str] = ()


def expect(is_kept: bool, text: str) -> None:
    """Raises Broken with the text unless the rule is kept."""
    if not is_kept:
        raise Broken(text)
