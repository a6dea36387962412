"""What a member that was killed has left: the records that another one may have to handle again."""

from __future__ import annotations

from pytest_kafkacheck.claims.handling import Line, uncommitted


def lines(text: str) -> list[Line]:
    """Such as "h0:3 c0:4 l": handled 3 of partition 0, committed 4 there, lost all partitions."""
    kinds = {"h": "handled", "c": "committed", "l": "lost"}
    found = []
    for word in text.split():
        partition, _, offset = word[1:].partition(":")
        found.append(Line(kinds[word[0]], int(partition or -1), int(offset or -1)))  # type: ignore[arg-type]
    return found


def test_what_was_handled_after_the_last_commit_counts_at_the_end() -> None:
    assert uncommitted(lines("h0:0 h0:1 c0:2 h0:2 h0:3")) == 2


def test_a_commit_covers_its_partition_only() -> None:
    assert uncommitted(lines("h0:0 h1:0 c0:1")) == 1


def test_each_loss_counts_and_a_commit_after_it_does_not_help() -> None:
    assert uncommitted(lines("h0:0 h0:1 l c0:2 h0:0 h0:1 c0:2")) == 2


def test_nothing_handled_is_nothing_left() -> None:
    assert uncommitted([]) == uncommitted(lines("l l")) == 0
