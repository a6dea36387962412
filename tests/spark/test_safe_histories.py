"""Histories of a correct cluster under faults give no finding.

The same cluster with one promise broken gives the finding of that promise: the histories are able to show it.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from analyzers.history.validate import run_ids
from analyzers.judge.analyze import analyze
from tests.support.miniature.cluster import Cluster
from tests.support.repetitions import repetitions

pytestmark = pytest.mark.spark

HISTORIES = repetitions(200, shorter=22)

REMOVALS = ("expired", "deleted", "compacted", "recreations")

BROKEN = repetitions(8, shorter=1)
"""Histories for each broken promise."""

RARE = {"zombie": 8, "skip": 4, "rewind": 4, "forgotten": 4}
"""Where so few do not show it."""

EXERCISED = {
    "faults": 250, "elections": 200, "truncated": 150, "crashes": 50, "unknown": 50, "aborts": 200,
    "fencings": 12, "rebalances": 200, "removals": 13, "refusals": 5,
    "unmarked": 400, "unended": 15,
    "unstable": 60, "replaced": 6,
    "expired": 100, "deleted": 100, "recreations": 15, "compacted": 100, "searches": 50,
}  # fmt: skip
"""Lower limits for 100 histories together, about half of the expected counts."""

FLAWS = {
    "lost": "lost-write",
    "unreplicated": "read-above-watermark",
    "duplicate": "duplicate",
    "disorder": "int-nonmonotonic-poll",
    "aborted": "G1a",
    "early": "precommitted-read",
    "torn": "torn-transaction",
    "zombie": "zombie-write",
    "unended": "precommitted-read",
    "stale": "read-your-writes",
    "double": "double-ownership",
    "held": "double-ownership",
    "skip": "group-skip",
    "middle": "group-skip",
    "beyond": "commit-beyond-polls",
    "rewind": "excess-duplicates",
    "fenced": "unfenced-commit",
    "stalled": "stalled-reader",
    "expiry": "lost-write",
    "overdelete": "lost-write",
    "revived": "phantom-read",
    "overcompact": "lost-write",
    "misdirected": "wrong-offset-for-time",
    "forgotten": "risen-key",
}
"""Broken promise to the anomaly that must be found."""


def clusters(story: Any, seeds: range, *flaws: str) -> dict[str, Cluster]:
    """Clusters by run id, each after its run."""
    found = {f"{'-'.join(flaws) or 'safe'}-{seed}": Cluster(story(), seed, flaws=flaws) for seed in seeds}
    for cluster in found.values():
        cluster.run()
    return found


def test_safe_histories_give_no_finding(spark: Any, write: Any, story: Any, tmp_path: Path) -> None:
    safe = clusters(story, range(HISTORIES))
    exercised = sum((cluster.counts for cluster in safe.values()), Counter())
    least = {name: count * HISTORIES / 100 for name, count in EXERCISED.items()}
    assert {name: count for name, count in least.items() if exercised[name] < count} == {}, exercised
    home = write(tmp_path / "runs", {run: cluster.story for run, cluster in safe.items()})
    assert run_ids(home) == safe.keys(), (
        "the histories pass the validation of histories that the project writes"
    )
    # A record that was removed before anyone read it makes a verdict unknown, unless this is allowed. Where its
    # acknowledgement gave no offset, nothing tells a removed record from one that no reader got to.
    verdicts = analyze(spark, [home], allow=["expired", "unseen"])
    placed = [
        example
        for verdict in verdicts.values()
        for each in verdict.findings
        for example in each.examples
        if each.anomaly == "unseen" and example["offset"] is not None
    ]
    assert placed == []
    found = {
        run: [
            (each.anomaly, each.count, each.examples[:1])
            for each in verdict.findings
            if each.severity != "note" and each.anomaly not in ("expired", "unseen")
        ]
        for run, verdict in verdicts.items()
    }  # fmt: skip
    assert {run: some for run, some in found.items() if some} == {}
    assert {verdict.unknowns for verdict in verdicts.values()} == {()}
    assert Counter(verdict.result for verdict in verdicts.values()) == {"valid": HISTORIES}
    removing = {run for run, cluster in safe.items() if any(cluster.counts[name] for name in REMOVALS)}
    assert len(removing) > HISTORIES / 4
    unread = {
        run
        for run, verdict in verdicts.items()
        if any(each.anomaly == "expired" for each in verdict.findings)
    }
    assert unread
    assert unread <= removing, "records that nobody read are gone only where the run lets them go"
    coverage = [verdict.exercised for verdict in verdicts.values()]
    assert sum(each.leader_changes for each in coverage) > HISTORIES
    assert all(each.acks and each.polls and each.transactions and each.commits for each in coverage)


@pytest.mark.nightly
def test_each_promise_that_is_broken_is_found(judged: Any, story: Any) -> None:
    broken: dict[str, Cluster] = {}
    for flaw in FLAWS:
        seeds = range(200, 200 + max(BROKEN, RARE.get(flaw, 0)))
        broken |= clusters(story, seeds, flaw)
    verdicts = judged({run: cluster.story for run, cluster in broken.items()})
    found: dict[str, set[str]] = {flaw: set() for flaw in FLAWS}
    for run, verdict in verdicts.items():
        found[run.partition("-")[0]] |= {each.anomaly for each in verdict.findings if each.severity != "note"}
    missed = {flaw: found[flaw] for flaw, anomaly in FLAWS.items() if anomaly not in found[flaw]}
    assert missed == {}
