"""Facts: the few wide passes over a history that the checks share.

Each is a function of a `History` and has the columns run, topic, partition besides its own. A fact
demands nothing of Kafka; what is promised is said by the checks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame

from analyzers.facts.acknowledgements import acknowledgements
from analyzers.facts.committed_polls import committed_polls
from analyzers.facts.conflicts import conflicts
from analyzers.facts.gaps import gaps
from analyzers.facts.group_commits import group_commits
from analyzers.facts.handovers import handovers
from analyzers.facts.orphans import orphans
from analyzers.facts.ownerships import ownerships
from analyzers.facts.recoveries import recoveries
from analyzers.facts.redeliveries import redeliveries
from analyzers.facts.session_reads import session_reads
from analyzers.facts.session_sends import session_sends
from analyzers.facts.session_writes import session_writes
from analyzers.facts.steps import steps
from analyzers.facts.transactional_writes import transactional_writes
from analyzers.facts.values import values
from analyzers.facts.waits import waits
from analyzers.history.load import History

Fact = Callable[[History], DataFrame]

FACTS: Mapping[str, Fact] = {
    fact.__name__: fact
    for fact in (
        values, conflicts, steps, gaps, acknowledgements,
        session_writes, session_reads, session_sends,
        transactional_writes, committed_polls,
        ownerships, handovers, group_commits, redeliveries, orphans,
        waits, recoveries,
    )
}  # fmt: skip
"""By the name under which a check asks for it."""

USER = "user"
"""Besides kinds of operations (f): some session's sends and polls have an order between them, see `of_users`."""

NEEDS: Mapping[str, str] = {
    "session_writes": "read",
    "session_reads": "read",
    "session_sends": USER,
    "transactional_writes": "txn",
    "committed_polls": "txn",
    "ownerships": "member",
    "handovers": "member",
    "redeliveries": "commit",
    "group_commits": "commit",
    "orphans": "member",
}
"""Fact to the kind of operation without which it has no row that breaks a promise: then it need not be asked for."""
