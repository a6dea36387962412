"""Histories with anomalies of groups and of availability, and near misses."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

ONE = 1 << 40  # values of process 1
S = 1_000_000_000
Span = tuple[int, int | None]


READ = {"committed": True}
EARLIEST = {"policy": "earliest"}


def member(
    s: Any, process: int, event: str, at: Span, *, generation: int | None = 1, start: int | None = None,
    partition: int | None = 0, group: str = "g", kind: str = "ok", policy: str | None = None,
    instance: str | None = None,
) -> Any:  # fmt: skip
    config = {"auto_offset_reset": policy, "instance": instance}
    known = {name: each for name, each in config.items() if each is not None}
    value = json.dumps({"event": event, "member": f"m{process}", **known})
    more = {
        "topic": None if partition is None else "t",
        "partition": partition,
        "start_offset": start,
        "type": kind,
    }
    return s.operation(
        "member", at=at, process=process, value=value, group=group, generation=generation, **more
    )


def numbered(s: Any, op: int) -> Any:
    """Gives the last operation this number."""
    s.operations[-1]["op"] = op
    return s


def commit(
    s: Any, process: int, offset: int, at: Span, *, generation: int | None = 1, reset: bool = False,
    group: str = "g", kind: str = "ok", partition: int = 0, transaction: int | None = None,
) -> Any:  # fmt: skip
    value: dict[str, Any] = {"member": f"m{process}"} | ({"reset": True} if reset else {})
    if transaction is not None:
        value["transaction"] = transaction
    more = {
        "end_offset": offset,
        "type": kind,
        "partition": partition,
        "generation": generation,
        "group": group,
    }
    return s.operation("commit", at=at, process=process, value=json.dumps(value), **more)


def died(s: Any, process: int, at: int) -> Any:
    value = json.dumps({"role": "member", "process": process, "event": "killed"})
    return s.operation(
        "worker", at=(at, at), process=-2, type="info", value=value, topic=None, partition=None
    )


def log(s: Any, size: int, *, end: int | None = None) -> Any:
    """Records 0, 1, ... of one log, and a final read of all of them after every other operation. end: of the log."""
    for offset in range(size):
        s.send(ONE + offset, offset, at=(1, 2))
    now = s.now
    s.now = 9_000
    s.final({offset: ONE + offset for offset in range(size)}, end=size if end is None else end)
    s.now = now
    return s


def polled(s: Any, process: int, offsets: range, at: Span, *, generation: int | None = 1, **more: Any) -> Any:
    for offset in offsets:
        s.poll(
            ONE + offset,
            offset,
            process=process,
            at=at,
            generation=generation,
            op=(process << 20) + at[0],
            **more,
        )
    return s


def handed_over(s: Any) -> Any:
    """A regular rebalance: the first member commits and is revoked; the second starts at the committed offset."""
    log(s, 4)
    member(s, 5, "joined", (9, 10), partition=None), member(s, 5, "assigned", (10, 20), start=0)
    polled(s, 5, range(2), (20, 30)), commit(s, 5, 2, (31, 40)), member(s, 5, "revoked", (41, 50))
    member(s, 6, "assigned", (50, 60), generation=2, start=2)
    polled(s, 6, range(2, 4), (60, 70), generation=2), commit(s, 6, 4, (71, 80), generation=2)
    return member(s, 6, "left", (90, 95), generation=None, partition=None)


def owned_twice(s: Any) -> Any:
    log(s, 1), member(s, 5, "assigned", (10, 20), start=0), member(s, 6, "assigned", (30, 40), start=0)
    member(s, 5, "revoked", (41, 50)), polled(s, 6, range(1), (60, 70))
    return s


def owned_twice_as_a_commit_proves(s: Any) -> Any:
    """The first owner still commits after the second was assigned, before it learns that it lost the partition."""
    log(s, 1), member(s, 5, "assigned", (10, 20), start=0), polled(s, 5, range(1), (21, 25))
    member(s, 6, "assigned", (30, 40), start=0), commit(s, 5, 1, (41, 45)), member(s, 5, "lost", (50, 60))
    return s


def owned_one_after_the_other(s: Any) -> Any:
    """Every ownership ends, or may have ended, before the next one begins, or has another generation, group or log.

    Ownership ends by revocation, by leaving, or by losing the partition; a failed assignment starts none.
    """
    log(s, 1)
    member(s, 5, "assigned", (10, 20), start=0), polled(s, 5, range(1), (20, 22)), commit(s, 5, 1, (23, 25))
    member(s, 5, "revoked", (30, 35)), member(s, 6, "assigned", (26, 30), start=1)
    member(s, 6, "left", (40, 45), partition=None), member(s, 7, "assigned", (40, 50), start=1)
    member(s, 8, "assigned", (55, 60), start=1), member(s, 7, "lost", (70, 75))
    (
        member(s, 9, "assigned", (80, 85), start=1, generation=2),
        member(s, 10, "assigned", (86, 90), start=1, group="h"),
    )
    (
        member(s, 11, "assigned", (86, 90), start=0, partition=1),
        member(s, 12, "assigned", (86, 90), start=1, kind="fail"),
    )
    return s


def owned_without_a_generation(s: Any) -> Any:
    log(s, 1), member(s, 5, "assigned", (10, 20), start=0, generation=None)
    member(s, 6, "assigned", (30, 40), start=0, generation=None), member(s, 5, "revoked", (41, 50))
    return polled(s, 6, range(1), (60, 70))


def group_skipped(s: Any) -> Any:
    """After a crash, the next owner starts at 4. No member of the group polled or committed 2 and 3."""
    (
        log(s, 5),
        member(s, 5, "assigned", (10, 20), start=0, **EARLIEST),
        polled(s, 5, range(2), (20, 30)),
        died(s, 5, 31),
    )
    member(s, 6, "assigned", (40, 50), generation=2, start=4, **EARLIEST)
    return polled(s, 6, range(4, 5), (60, 70), generation=2)


def group_skipped_records_of_an_idle_owner(s: Any) -> Any:
    """The first owner was assigned offset 0 and polled nothing."""
    log(s, 2), member(s, 5, "assigned", (10, 20), start=0, **EARLIEST), member(s, 5, "lost", (30, 35))
    member(s, 6, "assigned", (40, 50), generation=2, start=1, **EARLIEST)
    return polled(s, 6, range(1, 2), (60, 70), generation=2)


def group_went_on(s: Any) -> Any:
    """Starts beyond the last polled offset that are legal.

    The group polled the records in between, if only later; they were deleted before the start; a reset skipped them;
    or a read_committed reader does not get them.
    """
    (
        log(s, 3),
        member(s, 5, "assigned", (10, 20), start=0, **EARLIEST),
        polled(s, 5, range(1), (20, 30), **READ),
    )
    (
        polled(s, 5, range(1, 2), (90, 95), **READ),
        member(s, 6, "assigned", (40, 50), generation=2, start=2, **EARLIEST),
    )
    s.poll(None, 5, error="corrupt", process=20, at=(49, 60), **READ)
    s.poll(None, 6, error="corrupt", process=20, at=(49, 60), **READ)
    s.poll(None, 7, error="corrupt", process=20, at=(80, 85))
    polled(s, 6, range(2, 3), (51, 55), generation=2, **READ)
    member(s, 7, "assigned", (60, 70), generation=3, start=8, **EARLIEST)
    s.poll(None, 9, error="corrupt", process=20, at=(101, 102), **READ)
    commit(s, 7, 10, (71, 75), generation=3, reset=True)
    return member(s, 8, "assigned", (75, 100), generation=4, start=10, **EARLIEST)


def commit_went_back(s: Any) -> Any:
    log(s, 1, end=10), commit(s, 5, 5, (10, 20)), commit(s, 5, 3, (15, 20)), commit(s, 6, 4, (21, 30))
    return s


def commits_in_order(s: Any) -> Any:
    """Lower commits that are legal: concurrent, equal, of another group or log, not ok, or after a possible reset."""
    log(s, 1, end=10), commit(s, 5, 5, (10, 20)), commit(s, 5, 4, (20, 25)), commit(s, 5, 5, (26, 27))
    (
        commit(s, 5, 1, (30, 31), group="h"),
        commit(s, 5, 1, (30, 31), partition=1),
        commit(s, 5, 9, (30, 31), kind="info"),
    )
    commit(s, 5, 2, (40, 50), reset=True), commit(s, 5, 2, (60, 70))
    (
        commit(s, 5, 8, (80, 90)),
        commit(s, 5, 1, (100, None), reset=True, kind="info"),
        commit(s, 5, 7, (95, 101)),
    )
    return s


def fenced_member_committed(s: Any) -> Any:
    log(s, 1), member(s, 5, "assigned", (10, 20), start=0), member(s, 5, "lost", (60, 65))
    member(s, 6, "assigned", (30, 40), generation=2, start=0), polled(s, 6, range(1), (45, 46), generation=2)
    return commit(s, 5, 1, (41, 50))


def commits_of_the_old_generation_in_time(s: Any) -> Any:
    """Commits that need not be fenced.

    They were refused, began before the new assignment was complete, are of the newest generation or of another
    partition, or the newer generation belongs to the same member.
    """
    log(s, 1), member(s, 5, "assigned", (10, 20), start=0), polled(s, 5, range(1), (21, 22))
    member(s, 6, "assigned", (30, 40), generation=2, start=0), commit(s, 5, 1, (40, 50))
    commit(s, 5, 1, (51, 55), kind="fail"), commit(s, 6, 1, (56, 60), generation=2)
    commit(s, 5, 1, (61, 65), partition=1), member(s, 7, "assigned", (66, 67), generation=3, start=1)
    return commit(s, 7, 1, (68, 69), generation=2)


def duplicates_beyond_the_commit(s: Any) -> Any:
    log(s, 3), member(s, 5, "assigned", (10, 20), start=0), polled(s, 5, range(3), (20, 30))
    commit(s, 5, 2, (31, 39)), member(s, 5, "revoked", (39, 40))
    member(s, 6, "assigned", (40, 50), generation=2, start=1)
    return polled(s, 6, range(1, 3), (50, 60), generation=2)


def duplicates_as_promised(s: Any) -> Any:
    """Duplicates within at-least-once delivery.

    The offsets were not committed, or not before the next assignment; the member sought; the records were not polled
    before, although one was committed; or a commit was reset.
    """
    log(s, 6), member(s, 5, "assigned", (10, 20), start=0), polled(s, 5, range(2), (20, 30))
    commit(s, 5, 2, (31, 40)), member(s, 6, "assigned", (40, 50), generation=2, start=0)
    polled(s, 6, range(2), (50, 60), generation=2)
    (
        member(s, 7, "assigned", (70, 80), generation=3, start=2),
        polled(s, 7, range(2, 4), (80, 85), generation=3),
    )
    polled(s, 7, range(1), (86, 90), generation=3, assignment=2), commit(s, 7, 5, (91, 95), generation=3)
    member(s, 8, "assigned", (100, 110), generation=4, start=4)
    polled(s, 8, range(4, 6), (110, 115), generation=4)
    commit(s, 8, 6, (116, 117), generation=4), commit(s, 8, 1, (118, 119), generation=4, reset=True)
    s.send(ONE + 9, 0, partition=1, at=(1, 2)), commit(s, 5, 1, (31, 39), partition=1)
    s.poll(ONE + 9, 0, process=5, partition=1, at=(35, 40), generation=1)
    member(s, 6, "assigned", (40, 50), generation=2, start=0, partition=1)
    s.poll(ONE + 9, 0, process=6, partition=1, at=(50, 60), generation=2)
    member(s, 9, "assigned", (120, 130), generation=5, start=1)
    return polled(s, 9, range(1, 3), (130, 140), generation=5)


def orphaned(s: Any) -> Any:
    log(s, 1), member(s, 5, "assigned", (10, 20), start=0), polled(s, 5, range(1), (21, 22)), died(s, 5, 30)
    member(s, 6, "joined", (25, 26), partition=None), commit(s, 6, 1, (3 * S, 3 * S + 1), partition=1)
    return s


def orphaned_until_the_next_assignment(s: Any) -> Any:
    log(s, 1), member(s, 5, "assigned", (10, 20), start=0), polled(s, 5, range(1), (21, 22))
    member(s, 5, "revoked", (30, 40)), member(s, 5, "assigned", (40 + S + 1, 2 * S), start=1, generation=2)
    return s


def owned_or_dead(s: Any) -> Any:
    """Without an owner for exactly the limit; for longer, but without live members; or after all members had left."""
    log(s, 1), member(s, 5, "assigned", (10, 20), start=0), polled(s, 5, range(1), (21, 22))
    member(s, 5, "revoked", (30, 40)), member(s, 5, "assigned", (40 + S, S + 50), start=1, generation=2)
    member(s, 5, "left", (S + 60, S + 70), partition=None)
    member(s, 6, "joined", (9 * S, 9 * S), partition=None)
    member(s, 6, "assigned", (9 * S + 1, 9 * S + 2), start=1, generation=3)
    return member(s, 6, "left", (10 * S, 10 * S), partition=None)


def no_acknowledgements(s: Any) -> Any:
    """Once between two acknowledgements, once at the end; each longer than a second."""
    s.send(ONE, 0, at=(0, S)).send(ONE + 1, None, at=(S, 2 * S), type="info").send(
        ONE + 2, 1, at=(2 * S, 2 * S + 500)
    )
    s.send(ONE + 3, None, at=(3 * S, 5 * S), type="info")
    return s.final({0: ONE, 1: ONE + 2}, end=2)


def acknowledgements_within_the_limit(s: Any) -> Any:
    """Gaps of exactly the limit, and a longer gap in which nothing was sent."""
    s.send(ONE, 0, at=(0, S)).send(ONE + 1, 1, at=(S, 2 * S)).send(ONE + 2, 2, at=(8 * S, 9 * S))
    return s.final({0: ONE, 1: ONE + 1, 2: ONE + 2}, end=3)


def heal(s: Any, at: Span) -> Any:
    s.fault("inject").fault("heal")
    s.operations[-1] |= {"invoked": at[0], "completed": at[1]}
    s.now = at[1]
    return s


def recovered_slowly(s: Any) -> Any:
    s.send(ONE, 0, at=(0, 10)).send(ONE + 1, 0, at=(0, 10), partition=1)
    heal(s, (20, 30)).send(ONE + 2, 1, at=(30 + S, 31 + S)).send(
        ONE + 3, None, at=(30 + S, 31 + S), partition=1, type="info"
    )
    return s.final({0: ONE, 1: ONE + 2}, end=2).final({0: ONE + 1}, end=1, partition=1)


def recovered(s: Any) -> Any:
    """One partition recovers in time, one gets no further send, one had no acknowledgement before the fault."""
    s.send(ONE, 0, at=(0, 10)).send(ONE + 1, 0, at=(0, 10), partition=1)
    heal(s, (20, 30)).send(ONE + 2, 1, at=(30, 30 + S)).send(ONE + 3, 0, at=(30 + S, 31 + S), partition=2)
    s.final({0: ONE, 1: ONE + 2}, end=2).final({0: ONE + 1}, end=1, partition=1)
    return s.final({0: ONE + 3}, end=1, partition=2)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    handed_over: {},
    owned_twice: {"double-ownership": 1},
    owned_twice_as_a_commit_proves: {"double-ownership": 1},
    owned_one_after_the_other: {},
    owned_without_a_generation: {},
    group_skipped: {"group-skip": 2},
    group_skipped_records_of_an_idle_owner: {"group-skip": 1},
    group_went_on: {"corrupt-record": 4},
    commit_went_back: {"commit-regression": 1},
    commits_in_order: {},
    fenced_member_committed: {"unfenced-commit": 1},
    commits_of_the_old_generation_in_time: {},
    duplicates_beyond_the_commit: {"excess-duplicates": 1},
    duplicates_as_promised: {"commit-beyond-polls": 1},
    orphaned: {"orphaned-partition": 1},
    orphaned_until_the_next_assignment: {"orphaned-partition": 1},
    owned_or_dead: {},
    no_acknowledgements: {"unavailable": 2},
    acknowledgements_within_the_limit: {},
    recovered_slowly: {"slow-recovery": 2},
    recovered: {},
}
