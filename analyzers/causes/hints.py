"""What to say about a cause and what to change, by the cause and by the settings that allowed it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from analyzers.causes.circumstance import (
    ABOVE_HIGH_WATERMARK,
    ELIGIBLE_REPLICA,
    FORMER_MEMBER,
    LAST_REPLICA,
    PAUSED_MEMBER,
    UNCLEAN_ELECTION,
)
from analyzers.verdict.cause import Cause, Kind


@dataclass(frozen=True, kw_only=True)
class Hint:
    kind: Kind
    circumstance: str | None = None
    """It applies to causes with this circumstance; None: to all of the kind."""
    setting: tuple[str, str] | None = None
    """Name and value, as the run recorded it; None: whatever the settings are."""
    why: str
    change: str
    """What to try; empty where no setting helps."""
    source: str
    """Where Kafka documents it."""


ACKS = "Kafka documentation, producer configs: acks; topic configs: min.insync.replicas"

HINTS: tuple[Hint, ...] = (
    Hint(
        kind="truncation",
        circumstance=UNCLEAN_ELECTION,
        setting=("unclean.leader.election.enable", "true"),
        why="unclean.leader.election.enable=true lets a replica lead that left the ISR and lacks the last records",
        change="unclean.leader.election.enable=false, the default, with min.insync.replicas=2",
        source="Kafka documentation, topic configs: unclean.leader.election.enable",
    ),
    Hint(
        kind="truncation",
        circumstance=ELIGIBLE_REPLICA,
        setting=("acks", "1"),
        why="acks=1 is answered also below min.insync.replicas, while replicas that left the ISR may become leader",
        change="acks=all: below min.insync.replicas the leader then refuses to acknowledge",
        source="KIP-966: eligible leader replicas",
    ),
    Hint(
        kind="truncation",
        setting=("acks", "1"),
        why="acks=1 is answered before any follower has the record, so the next leader may lack it",
        change="acks=all with min.insync.replicas=2",
        source=ACKS,
    ),
    Hint(
        kind="truncation",
        setting=("acks", "0"),
        why="acks=0 counts as acknowledged when the client has sent it; no broker confirms it",
        change="acks=all with min.insync.replicas=2",
        source=ACKS,
    ),
    Hint(
        kind="truncation",
        circumstance=LAST_REPLICA,
        setting=("min.insync.replicas", "1"),
        why="with min.insync.replicas=1, acks=all is answered while the leader is the only in-sync replica",
        change="min.insync.replicas=2 with three replicas",
        source="Kafka documentation, topic configs: min.insync.replicas; KIP-966 describes the last replica standing",
    ),
    Hint(
        kind="truncation",
        circumstance=UNCLEAN_ELECTION,
        why="the elected broker was not in the ISR, so it lacked what only the ISR had",
        change="unclean.leader.election.enable=false, and no unclean election by hand",
        source="KIP-460 (election types) and topic configs: unclean.leader.election.enable",
    ),
    Hint(
        kind="truncation",
        circumstance=ABOVE_HIGH_WATERMARK,
        why="the old leader acknowledged above its high watermark, so before its in-sync replicas had the records",
        change="acks=all with min.insync.replicas=2",
        source=ACKS,
    ),
    Hint(
        kind="truncation",
        why="a new leader's log decides: followers truncate theirs to where it agrees with that of the leader",
        change="",
        source="KIP-101, KIP-279: truncation by leader epoch",
    ),
    Hint(
        kind="two leaders",
        why="a leader that is cut off answers fetches until it learns of its successor",
        change="readers that need the newest data check the leader epoch; Kafka gives no linearizable reads",
        source="KIP-320: fencing by leader epoch",
    ),
    Hint(
        kind="follower reads",
        why="a rack-aware replica.selector.class lets a consumer with client.rack read from a follower that lags",
        change="leave client.rack unset for clients that have to find the newest writes: they read from the leader",
        source="KIP-392: fetch from followers",
    ),
    Hint(
        kind="duplicate delivery",
        setting=("enable.idempotence", "false"),
        why="without an idempotent producer, a retry after a lost answer appends the record again",
        change="enable.idempotence=true, which requires acks=all",
        source="KIP-98: idempotent producer",
    ),
    Hint(
        kind="duplicate delivery",
        why="the log was not cut, so the records were appended twice; the settings recorded do not say why",
        change="",
        source="KIP-98: idempotent producer",
    ),
    Hint(
        kind="group handover",
        circumstance=FORMER_MEMBER,
        why="a commit without member id and generation does not show the broker that its sender was replaced",
        change="pass the consumer's group metadata to sendOffsetsToTransaction, not only the name of the group",
        source="KIP-447: fencing of group members in transactions",
    ),
    Hint(
        kind="group handover",
        circumstance=PAUSED_MEMBER,
        why="a group goes on without a member that misses session.timeout.ms; the member learns of it only later",
        change="commit in on_partitions_revoked, and treat on_partitions_lost as lost: others own the partition then",
        source="KIP-62 (heartbeats), KIP-429 (onPartitionsLost)",
    ),
    Hint(
        kind="unknown",
        why="no cause is known: no truncation, no second leader and no held group member explains these findings",
        change="",
        source="analyzers.causes",
    ),
)
"""In order of precedence: the first that applies is given."""

SETTINGS: Mapping[Kind, tuple[str, ...]] = {
    "truncation": ("acks", "min.insync.replicas", "unclean.leader.election.enable"),
    "duplicate delivery": ("acks", "enable.idempotence"),
}
"""The settings on which hints for a kind of cause depend."""


def hint_for(cause: Cause, settings: Mapping[str, str]) -> Hint:
    """The first hint that applies. There is one for every kind."""
    return next(each for each in HINTS if _applies(each, cause, settings))


def _applies(hint: Hint, cause: Cause, settings: Mapping[str, str]) -> bool:
    if hint.kind != cause.kind or hint.circumstance not in (None, *cause.circumstances):
        return False
    return hint.setting is None or settings.get(hint.setting[0]) == hint.setting[1]
