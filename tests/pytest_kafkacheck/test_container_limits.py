"""Limits of containers whose process ends while they are changed."""

from __future__ import annotations

from typing import Any

import pytest
from docker.errors import APIError

from pytest_kafkacheck.cluster.docker import containers
from pytest_kafkacheck.cluster.docker.containers import SWAP, limit_memory

SIZE = 1 << 30


class Engine:
    """Refuses with the errors in turn, then changes the limit."""

    def __init__(self, *errors: str) -> None:
        self.errors, self.changes = list(errors), list[dict[str, Any]]()

    def update_container(self, _: str, **limits: Any) -> None:
        if self.errors:
            raise APIError("500", explanation=self.errors.pop(0))
        self.changes.append(limits)


def test_a_container_that_has_just_ended_is_changed_when_the_engine_knows() -> None:
    engine = Engine(*["runc did not terminate successfully: container not running"] * 2)
    limit_memory(engine, "c", SIZE, name="kafka2")
    assert engine.changes == [{"mem_limit": SIZE, "memswap_limit": SIZE + SWAP}]


def test_another_refusal_is_final() -> None:
    engine = Engine("Minimum memory limit allowed is 6MB")
    with pytest.raises(OSError, match=f"kafka2 could not be limited to {SIZE} bytes: Minimum memory"):
        limit_memory(engine, "c", SIZE, name="kafka2")
    assert not engine.changes


def test_it_is_not_tried_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containers, "ENDED_LIMIT", 0.3)
    with pytest.raises(OSError, match="container not running"):
        limit_memory(Engine(*["container not running"] * 1000), "c", SIZE, name="kafka2")
