"""Whole runs, most of which lack something: a phase, a final read, the effect of a fault, records for some client."""

from __future__ import annotations

from typing import Any

from tests.support.stories.groups import commit

ONE = 1 << 40


def good(s: Any) -> Any:
    return s.send(ONE, 0).final({0: ONE}, end=1)


def sample(
    s: Any, time: int, *, node: int = 1, leader: int = 1, epoch: int = 0, isr: tuple[int, ...] = (1, 2)
) -> None:
    common = {"process": 50, "node": node, "kind": "partition", "topic": "t", "partition": 0, "time": time}
    s.observations.append(common | {"leader": leader, "leader_epoch": epoch, "isr": list(isr)})


def two(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1).poll(ONE, 0).poll(ONE + 1, 1)
    return s.final({0: ONE, 1: ONE + 1}, end=2)


def hardly_exercised(s: Any) -> Any:
    """One acknowledgement before the fault, no answers during and after it, and clients that saw hardly anything."""
    s.send(ONE, 0).poll(ONE, 0).fault("inject")
    for sequence in range(1, 51):
        s.send(ONE + sequence, None, type="info")
    s.fault("heal").operation("read", session=1, process=7, type="info", start_offset=0, end_offset=9)
    s.poll(ONE, 0, process=7, session=1)
    sample(s, 5, node=1, isr=(1, 2))
    return s.final({offset: ONE + offset for offset in range(9)}, end=9)


def with_a_reader_that_gets_nothing(s: Any) -> Any:
    """It says that it polls all logs. Another client got the record."""
    reader = {"role": "reader", "process": 11}
    s.harness("worker", {**reader, "event": "started", "poll_limit": 10})
    s.send(ONE, 0).poll(ONE, 0).harness("worker", {**reader, "event": "stopped"})
    return s.final({0: ONE}, end=1)


def with_idle_groups(s: Any) -> Any:
    """One group commits both partitions, one only one of them, one nothing, and one none of its attempts.

    Group "old" has no row about what it subscribes to, as histories of other tools. Nothing was acknowledged in
    partition 2.
    """
    s.send(ONE, 0, partition=0).send(ONE + 1, 0, partition=1).send(ONE + 2, None, partition=2, type="info")
    for process, group in ((5, "all"), (6, "some"), (7, "none"), (8, "failing")):
        s.operation(
            "subscribe", at=(1, 1), process=process, topic="t", partition=None, group=group, value="{}"
        )
    for process, group, partition, kind in (
        (5, "all", 0, "ok"), (5, "all", 1, "ok"), (6, "some", 1, "ok"), (8, "failing", 0, "info"),
        (9, "old", 0, "ok"),
    ):  # fmt: skip
        commit(s, process, 1, (50, 60), group=group, partition=partition, kind=kind)
    return s


def incomplete(s: Any) -> Any:
    """Healed at 19 ns. A replica is in sync again at 30, and the other partition has a leader at 33."""
    good(s.fault("inject").fault("heal"))
    all_in_sync: dict[str, Any] = {"isr": (1, 2, 3)}
    sample(s, 5, node=1, leader=1, epoch=1, **all_in_sync)
    sample(s, 10, node=2, leader=2, epoch=2, isr=(2, 3))
    sample(s, 30, node=2, leader=2, epoch=2, **all_in_sync)
    # A leader that was replaced, and a follower that has not heard of it.
    sample(s, 25, node=1, leader=1, epoch=1, **all_in_sync)
    sample(s, 35, node=3, leader=2, epoch=2, isr=(2, 3))
    for time, leader, epoch in ((5, 1, 1), (28, -1, 2), (33, 3, 3), (60, 3, 3)):
        sample(s, time, node=3, leader=leader, epoch=epoch, **all_in_sync)
        s.observations[-1]["partition"] = 1
    sample(s, 60, node=2, leader=2, epoch=2, **all_in_sync)
    return s


def without(s: Any, **columns: Any) -> Any:
    """The same history from a tool that does not fill these columns of records."""
    filled = s.rows

    def rows(run: str) -> Any:
        tables = filled(run)
        return tables | {"records": [row | columns for row in tables["records"]]}

    s.rows = rows
    return s


