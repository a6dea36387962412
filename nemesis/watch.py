"""What waits for the moment that a trigger names: looks at the cluster, or an aim at an instance."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Protocol

from nemesis.cluster import Clients
from nemesis.views import InstanceView, Moment

TRIGGER_INTERVAL = 0.05
"""Seconds between two looks at a state of the cluster."""


class Watch(Protocol):
    """For one thread."""

    @property
    def interval(self) -> float:
        """Seconds between two looks."""

    @property
    def seen(self) -> str:
        """At the last look that was answered, in words."""

    @property
    def met(self) -> Mapping[str, object] | None:
        """What was seen as the moment came, as JSON values, where it says more than the trigger."""

    @property
    def is_over(self) -> bool:
        """Whether the moment has come, was held, and is over by now."""

    def has_come(self) -> bool:
        """Look once. Raises what the look raises."""

    def release(self) -> None:
        """Hold the moment no longer."""

    def close(self) -> None:
        """Release, and close what the looks have opened. There is no look afterwards."""


class Observed:
    """Implements `Watch`: looks repeatedly whether a moment has come since the first look, and does not hold it."""

    interval = TRIGGER_INTERVAL
    met = None
    is_over = False

    def __init__(
        self,
        observe: Callable[[], Any],
        comes: Callable[[Any], bool],
        says: Callable[[Any], str],
        *,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self._observe = observe
        self._comes = comes
        self._says = says
        self._close = close
        self.seen = "nothing"

    def has_come(self) -> bool:
        now = self._observe()
        self.seen = self._says(now)
        return self._comes(now)

    def release(self) -> None:
        pass

    def close(self) -> None:
        self._close()


log = logging.getLogger(__name__)

WAIT = 0.1
"""Seconds of one wait for the moment, between which the end of the run is noticed."""

SETTLE = 0.05
"""Seconds between two looks at a frozen instance: requests that were under way are answered by then. On three idle
brokers a commit takes 3 ms, a transaction 15 ms."""

LONGEST_FREEZE = 3.0
"""Seconds. It takes a tenth of a second on a machine that is not busy. With a load of 40 on two cores, 1.5 s were too
few for two looks and a fault in three of four attempts. Session timeouts are 6 s and more."""

REST = 0.1
"""Seconds for which an instance goes on after it was frozen in vain."""


class Aim:
    """Implements `Watch` for one moment of one instance of an application. It meets the instance in a window of
    milliseconds, as between an output and its commit.

    A look takes longer than such a window. So, as soon as the moment seems to have come, the instance is frozen: its
    window stays open, and what brokers report can be read at leisure. What the instance had sent before takes effect
    within `SETTLE` seconds. If it is still at the moment then, the fault is injected, and only afterwards it is
    thawed. Otherwise it goes on, and the next moment is waited for. An instance that cannot be frozen is only looked
    at, twice.

    Freezing ends by itself: whoever freezes gives a limit, after which the instance goes on whatever became of us.

    pause  waits that many seconds, or less if the run is stopped.
    """

    interval = 0.01
    """Seconds between two calls of `has_come`, which itself waits."""

    def __init__(
        self,
        moment: Moment,
        instance: int,
        clients: Clients,
        *,
        pause: Callable[[float], object] = time.sleep,
    ) -> None:
        self._moment, self._instance, self._clients = moment, instance, clients
        self._pause = pause
        self._view: InstanceView | None = None
        self._frozen: int | None = None
        """The number of the process that was frozen, and not thawed yet."""
        self._tries = 0
        self._seen, self._late = f"app:{instance} did nothing yet", ""
        self.met: dict[str, object] | None = None

    def has_come(self) -> bool:
        """Wait up to `WAIT` seconds for the moment. The instance is frozen then, if it can be. Raises OSError."""
        if self._view is None:
            self._view = self._clients.instance_view(self._instance, self._moment)
        try:
            may_have_come = self._view.wait(WAIT)
        except OSError as problem:
            self._seen = f"the brokers do not answer: {problem}"
            raise
        if not may_have_come:
            self._seen = self._view.seen
            return False
        try:
            came = self._look(self._view)
        except BaseException:
            self.release()
            raise
        if not came:
            self.release()
            self._pause(REST)
        return came

    @property
    def seen(self) -> str:
        return self._seen + self._late

    @property
    def is_over(self) -> bool:
        """Whether the instance was frozen as the moment came, and has gone on since, or is gone."""
        return self._frozen is not None and not self._clients.frozen(self._frozen)

    def release(self) -> None:
        """Let the instance go on, unless a fault holds it or has ended it. If it has gone on by itself before, the
        moment was not met."""
        process = self._frozen
        if process is None:
            return
        if self.is_over and process in self._clients.instances():
            self.met = None
            self._late = f"; it went on after {LONGEST_FREEZE:g} s, before the fault was at work"
        self._frozen = None
        with suppress(LookupError):  # a fault has ended it
            self._clients.thaw(process)

    def close(self) -> None:
        self.release()
        if self._view is not None:
            self._view.close()

    def _look(self, view: InstanceView) -> bool:
        if not self._freeze():
            self._seen = f"app:{self._instance} does not run, or stands still already"
            return False
        self._tries, self._late = self._tries + 1, ""
        first = view.look()
        self._seen = first.seen
        if not first.comes:
            return False
        self._pause(SETTLE)
        last = view.look()
        self._seen = last.seen
        if not last.comes:
            return False
        self.met = {
            "moment": self._moment,
            "instance": f"app:{self._instance}",
            "seen": last.seen,
            **last.facts,
            "frozen": self._frozen is not None,
            "tries": self._tries,
        }
        return True

    def _freeze(self) -> bool:
        """Whether there is something to look at: an instance that stands still now, or that cannot be frozen."""
        numbers = self._clients.instances()
        process = next((each for each, number in numbers.items() if number == self._instance), None)
        if process is None:
            return False
        try:
            if not self._clients.freeze(process, LONGEST_FREEZE):
                return False
        except LookupError:
            return False
        except OSError as problem:
            log.info("app:%d cannot be frozen: %s", self._instance, problem)
            return True
        self._frozen = process
        return True
