"""kafka-python negotiates with librdkafka's mock cluster if it begins with an older request than it would."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.net.connection import KafkaConnection

VERSION = 2
"""Of the first ApiVersions request."""


def begin_with_older_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    make = KafkaConnection.__init__

    def with_older_request(self: Any, *arguments: Any, **options: Any) -> None:
        make(self, *arguments, **options)
        self._api_versions_idx = VERSION

    monkeypatch.setattr(KafkaConnection, "__init__", with_older_request)
