"""Clock: a node's time of day jumps, or runs too fast or too slow. Its timeouts use another clock, which stays
right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nemesis.cluster import Ahead, Node
from nemesis.effects.reconciler import Resource
from nemesis.event import OPEN, Event
from nemesis.fault import Draw, Fault, FaultContext, Proof
from nemesis.steps.serving import verify_serving
from nemesis.validation import number

FURTHEST = 1e9
"""Seconds, about 31 years, by which a clock can be wrong."""

TOLERANCE = 1.0
"""Seconds by which the clock that is read back after the heal may differ: a drift continues meanwhile."""

LIMIT = 20.0
"""Seconds in which the node's own time must show the clock that is wanted."""


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
    proved_by = (
        "the time that the broker itself states, in the append time of a record, is wrong by as much against "
        "this host's clock"
    )
    end_proved_by = (
        "the process has the right time, the time that the broker states is right, and the node serves"
    )
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

    @property
    def _skew(self) -> Skew:
        return Skew(offset=self.offset, ppm=self.ppm)

    def verify_injected(self, context: FaultContext) -> Proof:
        return _observe(context, own=self._skew, gives_up=lambda: False)

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
        if context.processes.wanted(context.node_id) != "running":
            return Proof(True, {**evidence, "not_checked": f"{', '.join(context.others)} holds the process"})
        # The heal is a change in the other direction. Other faults may keep the node from stating its time.
        stated = _observe(context, own=Skew().less(self._skew), gives_up=lambda: bool(context.others))
        evidence |= stated.evidence
        if not stated.effective and not context.others:
            return Proof(False, evidence)
        served = verify_serving(context)
        return Proof(served.effective, {**evidence, **served.evidence})


def _observe(context: FaultContext, *, own: Skew, gives_up: Callable[[], bool]) -> Proof:
    """Look at the node's own time until it shows the clock that is wanted, and with it the change `own`.

    Two looks in a row that contradict it decide as well: one may fall between two changes by other faults.
    """
    first: Ahead | None = None
    last: Ahead | None = None
    unseen = "the node was not asked in time"
    contradictions = 0
    is_shown = False

    def look() -> bool | None:
        nonlocal first, last, unseen
        try:
            last = context.cluster.ahead(context.node_id)
        except OSError as problem:
            unseen = str(problem)
            return None
        offset, ppm = context.resources.wanted(CLOCK, context.node_id) or (0.0, 0.0)
        wanted = Skew(offset=offset, ppm=ppm)
        if own.offset and not (shown := shows_offset(last, wanted, own)):
            first = last
            return shown
        first = first or last
        return shows_drift(first, last, wanted, own) if own.ppm else True

    def is_decided() -> bool:
        nonlocal contradictions, is_shown
        shown = look()
        is_shown, contradictions = shown is True, contradictions + 1 if shown is False else 0
        return is_shown or contradictions == 2 or gives_up()

    context.wait_until(is_decided, LIMIT)
    if first is None or last is None:
        return Proof(False, {"unseen": unseen})
    evidence: dict[str, object] = {"ahead": [last.least, last.most], "stated_in": last.source}
    if own.ppm and last.at > first.at:
        evidence["drift_ppm"] = list(drift(first, last))
    return Proof(is_shown, evidence)


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


STATED_TOLERANCE = 1.0
"""Seconds at most by which a stated time may differ from the wanted one; less for small offsets."""

SHARE = 0.25
"""Of an offset or a drift: by how much the observed one may differ."""

OLDEST = 60.0
"""Seconds at most for which a clock has drifted when it is looked at."""


@dataclass(frozen=True, kw_only=True)
class Skew:
    """offset: seconds ahead. ppm: millionths by which a clock then runs too fast."""

    offset: float = 0.0
    ppm: float = 0.0

    def less(self, other: Skew) -> Skew:
        return Skew(offset=self.offset - other.offset, ppm=self.ppm - other.ppm)


def shows_offset(seen: Ahead, wanted: Skew, own: Skew) -> bool | None:
    """Whether the clock is as wanted, and not as it would be without `own`. None where the look does not tell."""
    slack = min(STATED_TOLERANCE, abs(own.offset) * SHARE)
    if not _is_near(seen, wanted, slack):
        return False
    return None if _is_near(seen, wanted.less(own), slack) else True


def shows_drift(first: Ahead, second: Ahead, wanted: Skew, own: Skew) -> bool | None:
    """Whether the clock runs as fast as wanted between two looks, and not as fast as without `own`.

    None where the two looks do not tell.
    """
    if second.at <= first.at:
        return None
    least, most = drift(first, second)
    slack = abs(own.ppm) * SHARE
    if not least - slack <= wanted.ppm <= most + slack:
        return False
    return None if least - slack <= wanted.ppm - own.ppm <= most + slack else True


def drift(first: Ahead, second: Ahead) -> tuple[float, float]:
    """(least, most) millionths by which the clock ran too fast between the two looks."""
    seconds = second.at - first.at
    return (second.least - first.most) / seconds * 1e6, (second.most - first.least) / seconds * 1e6


def _is_near(seen: Ahead, skew: Skew, slack: float) -> bool:
    drifted = skew.ppm * 1e-6 * OLDEST
    return seen.most + slack >= skew.offset + min(0.0, drifted) and seen.least - slack <= skew.offset + max(
        0.0, drifted
    )
