"""What a program saw over time, as lanes of the report: for claims that compare two courses of events."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from kafka.errors import KafkaError

from nemesis.tasks import in_thread
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.report.drawing import nice_top
from pytest_kafkacheck.report.lane import Chart, Points, Row, Series, Span, Strip

SAMPLE = 0.1
"""Seconds between two samples."""

STEP = 100
"""ms in which events are counted."""


class Sample(NamedTuple):
    """at: seconds of the monotonic clock. leader: -1 without one."""

    at: float
    leader: int
    isr: tuple[int, ...]


@contextmanager
def sampled(context: ScenarioContext, topic: str, partition: int = 0) -> Iterator[list[Sample]]:
    """Leader and ISR of a partition, as the brokers that answer know them, sampled in a thread."""
    samples: list[Sample] = []
    stop = threading.Event()

    def sample() -> None:
        while not stop.wait(SAMPLE):
            with suppress(OSError, KafkaError, KeyError):
                view = context.view(topic, partition)
                samples.append(Sample(time.monotonic(), view.leader, view.isr))

    sampling = in_thread(sample, "kafkacheck-timeline")
    try:
        yield samples
    finally:
        stop.set()
        sampling.result()


class Window(NamedTuple):
    """A part of the time, in seconds of the monotonic clock."""

    began: float
    ended: float

    @property
    def span(self) -> int:
        """ms."""
        return round((self.ended - self.began) * 1000)

    def at(self, moment: float) -> int:
        """ms since its beginning, within it."""
        return min(max(round((moment - self.began) * 1000), 0), self.span)

    def covers(self, moment: float) -> bool:
        return self.began <= moment <= self.ended


def replicas(samples: Sequence[Sample], nodes: Iterable[int], window: Window, *, of: str = "") -> Strip:
    """A row for each broker: when it led, and when it was in the ISR. of: goes before its name."""
    within = [each for each in samples if window.covers(each.at)]

    def look(sample: Sample, node: int) -> str:
        return "leads" if sample.leader == node else "in-sync" if node in sample.isr else "out"

    def row(node: int) -> Row:
        states = [(each.at, look(each, node)) for each in within]
        spans = joined(states, window, texts={"leads": "leads", "out": "not in sync"})
        return Row(name=f"{of}broker {node}", spans=spans)

    return Strip(title="Replicas", about="", rows=tuple(row(node) for node in sorted(nodes)))


def joined(
    states: Sequence[tuple[float, str]], window: Window, *, texts: dict[str, str] | None = None
) -> tuple[Span, ...]:
    """Spans of a state that is known at some moments, each lasting until the next one. An empty look is none."""
    spans: list[Span] = []
    ends = [at for at, _ in states[1:]] + [window.ended]
    for (at, look), end in zip(states, ends, strict=True):
        if spans and spans[-1].look == look and spans[-1].end >= window.at(at):
            spans[-1] = Span(begin=spans[-1].begin, end=window.at(end), look=look, text=spans[-1].text)
        elif look:
            spans.append(
                Span(begin=window.at(at), end=window.at(end), look=look, text=(texts or {}).get(look, ""))
            )
    return tuple(spans)


def bursts(moments: Iterable[float], window: Window, *, pause: float, look: str = "owns") -> tuple[Span, ...]:
    """A span from the first to the last of moments that are at most `pause` seconds apart."""
    spans: list[Span] = []
    for moment in sorted(each for each in moments if window.covers(each)):
        at = window.at(moment)
        if spans and at - spans[-1].end <= pause * 1000:
            spans[-1] = Span(begin=spans[-1].begin, end=at, look=look)
        else:
            spans.append(Span(begin=at, end=at, look=look))
    return tuple(spans)


def rate(name: str, moments: Iterable[float], window: Window) -> Chart:
    """Events per second, in steps of `STEP` ms."""
    counts = [0] * (window.span // STEP + 1)
    for moment in moments:
        if window.covers(moment):
            counts[window.at(moment) // STEP] += 1
    points = [(number * STEP, count * 1000 / STEP) for number, count in enumerate(counts)]
    return chart({name: points}, unit="/s")


def chart(series: Mapping[str, Points], *, unit: str) -> Chart:
    """Of up to two series. Times are ms since the beginning of the window."""
    highest = max((value or 0 for points in series.values() for _, value in points), default=0)
    return Chart(
        title=" and ".join(series),
        about="",
        unit=unit,
        series=tuple(
            Series(name=name, look=look, points=points)
            for (name, points), look in zip(series.items(), ("ok", "fail"), strict=False)
        ),
        top=nice_top(highest),
    )
