"""Throughput and latency by outcome."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from pytest_kafkacheck.report.axis import Axis
from pytest_kafkacheck.report.cube import Cube, latency
from pytest_kafkacheck.report.drawing import nice_top
from pytest_kafkacheck.report.lane import Chart, Points, Series
from pytest_kafkacheck.report.run_data import RunData

WORDS = {"ok": "acknowledged", "info": "outcome unknown", "fail": "refused"}


GAP = 1_000
"""ms; at a low rate, buckets without an acknowledgement are no gap. report.js has the same rule."""


def throughput(run: RunData, counts: Cube) -> tuple[Chart, ...]:
    axis = run.axis
    series = tuple(
        Series(name=words, look=outcome, points=_rates(counts.per_bucket(outcome, axis.buckets), axis))
        for outcome, words in WORDS.items()
    )
    polled = _rates(counts.per_bucket("polled", axis.buckets), axis)
    highest = max(
        (sum(value or 0 for _, value in each) for each in zip(*(s.points for s in series), strict=True)),
        default=0,
    )
    charts = [
        Chart(
            title="Sends",
            about=f"Per second, in steps of {axis.width:,} ms: acknowledged when the answer came, others when sent.",
            unit="/s",
            series=series,
            top=nice_top(highest),
            stacked=True,
            name="sends",
        )
    ]
    if any(value for _, value in polled):
        charts.append(
            Chart(
                title="Records polled",
                about="Per second, by all readers together, without the final reads.",
                unit="/s",
                series=(Series(name="polled", look="polled", points=polled),),
                top=nice_top(max(value or 0 for _, value in polled)),
                stacked=True,
                name="polls",
            )
        )
    return tuple(charts)


def _rates(counts: list[int], axis: Axis) -> Points:
    return [(number * axis.width, count * 1000 / axis.width) for number, count in enumerate(counts)]


def latencies(run: RunData) -> tuple[Chart, ...]:
    is_done = (pc.field("f") == "send") & pc.field("completed").is_valid()
    sends = run.some_records(["type", "invoked", "completed", "intended"], is_done)
    sends = sends.append_column("latency", latency(sends))
    if not len(sends):
        return ()
    sends = sends.append_column("bucket", run.axis.bucket(sends["completed"]))
    is_ok = pc.equal(sends["type"], "ok")
    acked, others = _by_bucket(sends.filter(is_ok)), _by_bucket(sends.filter(pc.invert(is_ok)))
    known = [value for rows in (acked, others) for row in rows.values() for value in row]
    series = [
        Series(name=name, look=look, points=_points(acked, at, run.axis), dashed=dashed)
        for name, look, at, dashed in (
            ("median", "ok", 0, False), ("99 %", "high", 1, False), ("worst", "worst", 2, True)
        )
    ]  # fmt: skip
    if others:
        series.append(
            Series(
                name="worst not acknowledged", look="fail", points=_points(others, 2, run.axis), dashed=True
            )
        )
    return (
        Chart(
            title="Latency of sends",
            about="From when a send was due to its acknowledgement, by the time of that; logarithmic.",
            unit=" ms",
            series=tuple(series),
            bottom=_power_below(min(known)),
            top=nice_top(max(known)),
            logarithmic=True,
            name="latency",
        ),
    )


def _by_bucket(sends: pa.Table) -> dict[int, tuple[float, float, float]]:
    """Median, 99 % and maximum, ms."""
    options = pc.TDigestOptions(q=[0.5, 0.99])
    grouped = sends.group_by("bucket").aggregate([("latency", "tdigest", options), ("latency", "max")])
    return {
        row["bucket"]: (*map(float, row["latency_tdigest"]), row["latency_max"])
        for row in grouped.to_pylist()
    }


def _points(rows: dict[int, tuple[float, float, float]], at: int, axis: Axis) -> Points:
    """In the middle of each bucket; interrupted where nothing was acknowledged for `GAP` or three buckets."""
    points: list[tuple[int, float | None]] = []
    for number in sorted(rows):
        time = number * axis.width + axis.width // 2
        if points and time - points[-1][0] > max(GAP, 3 * axis.width):
            points.append((points[-1][0], None))
        points.append((time, rows[number][at]))
    return points


def _power_below(value: float) -> float:
    power = 0.1
    while power * 10 <= value:
        power *= 10
    return power
