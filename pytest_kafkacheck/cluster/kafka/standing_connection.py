"""A connection to one broker that stays open between questions, and is opened again after a failure."""

from __future__ import annotations

import threading
from typing import Any

from workloads.clients.connection import Address, Connection


class StandingConnection:
    """One thread at a time asks; any thread may close it. It is opened by the first question.

    timeout  seconds to connect, and seconds for each answer.
    """

    def __init__(self, address: Address, *, timeout: float) -> None:
        self.address = address
        self._timeout = timeout
        self._open: Connection | None = None
        self._is_asking = self._is_closed = False
        self._lock = threading.Lock()

    def ask(self, request: Any) -> Any:
        """Raises OSError without an answer."""
        with self._lock:
            if self._is_closed:
                raise ConnectionError(f"the connection to {self.address} was closed by this side")
            self._is_asking = True
        try:
            return self._answer(request)
        finally:
            with self._lock:
                self._is_asking = False
                if self._is_closed:
                    self._drop()

    def close(self) -> None:
        """A question that is under way ends first, and then closes the connection."""
        with self._lock:
            self._is_closed = True
            if not self._is_asking:
                self._drop()

    def _answer(self, request: Any) -> Any:
        if self._open is not None:
            try:
                return self._ask_open(self._open, request)
            except TimeoutError:
                raise
            except OSError:
                pass  # the broker was restarted since, or has closed the connection: it may answer over a new one
        self._open = Connection(self.address, timeout=self._timeout)
        return self._ask_open(self._open, request)

    def _ask_open(self, connection: Connection, request: Any) -> Any:
        try:
            return connection.ask(request)
        except BaseException:
            self._drop()  # a late answer would be taken for that of the next question
            raise

    def _drop(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None
