"""Runs the mutants of lists in one process, each with its tests: ``python -m tests.support.mutation.session FILE``.

First all of these tests run without a mutant, because a test that fails anyway notices nothing. The tests of Spark
share one session.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from weakref import WeakKeyDictionary

import pytest
from _pytest.runner import runtestprotocol

from analyzers.spark.internals import kept_plans
from tests.support.mutation.grafted import grafted
from tests.support.mutation.listed import Listed, read


@dataclass(frozen=True)
class ToSession:
    """In place of a next test: all fixtures end but those of the session."""

    session: pytest.Session

    def listchain(self) -> list[pytest.Collector]:
        return [self.session]


@dataclass
class Mutants:
    """Plugin: instead of the tests that it collected, runs those of each mutant up to the first that fails."""

    mutants: Sequence[Listed]
    say: Callable[[str], None] = print
    killed: dict[str, str] = field(default_factory=dict)
    """Name of a mutant to the test that failed."""
    survivors: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    """Tests that fail without a mutant, and mutants whose code is not there any more."""

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        wanted, every = {each.tests for each in self.mutants}, session.items
        of = {tests: [item for item in every if _is_of(item.nodeid, tests)] for tests in wanted}
        self.broken += [tests for tests, items in of.items() if not items or self._failure(session, items)]
        for mutant in self.mutants:
            began = time.monotonic()
            failed = None
            try:
                if mutant.tests not in self.broken:
                    with grafted(import_module(mutant.module), mutant.altered()):
                        failed = self._failure(session, of[mutant.tests])
            except LookupError as error:
                self.broken.append(str(error))
            else:
                if failed is None:
                    self.survivors.append(mutant.name)
                else:
                    self.killed[mutant.name] = failed
            self.say(json.dumps([mutant.name, failed, round(time.monotonic() - began, 1)]))
        return True

    def _failure(self, session: pytest.Session, items: Sequence[pytest.Item]) -> str | None:
        session.items = [*items]
        kept_plans._of_sessions = WeakKeyDictionary()
        for item in items:
            for verdicts in item._fixtureinfo.name2fixturedefs.get("verdicts", ()):  # type: ignore[attr-defined]
                verdicts.cached_result = None
        for item, following in pairwise([*items, ToSession(session)]):
            item._initrequest()  # type: ignore[union-attr]
            reports = runtestprotocol(item, log=False, nextitem=following)  # type: ignore[arg-type]
            if any(each.failed for each in reports):
                session._setupstate.teardown_exact(ToSession(session))  # type: ignore[arg-type]
                return item.nodeid
        return None


def _is_of(nodeid: str, tests: str) -> bool:
    return nodeid == tests or nodeid.startswith((f"{tests}::", f"{tests}["))


def run(mutants: Sequence[Listed], say: Callable[[str], None] = print) -> Mutants:
    plugin = Mutants(mutants, say)
    files = sorted({each.tests.partition("::")[0] for each in mutants})
    pytest.main(["-q", "-m", "not nightly", "-p", "no:cacheprovider", "--tb=no", *files], plugins=[plugin])
    return plugin


if __name__ == "__main__":
    ended = run([each for file in sys.argv[1:] for each in read(Path(file))])
    lines = [f"killed {len(ended.killed)}, survived {len(ended.survivors)}", *ended.broken, *ended.survivors]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
    os._exit(bool(ended.broken or ended.survivors))
