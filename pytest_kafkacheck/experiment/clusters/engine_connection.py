"""The session's connection to the Docker engine."""

from __future__ import annotations

from typing import Any

from pytest_kafkacheck.cluster.docker.engine import connect


class EngineConnection:
    """Connects at first use: judging a history needs no engine."""

    def __init__(self) -> None:
        self._client: Any = None

    @property
    def client(self) -> Any:
        """A client of the Docker SDK. Raises InfrastructureError when no engine answers."""
        if self._client is None:
            self._client = connect()
        return self._client

    def close(self) -> None:
        """Disconnect. May be called again; `client` then connects anew."""
        client, self._client = self._client, None
        if client is not None:
            client.close()
