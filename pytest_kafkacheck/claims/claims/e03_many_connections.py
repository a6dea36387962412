"""500 connections send requests to one broker at the same time, 50 of them a hundred times as large as the others.

Exercised: every connection was answered, several times, and requests had to wait for their turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from pytest_kafkacheck.claims import timeline
from pytest_kafkacheck.claims.callers import Caller, calling
from pytest_kafkacheck.claims.claim import Answer, Claim, Picture
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.produce import request
from pytest_kafkacheck.report.lane import Group

LIGHT, HEAVY = 450, 50
SMALL, LARGE = 100, 10_000
"""Bytes of a record."""

THREADS = 3 + 8
"""num.network.threads and num.io.threads, whose defaults the cluster has."""

WARM_UP = 1
"""Answers that are not counted: connections are made meanwhile."""

ANSWERS = 20
"""Of each connection, at least."""

STEP = 250
"""ms over which the picture takes the median."""

UNFAIR = 3.0
"""How many times as long as the others a connection may wait for the median of its answers."""


def show(context: ScenarioContext) -> Answer:
    topic = context.topic()
    leader = context.view(topic).leader
    requests = [request(topic, "x" * size, acks=1, limit=5) for size in [SMALL] * LIGHT + [LARGE] * HEAVY]
    with calling(context.cluster.brokers[leader], requests) as callers:
        context.require(
            lambda: min(len(caller.answers) for caller in callers) >= WARM_UP + ANSWERS,
            40,
            f"{ANSWERS} answers of each of {len(callers)} connections",
        )
    waits = [median(after - before for before, after in caller.answers[WARM_UP:]) for caller in callers]
    typical, longest = median(waits), max(waits)
    exercised(
        typical > 0.02, f"no backlog: half of the connections waited for less than {typical * 1000:.0f} ms"
    )
    return Answer(
        holds=longest <= UNFAIR * typical,
        seen=f"{THREADS} threads served {len(callers)} connections; the median of an answer was "
        f"{typical * 1000:.0f} ms, and {longest * 1000:.0f} ms of the connection that waited longest",
        figures={
            "threads": THREADS,
            "connections": len(callers),
            "median wait (ms)": round(typical * 1000),
            "of the slowest connection (ms)": round(longest * 1000),
        },
        picture=_picture(callers),
    )


def _picture(callers: Sequence[Caller]) -> Picture:
    """The median wait for an answer, by the time of the answer."""
    began = max(caller.answers[WARM_UP - 1][1] for caller in callers)
    ended = max(caller.answers[-1][1] for caller in callers)
    window = timeline.Window(began, ended)
    series = {}
    for name, some in (("small requests", callers[:LIGHT]), ("large requests", callers[LIGHT:])):
        waits: dict[int, list[float]] = {}
        for sent, answered in (each for caller in some for each in caller.answers if window.covers(each[1])):
            waits.setdefault(window.at(answered) // STEP * STEP, []).append((answered - sent) * 1000)
        series[name] = [(at, median(found)) for at, found in sorted(waits.items())]
    title = (
        f"Median wait for an answer of {LIGHT} connections with small requests and {HEAVY} with large ones"
    )
    return Picture(
        groups=(Group(title=title, lanes=(timeline.chart(series, unit=" ms"),)),), span=window.span
    )


CLAIM = Claim(
    id="E3",
    title="a few threads serve many connections",
    text="A few network and I/O threads serve hundreds of connections in turn: none waits for much longer than the "
    "others, although some send far larger requests.",
    source="https://kafka.apache.org/documentation/#brokerconfigs_num.io.threads",
    cases=CURRENT,
    show=show,
)
