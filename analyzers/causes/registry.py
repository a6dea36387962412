"""All explainers and their kinds of causes, and the anomalies for which no kind has something to change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from analyzers.causes.explainer import CauseKind, Explainer
from analyzers.discovery import declared

EXPLAINERS: tuple[Explainer, ...] = tuple(
    sorted(declared("analyzers.causes.explainers", Explainer), key=lambda each: each.rank)
)
"""In the order in which they are asked."""

KINDS: Mapping[str, CauseKind] = {kind.name: kind for each in EXPLAINERS for kind in each.kinds}
"""By name."""


BROKER: Final = (
    "Only defects of brokers and client libraries are known to cause it: try another release, and report it."
)
COORDINATOR: Final = (
    "Only a coordinator that lost what it had written, or a defect, is known to cause it: its log says which."
)
NOTE: Final = "A note: Kafka does not promise otherwise, so nothing has to be changed."
EVIDENCE: Final = (
    "It says that the evidence is missing or that work is unfinished, not that a promise is broken. The reasons of "
    "the unknown verdict say what to change."
)
BOUND: Final = "The bound is the experiment's own. The availability says how long clients waited, and when."
APPLICATION: Final = "The application decides: its finding says which input, and what its instances did then."

_REASONS: Mapping[str, tuple[str, ...]] = {
    BROKER: (
        "read-above-watermark", "wrong-offset-for-time", "precommitted-read", "G1c-wr", "G1c-realtime",
        "zombie-write", "queue-double-holder", "watermark-above-end", "replica-divergence", "watermark-regression",
        "leader-below-watermark", "replica-below-watermark", "unexplained-log-start", "log-start-regression",
        "acks-below-min-isr", "two-leaders-in-epoch", "leader-outside-isr", "eligible-conflict",
        "metadata-regression", "forgotten-change",
    ),
    COORDINATOR: (
        "transaction-state-regression", "producer-epoch-regression", "group-state-conflict",
        "group-epoch-regression", "queue-redelivery", "queue-delivery-count",
    ),
    NOTE: (
        "int-send-skip", "G0", "G0-realtime", "G1c", "unexplained-rebalance", "position-regression",
        "unclean-truncation",
    ),
    EVIDENCE: (
        "unseen", "stalled-reader", "queue-unfinished", "unprocessed-input", "metadata-disagreement",
        "silent-partition",
    ),
    "A note: Kafka does not promise otherwise. Its sentence names the setting that prevents it.": (
        "added-partition-skip", "added-queue-skip",
    ),
    BOUND: ("unavailable", "slow-recovery", "standstill"),
    APPLICATION: ("wrong-aggregate", "invented-output"),
    "A producer that is missing from the history, or a defect of the broker or of the client library: nothing in a "
    "history tells these apart. Record every producer of the topic.": ("phantom-read",),
    "Another program that writes to the topic, a topic that is not new, or a broker that mixed up its directories: "
    "the record itself tells. A topic of its own for each run excludes the first two.": ("foreign-record",),
    "Damage on a disk or in memory, after the check of the batch: no setting of a topic prevents it.": (
        "corrupt-record",
    ),
    "Releases before 4.0 can decide the next transaction of a producer by a delayed request (KAFKA-17754); "
    "transaction.version=2 prevents it. Whether it was that, or a client library that took an open outcome for a "
    "refusal, the attempts of the send say.": ("G1a",),
    "A value that was used twice, or times of two hosts: examine the recording first.": ("future-read",),
    "Consumers that confirm what they have not processed, and state of the group that was lost, look alike in a "
    "history; so does share.auto.offset.reset=latest, the default, where neither it nor the start of the group is "
    "recorded.": (
        "queue-lost",
    ),
    "Voters that lost their disk, or were started twice; ZooKeeper's data that were restored; elections that "
    "somebody else asked for: the logs of the controllers say which.": (
        "controller-conflict", "controller-regression", "ineligible-leader",
    ),
}  # fmt: skip

EXPLAINED: frozenset[str] = frozenset[str]().union(
    *(kind.explains for kind in KINDS.values() if kind.changes != "unknown")
)
"""The anomalies for which some kind of cause says what has to be changed, or that nothing has."""

WITHOUT: Mapping[str, str] = {
    name: reason for reason, names in _REASONS.items() for name in names if name not in EXPLAINED
}
"""By anomaly."""
