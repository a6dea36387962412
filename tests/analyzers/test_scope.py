"""What the tallies of runs say about where facts have to look."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql import DataFrame, Row

from analyzers.facts.fact import GENERATIONS, ISOLATION, REMOVALS
from analyzers.history.load import MANY_RUNS, History
from analyzers.judge.scope import known, session_filter
from analyzers.judge.tally import Tally

NO_TABLE = cast(DataFrame, SimpleNamespace())


def client(*, grouped: bool = False, committed: int = 0) -> Row:
    return Row(grouped=grouped, committed=committed, got=None)


@pytest.mark.parametrize(
    ("counts", "flags"),
    [
        ({}, (False, False, False)),
        ({"recorded": {("t", 0)}}, (True, False, False)),
        ({"polled": [client()]}, (False, False, False)),
        ({"polled": [client(), client(grouped=True)]}, (False, True, False)),
        ({"polled": [client(committed=1), client()]}, (False, False, True)),
    ],
)
def test_what_one_run_has_is_looked_for(counts: dict[str, Any], flags: tuple[bool, bool, bool]) -> None:
    kinds = known({"a": Tally(polled=[client()]), "b": Tally(**counts)}).kinds
    assert (REMOVALS in kinds, GENERATIONS in kinds, ISOLATION in kinds) == flags


def test_a_history_that_nobody_counted_may_have_anything() -> None:
    uncounted = History(records=NO_TABLE, operations=NO_TABLE, observations=NO_TABLE)
    assert uncounted.has(REMOVALS)
    assert not replace(uncounted, known=known({})).has(REMOVALS)


def test_the_filter_names_users_and_readers_by_run() -> None:
    runs = {"a": Tally(senders={0}, reading={2}), "it's": Tally(reading={-3}), "none": Tally()}
    session = "coalesce(cast(session as bigint), -1 - process)"
    assert session_filter(runs) == (
        f"(run = 'a' and {session} in (0, 2)) or (run = 'it\\'s' and {session} in (-3))"
    )
    assert session_filter({"none": Tally()}) == "false"
    assert session_filter({str(n): Tally(reading={0}) for n in range(MANY_RUNS + 1)}) == "true"
