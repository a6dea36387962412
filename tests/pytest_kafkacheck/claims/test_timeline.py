"""What a program saw over time, as rows, lines and a picture."""

from __future__ import annotations

from xml.etree import ElementTree

from pytest_kafkacheck.claims.timeline import Sample, Window, bursts, chart, joined, rate, replicas
from pytest_kafkacheck.report.lane import Group
from pytest_kafkacheck.report.render import picture

WINDOW = Window(10.0, 12.0)


def drawn(spans: object) -> list[tuple[int, int, str]]:
    return [(each.begin, each.end, each.look) for each in spans]  # type: ignore[attr-defined]


def test_equal_states_are_one_span_which_lasts_until_the_next_state() -> None:
    states = [(10.0, "leads"), (10.5, "leads"), (11.0, ""), (11.5, "out")]
    assert drawn(joined(states, WINDOW)) == [(0, 1000, "leads"), (1500, 2000, "out")]


def test_a_pause_divides_moments_into_bursts() -> None:
    moments = [11.5, 10.0, 10.2, 9.0, 13.0]
    assert drawn(bursts(moments, WINDOW, pause=0.3)) == [(0, 200, "owns"), (1500, 1500, "owns")]


def test_replicas_have_a_row_each() -> None:
    samples = [Sample(10.0, 1, (1, 2)), Sample(11.0, -1, (1,)), Sample(15.0, 2, (2,))]
    first, second = replicas(samples, (2, 1), WINDOW).rows
    assert (first.name, drawn(first.spans)) == ("broker 1", [(0, 1000, "leads"), (1000, 2000, "in-sync")])
    assert (second.name, drawn(second.spans)) == ("broker 2", [(0, 1000, "in-sync"), (1000, 2000, "out")])
    first, _ = replicas(samples, (2, 1), WINDOW, of="partition 0, ").rows
    assert first.name == "partition 0, broker 1"


def test_a_rate_is_per_second() -> None:
    (series,) = rate("acknowledged", [10.0, 10.01, 11.95, 99.0], WINDOW).series
    assert [each for each in series.points if each[1]] == [(0, 20.0), (1900, 10.0)]


def test_a_picture_has_every_group_row_and_line_on_one_axis() -> None:
    lanes = (replicas([Sample(10.0, 1, (1,))], (1,), WINDOW), chart({"a & b": [(0, 3.0)]}, unit=" ms"))
    text = picture("A < B", [Group(title="first", lanes=lanes), Group(title="second")], span=2000)
    root = ElementTree.fromstring(text)
    words = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"first", "second", "broker 1", "a & b", "3 ms", "0", "2", "seconds", "leads"} <= set(words)
    plot = root.find("{*}svg")
    assert plot is not None
    assert plot.get("viewBox") == "0 0 2000 100"
