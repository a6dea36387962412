"""Clock: a node's time of day jumps, or runs too fast or too slow. Its timeouts use another clock, which stays
right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nemesis.cluster import Node
from nemesis.effects.reconciler import Resource
from nemesis.event import OPEN, Event
from nemesis.fault import Draw, Fault
from nemesis.fault_context import FaultContext, Proof
from nemesis.steps.serving import verify_serving
from nemesis.validation import number

FURTHEST = 1e9
"""Seconds, about 31 years, by which a clock can be wrong."""

TOLERANCE = 1.0
"""Seconds by which the clock that is read back may differ: a drift continues meanwhile."""


def _sum(wishes: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return sum(offset for offset, _ in wishes), sum(ppm for _, ppm in wishes)


def _remains(node: Node) -> str | None:
    try:
        offset, ppm = node.clock.get()
    except OSError:  # a process that has just started has the right time
        return None
    return f"its clock is still {offset:g} s off, {ppm:g} ppm" if offset or ppm else None


CLOCK = Resource(
    "clock", _sum, lambda node, wish: node.clock.clear() if wish is None else node.clock.set(*wish), _remains
)
"""Offset in seconds and drift in ppm."""


@dataclass(frozen=True, kw_only=True)
class ClockFault(Fault):
    """offset: seconds by which the clock jumps, above or below 0. ppm: millionths by which it then runs too fast or,
    below 0, too slow."""

    offset: float = 0.0
    ppm: float = 0.0

    name = "clock"
    family = "clock"
    proved_by = "the clock data in the process's memory, read back"
    draw = Draw(options=({"offset": 60}, {"offset": -60}, {"ppm": 50_000}))
    takes_nodes_down = False
    # A wait that began while the clock was ahead, such as that before Kafka's next try to connect, ends only then.
    outlives_heal = True
    needs = frozenset({"clock"})

    def __post_init__(self) -> None:
        number("clock offset", self.offset, least=-FURTHEST, most=FURTHEST)
        number("clock ppm", self.ppm, above=-1_000_000, most=1_000_000)
        if not self.offset and not self.ppm:
            raise ValueError("clock: give it an offset (seconds) or ppm (millionths), or both")

    @property
    def removes_records(self) -> bool:
        # Retention compares the times of records with it.
        return True

    def inject(self, context: FaultContext) -> None:
        context.notes["incarnation"] = context.node.incarnation()
        context.resources.want(context.event, context.node_id, CLOCK, (self.offset, self.ppm))

    def verify_injected(self, context: FaultContext) -> Proof:
        actual = context.node.clock.get()
        is_close = _close(actual, context.resources.wanted(CLOCK, context.node_id))
        return Proof(is_close, {"offset": actual[0], "ppm": actual[1]})

    def heal(self, context: FaultContext) -> None:
        node = context.node
        try:
            if node.state() == "stopped" or node.incarnation() != context.notes.get("incarnation"):
                # A new process has the right time, and a stopped one has none.
                context.notes["restarted"] = True
            elif context.effective:
                context.notes["end"] = list(node.clock.get())
        finally:
            context.resources.release(context.event, context.node_id, CLOCK)

    def verify_healed(self, context: FaultContext) -> Proof:
        if context.notes.get("restarted"):
            return Proof(True, {"ended_early": "the process was restarted, which gives it the right time"})
        wanted = context.resources.wanted(CLOCK, context.node_id) or (0.0, 0.0)
        actual = context.node.clock.get()
        evidence = {"before_heal": context.notes.get("end"), "offset": actual[0], "ppm": actual[1]}
        if not _close(actual, wanted):
            return Proof(False, evidence)
        served = verify_serving(context)
        return Proof(served.effective, {**evidence, **served.evidence})


def _close(actual: tuple[float, float], wanted: tuple[float, float]) -> bool:
    return all(abs(one - other) < TOLERANCE for one, other in zip(actual, wanted, strict=True))


def clock(
    target: str | int,
    *,
    lasting: float = OPEN,
    at: float = 0,
    after: str | None = None,
    offset: float = 0.0,
    ppm: float = 0.0,
) -> Event:
    """The node's time of day jumps by ``offset`` seconds, and then runs too fast by ``ppm`` millionths."""
    return Event.of(ClockFault(offset=offset, ppm=ppm), target, at=at, after=after, lasting=lasting)