def all_stories(story: Any) -> dict[str, Any]:
    stories = {"good": good(story())}
    stories["nothing-acknowledged"] = story().send(ONE, None, type="info").final({}, end=0)
    stories["no-records"] = story().operation("phase", value='{"phase": "steady"}')
    stories["no-final-read"] = story().send(ONE, 0).poll(ONE, 0)
    failed = story().send(ONE, 0).poll(ONE, 0)
    stories["final-read-failed"] = failed.operation("final-read", type="fail", start_offset=0, end_offset=1)
    both = good(story()).send(ONE + 1, 0, partition=1).poll(ONE + 1, 0, partition=1)
    stories["one-final-read-missing"] = both
    stories["fault-without-effect"] = good(story().fault("inject", effective=False).fault("heal"))
    stories["fault-not-healed"] = good(story().fault("inject").fault("heal", effective=False))
    stories["fault-without-heal"] = good(story().fault("inject"))
    stories["fault-without-inject"] = good(story().fault("heal"))
    for event in ("started", "stopped", "crashed"):
        value = {"event": event, "process": 1, "trouble": "producer 1 ended with status 70"}
        stories[f"client-{event}"] = good(story().phases().harness("worker", value))
    started = {"event": "started", "process": 3, "role": "reader"}
    began = story().phases().harness("worker", started)
    stories["client-ended"] = good(began).harness("worker", started | {"event": "stopped"})
    stories["phase-faults"] = good(story().phases("steady", "faults"))
    stories["phase-end"] = good(story().phases())
    stories["no-phases"] = good(story().harness("recovery", {"problem": None, "limit": 60}))
    stories["no-phases"].has_phases = False
    stories["phase-missing"] = good(story().phases("steady", "final", "end"))
    stories["recovered"] = good(story().phases().harness("recovery", {"problem": None, "limit": 60}))
    unrecovered = {"problem": "brokers [1] do not answer", "limit": 60.0}
    stories["not-recovered"] = good(story().phases().harness("recovery", unrecovered))
    died = {"step": "load", "error": "Every client process ended early: 1 producer"}
    stories["load-failed"] = good(story().phases().harness("problem", died))
    stories["other-step-failed"] = good(story().phases().harness("problem", {"step": "dig", "error": "x."}))
    leaderless = good(story().phases()).send(ONE + 1, 0, partition=1).poll(ONE + 1, 0, partition=1)
    leaderless.harness("unread", {"reason": "it has no leader"}, topic="t", partition=1)
    stories["leaderless"] = leaderless
    stories["lost-and-leaderless"] = (
        story().phases().send(ONE, 0).final({}, end=0).send(ONE + 1, 0, partition=1)
    )
    stories["lost-and-leaderless"].harness("unread", {"reason": "it has no leader"}, topic="t", partition=1)
    stories["lost-and-unknown"] = story().fault("inject").send(ONE, 0).final({}, end=0)
    shaken = story().send(ONE, 0, at=(0, 10)).send(ONE + 1, 1, at=(1, 20)).send(ONE + 2, 2, at=(2, 25))
    shaken.fault("inject").send(ONE + 3, None, type="info").send(ONE + 4, 4).send(ONE + 5, 5).fault("heal")
    shaken.send(ONE + 6, 6)
    shaken.operation("read", session=1, process=7, type="info", start_offset=0, end_offset=1)
    shaken.final({0: ONE, 1: ONE + 1, 2: ONE + 2, 4: ONE + 4, 6: ONE + 6}, end=7)
    sample(shaken, 1), sample(shaken, 2, leader=-1, epoch=1), sample(shaken, 3, leader=1, epoch=2)
    sample(shaken, 4, leader=2, epoch=3, isr=(2,)), sample(shaken, 5, leader=2, epoch=3, isr=(2, 1))
    sample(shaken, 5, node=2), sample(shaken, 6, node=2, leader=2, epoch=3, isr=(2,))
    # Topics are created before the load; the time of a run begins with the load.
    shaken.harness("topic", {"event": "created", "id": None, "config": {}}, topic="t", at=(-20, -10))
    stories["shaken"] = shaken
    stories["incomplete"] = incomplete(story())
    edges = story().fault("inject").fault("heal")  # from 1 to 9 ns, and from 11 to 19
    spans = [(0, 0), (0, 1), (0, 8), (0, 10), (8, 10), (9, 9), (9, 11), (9, 12), (12, 19), (12, 20)]
    for sequence, span in enumerate(spans):
        edges.send(ONE + sequence, sequence, at=span)
    stories["edges"] = edges
    stories["hardly-exercised"] = hardly_exercised(story())
    stories["reader-without-records"] = with_a_reader_that_gets_nothing(story())
    stories["idle-groups"] = with_idle_groups(story())
    stories["unlinked"] = without(two(story()), previous=None, within=None)
    stories["half-linked"] = without(two(story()), within=None)
    return stories
