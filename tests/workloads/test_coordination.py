"""What a broker reports of a group, by the version of its answers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from kafka.protocol.admin import DescribeGroupsRequest
from kafka.protocol.metadata import ApiVersionsRequest

from workloads.clients.coordination import NotClassic, state

NOT_FOUND = 69
"""Error code of version 6 for a group that does not exist, or has another protocol."""


class Broker:
    """A coordinator. message: of its answer for a group that it does not describe; `version`: its highest one."""

    def __init__(self, version: int, message: str = "", *, known: str | None = None) -> None:
        self.version, self.message, self.known = version, message, known
        self.asked: list[str] = []

    def __call__(self, request: Any) -> Any:
        if isinstance(request, ApiVersionsRequest):
            self.asked.append("versions")
            keys = [SimpleNamespace(api_key=DescribeGroupsRequest.API_KEY, max_version=self.version)]
            return SimpleNamespace(api_keys=keys)
        assert isinstance(request, DescribeGroupsRequest)
        version = request.API_VERSION
        self.asked.append(f"describe {version}")
        assert version <= self.version, "the broker closes the connection"
        error = NOT_FOUND if version >= 6 and self.known is None else 0
        group = SimpleNamespace(
            error_code=error,
            group_state=self.known or "Dead",
            error_message=self.message if version >= 6 else None,
        )
        return SimpleNamespace(groups=[group])


def test_a_group_of_another_protocol_is_refused_with_the_reason() -> None:
    with pytest.raises(NotClassic, match="group g has another protocol than the classic one"):
        state(Broker(6, "Group g is not a classic group."), "group", "g")


@pytest.mark.parametrize("broker", [Broker(6, "Group g not found."), Broker(5)])
def test_a_group_that_does_not_exist_is_dead(broker: Broker) -> None:
    assert state(broker, "group", "g") == "Dead"


def test_a_group_that_exists_costs_one_request() -> None:
    broker = Broker(6, known="Stable")
    assert state(broker, "group", "g") == "Stable"
    assert broker.asked == ["describe 5"]
