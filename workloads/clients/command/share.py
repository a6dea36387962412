"""A consumer of a share group by a client process, behind our protocol."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from workloads.clients.command import messages
from workloads.clients.command.consumer import CLOSE_LIMIT, PAUSE
from workloads.clients.command.messages import Acknowledged, Error, Progress, Refusal, SharePoll
from workloads.clients.command.process import ClientProcess, Release
from workloads.clients.protocol import Acknowledgement, Delivered, Ending, Log, ShareProgress

OPEN_LIMIT = 5.0
"""Seconds to set the group's settings, and to subscribe."""

UNREPORTED = Ending("info", "the client reported no outcome for the partition")


class CommandShare:
    """Implements `protocol.ShareConsumer`. For one thread.

    process       gives the client that the consumer uses; asked again after it was closed.
    group_config  settings of the group, which each consumer sets when it begins.
    """

    def __init__(
        self,
        process: Callable[[], ClientProcess],
        release: Release,
        *,
        config: Mapping[str, str],
        group_config: Mapping[str, str],
        topics: tuple[str, ...],
    ) -> None:
        self._make, self._release = process, release
        self._config, self._group_config, self._topics = dict(config), dict(group_config), topics
        self._process: ClientProcess | None = None
        self._lock: float | None = None

    @property
    def lock(self) -> float | None:
        return self._lock

    def poll(self, timeout: float) -> list[Delivered]:
        process = self._opened()
        if process is None:
            time.sleep(min(PAUSE, timeout))
            return []
        try:
            answer = process.call("poll", SharePoll, timeout_ms=round(timeout * 1000), limit=timeout)
        except Refusal as error:
            if not error.retriable:
                self.close()
            time.sleep(min(PAUSE, timeout))
            return []
        delivered = [each for batch in answer.records for each in batch.delivered()]
        for each in delivered:
            if each.log[0] not in self._topics:
                raise process.fail(f"returned a record of {each.log[0]}, to which it did not subscribe")
        if answer.lock_ms is not None:
            self._lock = answer.lock_ms / 1000
        return delivered

    def acknowledge(self, records: Sequence[Acknowledgement], limit: float) -> Mapping[Log, Ending]:
        logs = sorted({each.log for each in records})
        process = self._process
        if process is None:
            return {log: Ending("fail", "the consumer has no client") for log in logs}
        try:
            process.call("acknowledge", records=messages.acknowledgements(records))
            answer = process.call("commit", Acknowledged, timeout_ms=round(limit * 1000), limit=limit)
        except Refusal as error:
            # The library may send later, or when it closes, what it was given.
            self.close()
            return {log: Ending("info", error.name) for log in logs}
        errors = answer.errors()
        return {log: self._ending(errors, log) for log in logs}

    def progress(self, limit: float) -> Mapping[Log, ShareProgress]:
        process = self._opened()
        if process is None:
            raise ConnectionError("the client could not open a consumer of the share group")
        try:
            answer = process.call("progress", Progress, timeout_ms=round(limit * 1000), limit=limit * 3)
        except Refusal as error:
            raise ConnectionError(f"the client could not ask for the group's progress: {error}") from error
        return answer.by_log()

    def close(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        try:
            process.call("close", timeout_ms=round(CLOSE_LIMIT * 1000), limit=CLOSE_LIMIT)
        except Refusal as error:
            raise process.fail(f"could not close its consumer of a share group: {error}") from None
        self._release(process)

    @staticmethod
    def _ending(errors: Mapping[Log, Error | None], log: Log) -> Ending:
        """An error is ``info``: a library sends again by itself, so an earlier request may have been accepted."""
        if log not in errors:
            return UNREPORTED
        error = errors[log]
        return Ending("ok") if error is None else Ending("info", error.name)

    def _opened(self) -> ClientProcess | None:
        if self._process is not None:
            return self._process
        process = self._make()
        try:
            process.call(
                "open", role="share", config=self._config, group_config=self._group_config,
                topics=list(self._topics), timeout_ms=round(OPEN_LIMIT * 1000), limit=OPEN_LIMIT,
            )  # fmt: skip
        except Refusal as error:
            if error.name == "INVALID_CONFIG":
                raise process.fail(f"refuses the settings of a share group: {error}") from None
            self._release(process)
            return None
        self._process = process
        return process
