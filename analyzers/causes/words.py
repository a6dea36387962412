"""Faults in words, and elections, for the steps of a cause."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from analyzers.causes.evidence import Change, Extent, LogEvidence, RunEvidence, span_of
from analyzers.history.fault_events import FaultEvent, spoken
from analyzers.verdict.finding import Election, Step
from analyzers.verdict.wording import client_name, count

MOST_FAULTS = 2
"""Faults that the steps of one cause name; `Cause.faults` names all."""

RESTORED = "the network between {} and the other brokers is restored"
CLIENTS_RESTORED = "the network between {} and its clients is restored"
STARTED = "{} is started again"

FAULT_WORDS = {
    "isolate": ("is cut off from the other brokers, not from clients", RESTORED),
    "partition": ("is cut off from the other brokers, not from clients", RESTORED),
    "cut-clients": ("is cut off from its clients, not from the other brokers", CLIENTS_RESTORED),
    "kill": ("is killed", STARTED),
    "stop": ("is stopped", STARTED),
    "restart": ("is restarted", "{} serves clients again"),
    "pause": ("is frozen", "{} continues"),
    "power-loss": ("loses power", STARTED),
    "wipe": ("loses its disk", STARTED),
    "kill-client": ("is killed", STARTED),
    "stop-client": ("is asked to end", STARTED),
    "pause-client": ("is frozen", "{} continues"),
    "isolate-client": (
        "is cut off from the brokers",
        "the network between {} and the brokers is restored",
    ),
}
"""By fault: what happens, after the name of what it acts on, and what its heal does to that. Another fault may have
stopped a broker meanwhile, so some heals name the network. Other faults are named as in the schedule."""

MOMENTARY = frozenset(
    {
        "add-partitions", "delete-controller", "delete-records", "elect", "fence", "rebalance", "recreate-topic",
        "reset", "restart", "rolling-restart", "upgrade",
    }
)  # fmt: skip
"""Faults that happen at one moment. The story mentions their end only if `FAULT_WORDS` has words for it."""

ELECTIONS = {
    False: "an election of the preferred leader is requested by hand, for {}",
    True: "an unclean election is requested by hand, for {}: any live replica may become leader",
}
"""Of the fault `elect`, by its option `unclean`."""

PLURAL = {"is": "are", "loses": "lose"}

WITH_OPTIONS = {
    ("partition", "plane", "replication"): (
        "is cut off from replication with the other brokers, not from clients",
        RESTORED,
    ),
    ("partition", "plane", "controller"): (
        "is cut off from the controllers, not from other brokers and clients",
        "the network between {} and the controllers is restored",
    ),
    ("cut-clients", "one_way", "out"): (
        "is cut off from its clients one way: requests arrive, answers do not",
        CLIENTS_RESTORED,
    ),
    ("cut-clients", "one_way", "in"): (
        "is cut off from its clients one way: requests do not arrive",
        CLIENTS_RESTORED,
    ),
}
"""By fault, option and value, where that says more than `FAULT_WORDS`."""

ONE_WAY = {
    "out": " one way: requests do not arrive",
    "in": " one way: requests arrive, answers do not",
}
"""Of the fault `isolate-client`, by its option `one_way`."""

PLANES = {"replication": "replicate from each other", "controller": "reach each other's controllers"}
"""What groups of brokers cannot do while a partition cuts one plane only."""


def fault_steps(
    events: Sequence[FaultEvent], run: RunEvidence, of: LogEvidence | None = None
) -> Iterator[Step]:
    """When faults began and were healed. of: the log whose leader is named where a fault hits it."""
    for event in events:
        leader = None
        if of is not None and (known := leader_before(of.changes, event.began)):
            leader = known[0], f"leader of {of.log}, epoch {known[1]}"
        yield Step(time=run.at(event.began), text=fault_text(event, leader, run.clients), is_fault=True)
        is_over = event.fault in MOMENTARY and event.fault not in FAULT_WORDS
        if event.heal is not None and not is_over:
            if event.heal.effective:
                # What the heal brings about happens before the heal is proved.
                yield Step(time=run.at(event.heal.invoked), text=heal_text(event, run.clients))
            else:
                text = f"the fault {spoken(event.fault, event.clients)} is not known to be healed"
                yield Step(time=run.at(event.ended), text=text)


def fault_text(event: FaultEvent, leader: tuple[int, str] | None, clients: Mapping[int, str]) -> str:
    """``broker 1 (leader of t-0, epoch 0) is cut off from the other brokers, not from clients``."""
    if groups := _groups(event):
        sides = " and ".join(_brokers(group, leader) for group in groups)
        what = PLANES.get(event.options.get("plane", ""), "reach each other")
        return f"{sides} cannot {what}; clients reach all of them"
    if event.fault == "elect":
        _, _, where = event.target.partition(":")
        log = f"partition {where or 0}" if where.isdecimal() or not where else where
        return ELECTIONS[bool(event.options.get("unclean"))].format(log)
    words, _ = _wording(event)
    if words is None or not (event.nodes or event.processes):
        return f"fault {event.name()}"
    if not _is_one(event):
        verb, _, rest = words.partition(" ")
        words = f"{PLURAL[verb]} {rest}".replace(" its ", " their ")
    return f"{_names(event, leader, clients)} {words}"


def heal_text(event: FaultEvent, clients: Mapping[int, str]) -> str:
    """``broker 1 is started again``."""
    if groups := _groups(event):
        sides = " and ".join(_brokers(group, None) for group in groups)
        return f"the network between {sides} is restored"
    _, words = _wording(event)
    if words is None or not (event.nodes or event.processes):
        return f"the fault {spoken(event.fault, event.clients)} ends"
    if not _is_one(event):
        words = words.replace("{} is ", "{} are ").replace("{} continues", "{} continue")
        words = words.replace("{} serves", "{} serve").replace(" its ", " their ")
    return words.format(_names(event, None, clients))


def _names(event: FaultEvent, leader: tuple[int, str] | None, clients: Mapping[int, str]) -> str:
    if event.processes:
        return ", ".join(client_name(each, clients) for each in event.processes)
    return _brokers(event.nodes, leader)


def _is_one(event: FaultEvent) -> bool:
    return len(event.nodes or event.processes) == 1


def _wording(event: FaultEvent) -> tuple[str | None, str | None]:
    """What happens, and what ends."""
    if event.fault == "isolate-client":
        return _client_cut(event.options)
    special = (WITH_OPTIONS.get((event.fault, name, str(value))) for name, value in event.options.items())
    return next(filter(None, special), FAULT_WORDS.get(event.fault, (None, None)))


def _client_cut(options: Mapping[str, Any]) -> tuple[str, str]:
    """``is cut off from broker 1``; other targets than node ids are named as in the schedule."""
    target = str(options.get("brokers", "brokers"))
    brokers = f"the {target}"
    if target.replace(",", "").isdecimal():
        brokers = _brokers([int(each) for each in target.split(",")], None)
    what, end = (words.replace("the brokers", brokers) for words in FAULT_WORDS["isolate-client"])
    return what + ONE_WAY.get(options.get("one_way", ""), ""), end


def _groups(event: FaultEvent) -> list[list[int]]:
    """The groups of brokers between which a partition lies; none for one that has a target."""
    is_groups = event.fault == "partition" and event.target.startswith("[[")
    return json.loads(event.target) if is_groups else []


def _brokers(nodes: Sequence[int], leader: tuple[int, str] | None) -> str:
    role = {leader[0]: f" ({leader[1]})"} if leader is not None else {}
    *others, last = (f"{node}{role.get(node, '')}" for node in nodes)
    return f"brokers {', '.join(others)} and {last}" if others else f"broker {last}"


def election_text(
    election: Election, log: str, *, offset: int | None = None, remark: str = "", reason: str = ""
) -> str:
    """offset: where its log ends, exclusive. remark, reason: of how it was elected."""
    isr = f", ISR {braces(election.isr)}" if election.isr else ""
    place = f"; its log ends at {offset:,}" if offset is not None else ""
    return f"broker {election.leader} leads {log}, epoch {election.epoch}{isr}{remark}{place}{reason}"


def spread(extent: Extent, what: str, run: RunEvidence, fate: str, where: str = "") -> str:
    """When the findings of an extent were seen first and last, for a step at the time of the first.

    what: a noun that takes an s. fate: what follows it, the same for one and for several.
    """
    if extent.count == 1:
        return f"{_article(what)} {what} that {fate}{where}"
    end = ""
    if extent.last is not None and extent.first is not None and extent.last > extent.first:
        end = f"; the last at {run.moment(extent.last, extent.first)}"
    return f"the first of {count(extent.count, what)} that {fate}{where}{end}"


def extent_steps(
    extents: Sequence[Extent], run: RunEvidence, text: str
) -> tuple[list[FaultEvent], list[Step]]:
    """The faults that were active from the first finding to the last, and steps: the first of these, and the text at
    the time of the first finding."""
    first, last = span_of(extents)
    events = run.active(first, last)
    steps = list(fault_steps(events[:MOST_FAULTS], run))
    if first is not None:
        steps.append(Step(time=run.at(first), text=text))
    return events, steps


def first_steps(extents: Sequence[Extent], run: RunEvidence) -> tuple[list[FaultEvent], list[Step]]:
    """As `extent_steps`, with a text that names the findings and says when the last one was seen."""
    first, last = span_of(extents)
    names = ", ".join(dict.fromkeys(each.anomaly for each in extents))
    if sum(each.count for each in extents) == 1 or first is None or last is None or last <= first:
        return extent_steps(extents, run, names if first == last else f"the first {names}")
    return extent_steps(extents, run, f"the first {names}; the last at {run.moment(last, first)}")


def _article(noun: str) -> str:
    return "an" if noun[0] in "aeiou" else "a"


def in_order(steps: Iterable[Step]) -> tuple[Step, ...]:
    """By time; those at an unknown time come last."""
    return tuple(sorted(steps, key=lambda step: (step.time is None, step.time or 0.0)))


def braces(isr: Sequence[int]) -> str:
    return "{" + ", ".join(map(str, sorted(isr))) + "}"


def leader_before(changes: Sequence[Change], time: int | None) -> tuple[int, int] | None:
    """The leader and its epoch as the brokers saw them at a time (ns); None if unknown."""
    seen = [each.after for each in changes if time is None or each.after.time <= time]
    known = [(each.epoch, each.leader) for each in seen if each.leader >= 0]
    if not known:
        return None
    epoch, leader = max(known)
    return leader, epoch
