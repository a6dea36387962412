"""What clients had to do as a fault began, against a definition in plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from analyzers.judge.work_at_faults import ClientAtFault, described, work_at_faults
from tests.support.oracles import work_at_faults as oracle
from tests.support.random_histories.logs import draw_histories
from tests.support.random_histories.work_at_faults import client_history

pytestmark = pytest.mark.spark

Work = Mapping[str, Sequence[ClientAtFault]]
"""By fault event."""

HISTORIES = 250


def kinds_of(client: ClientAtFault) -> Iterator[str]:
    """What a history needs to have for a client, so that the agreement about it means something."""
    name = "instance" if client.is_instance else "member" if client.owned is not None else "client"
    (each,) = described([client], {}, 0)
    yield f"{name}, met: {each.met}"
    yield f"{name}, in flight: {client.in_flight > 0}"
    if client.owned is not None:
        yield f"{name}, owns: {client.owned > 0}"
    if client.is_instance and client.owned == 0:
        yield f"instance, gone: {client.gone is not None}, back: {client.back is not None}"
        yield f"instance, gone as its former process ended: {client.gone is not None and client.gone == client.died}"


def test_random_histories_agree_with_plain_python(story: Any, loaded: Any) -> None:
    stories = draw_histories(client_history(story), HISTORIES)
    found = work_at_faults(loaded(stories), instances=True, others=True)
    met: Counter[str] = Counter()
    for run, one in stories.items():
        rows = one.rows(run)
        expected = oracle.work_at_faults(rows)
        assert without_turns(found.get(run, {})) == without_turns(expected), rows
        met.update(kind for clients in expected.values() for client in clients for kind in kinds_of(client))
    assert len(met) == 23
    assert {kind: n for kind, n in met.items() if n < 5} == {}


def without_turns(clients: Work) -> Work:
    """When an instance was an owner before and after a fault matters only for one that is none."""
    return {
        event: [replace(each, gone=None, back=None) if each.owned != 0 else each for each in some]
        for event, some in clients.items()
    }
