"""Histories in which groups start at, or commit, positions that they may not, and near misses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.stories.groups import READ, commit, died, log, member, polled


def began_in_the_middle(s: Any) -> Any:
    """No member polled 0 and 1, although the log had them and the group starts at the log start."""
    log(s, 4), member(s, 5, "assigned", (10, 20), start=2, policy="earliest")
    return polled(s, 5, range(2, 4), (21, 30))


def began_at_the_log_start(s: Any) -> Any:
    """First positions that are legal.

    Nothing lies below; a commit, even one without answer, may have set the position; the member starts at the log
    end, at a position that it knows, or its setting is not known.
    """
    (
        log(s, 4),
        member(s, 5, "assigned", (10, 20), start=0, policy="earliest"),
        polled(s, 5, range(4), (21, 30)),
    )
    commit(s, 6, 2, (10, None), kind="info", group="h")
    for process, group, policy in (
        (6, "h", "earliest"),
        (7, "i", "latest"),
        (8, "j", None),
        (9, "k", "none"),
    ):
        member(s, process, "assigned", (11, 20), start=2, policy=policy, group=group)
        polled(s, process, range(2, 4), (21, 30))
    return member(s, 10, "assigned", (11, 20), start=4, policy="earliest", partition=1, group="l")


def never_committed(s: Any) -> Any:
    """With auto.offset.reset=latest, and without a commit, each member starts at the log end."""
    log(s, 4), member(s, 5, "assigned", (10, 20), start=1, policy="latest"), died(s, 5, 30)
    polled(s, 5, range(1, 2), (21, 25))
    member(s, 6, "assigned", (40, 50), generation=2, start=3, policy="latest")
    return polled(s, 6, range(3, 4), (61, 70), generation=2)


def skipped_what_was_not_committed(s: Any) -> Any:
    """As below, but the group had committed: the second member had to start at 2."""
    (
        log(s, 4),
        member(s, 5, "assigned", (10, 20), start=1, policy="latest"),
        polled(s, 5, range(1, 2), (21, 25)),
    )
    commit(s, 5, 2, (26, 30)), died(s, 5, 31)
    member(s, 6, "assigned", (40, 50), generation=2, start=3, policy="latest")
    return polled(s, 6, range(3, 4), (51, 60), generation=2)


def started_at_the_end_before_the_first_commit(s: Any) -> Any:
    """With auto.offset.reset=latest, and no commit that had certainly taken effect, each member starts at the end."""
    (
        log(s, 4),
        member(s, 5, "assigned", (10, 20), start=1, policy="latest"),
        polled(s, 5, range(1, 2), (21, 25)),
    )
    (
        commit(s, 5, 2, (26, 35)),
        commit(s, 5, 2, (26, 30), kind="info"),
        commit(s, 5, 2, (26, 30), transaction=8),
    )
    member(s, 6, "assigned", (35, 50), generation=2, start=3, policy="latest")
    return polled(s, 6, range(3, 4), (51, 60), generation=2)


def committed_beyond_its_polls(s: Any) -> Any:
    log(s, 4), member(s, 5, "assigned", (10, 20), start=0), polled(s, 5, range(2), (20, 30))
    polled(s, 20, range(2, 3), (21, 25), generation=None)
    return commit(s, 5, 3, (31, 40))


def committed_beyond_its_polls_after_a_failed_reset(s: Any) -> Any:
    log(s, 4), member(s, 5, "assigned", (10, 20), start=0), polled(s, 5, range(2), (20, 30))
    commit(s, 5, 9, (22, 24), reset=True, kind="fail")
    return commit(s, 5, 3, (31, 40))


def committed_records_that_it_got_later(s: Any) -> Any:
    """It polled them after the commit: had it been killed in between, nobody would have."""
    log(s, 4), member(s, 5, "assigned", (10, 20), start=0), polled(s, 5, range(2), (20, 30))
    commit(s, 5, 4, (31, 40))
    return polled(s, 5, range(2, 4), (41, 50))


def committed_what_it_had_polled(s: Any) -> Any:
    """Commits that are legal.

    Only a marker lies below the position; the poll had begun; the start position is committed; it was a reset; the
    answer is not known; or the record was deleted before.
    """
    (
        log(s, 2),
        member(s, 5, "assigned", (10, 20), start=0),
        polled(s, 5, range(2), (21, 30)),
        commit(s, 5, 5, (31, 40)),
    )
    s.poll(None, 5, error="corrupt", process=20, at=(50, 60))
    s.poll(None, 5, error="corrupt", process=5, at=(44, 60), generation=1), commit(s, 5, 6, (41, 44))
    commit(s, 5, 9, (61, 65), reset=True), commit(s, 5, 9, (66, 70)), commit(s, 5, 12, (71, 75), kind="info")
    s.poll(None, 9, error="corrupt", process=20, at=(71, 80)), commit(s, 5, 10, (71, 75))
    return member(s, 6, "assigned", (81, 85), start=10, generation=2)


def committed_past_an_aborted_record(s: Any) -> Any:
    """The group reads with read_committed, and only a reader without it got the record."""
    log(s, 1), member(s, 5, "assigned", (10, 20), start=0), polled(s, 5, range(1), (21, 30), **READ)
    s.poll(None, 1, error="corrupt", process=20, at=(50, 60))
    return commit(s, 5, 2, (31, 40))


def handed_over_in_a_transaction(s: Any, **isolation: Any) -> Any:
    """The first member sends its offsets to a transaction, which is committed; the next one starts before them."""
    log(s, 3), member(s, 5, "assigned", (10, 20), start=0), polled(s, 5, range(3), (21, 30), **isolation)
    commit(s, 5, 3, (31, 40), transaction=8), member(s, 5, "revoked", (41, 45))
    member(s, 6, "assigned", (46, 50), generation=2, start=1)
    polled(s, 6, range(1, 3), (51, 60), generation=2, **isolation)
    return commit(s, 6, 2, (61, 70), generation=2)


def offsets_of_a_transaction_were_pending(s: Any) -> Any:
    """A group with read_uncommitted does not wait for the markers of a committed transaction."""
    return handed_over_in_a_transaction(s)


def offsets_of_a_transaction_were_lost(s: Any) -> Any:
    return handed_over_in_a_transaction(s, **READ)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    began_in_the_middle: {"group-skip": 2},
    began_at_the_log_start: {},
    never_committed: {},
    skipped_what_was_not_committed: {"group-skip": 1},
    started_at_the_end_before_the_first_commit: {},
    committed_beyond_its_polls: {"commit-beyond-polls": 1},
    committed_beyond_its_polls_after_a_failed_reset: {"commit-beyond-polls": 1},
    committed_records_that_it_got_later: {"commit-beyond-polls": 1},
    committed_what_it_had_polled: {"corrupt-record": 3},
    committed_past_an_aborted_record: {"corrupt-record": 1},
    offsets_of_a_transaction_were_pending: {},
    offsets_of_a_transaction_were_lost: {"excess-duplicates": 2, "commit-regression": 1},
}
