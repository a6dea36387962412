"""What brokers report of partitions, coordinators and the controller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol, get_args

CoordinatorKind = Literal["group", "transaction"]

Moment = Literal["uncommitted-output", "committed-ahead", "open-transaction", "in-flight", "revocation"]
"""Of an instance of an application: an output of it is in the log, and the position behind its input is not
committed; a position is committed, and the output of an input before it is not in the log; outputs of it are in the
log, and their transaction has not ended; any of these; its group rebalances, or takes a partition away from it."""

MOMENTS: tuple[Moment, ...] = get_args(Moment)


class NeverComes(Exception):
    """What is waited for cannot come; the text says why."""


class Elected(NamedTuple):
    """The leader of a partition, or the controller.

    node   its id; None while there is none, or no broker reports it.
    epoch  rises with every election; -1 where no broker reports it.
    of     what the epoch counts for: the id of a topic, which changes when the topic is recreated; "" where there is
           none.
    """

    node: int | None
    epoch: int
    of: str = ""


class View(Protocol):
    """What brokers report of partitions and of the controller."""

    def leader(self, topic: str, partition: int) -> int | None:
        """Node id of the leader with the highest leader epoch that any live broker reports; None for no leader."""

    def replicas(self, topic: str, partition: int) -> tuple[int, ...]:
        """Node ids in assignment order."""

    def isr(self, topic: str, partition: int) -> tuple[int, ...]:
        """Node ids, as reported by the broker with the highest leader epoch."""

    def controller(self) -> int | None:
        """Node id of the active controller."""


class QuickView(View, Protocol):
    """The views of the brokers that answer at once, for looks that are repeated many times a second.

    For one thread. All brokers are asked side by side. A silent one delays a single look, by a fraction of a second.
    """

    def elected_leader(self, topic: str, partition: int) -> Elected: ...

    def elected_controller(self) -> Elected: ...

    def coordinator(self, kind: CoordinatorKind, name: str) -> int | None:
        """Node id of the coordinator of a group or a transactional id."""

    def state(self, kind: CoordinatorKind, name: str) -> str | None:
        """The state of a group, such as Stable, or of a transaction, such as Ongoing, as the coordinator reports it.

        None where it does not answer. Raises NeverComes for a group of another protocol than the classic one.
        """

    def serving_nodes(self) -> Mapping[int, bool]:
        """Whether each broker answers clients, and no broker reports it as fenced. Separate controllers: whether they
        follow the quorum. A node that is silent is missing until its request has failed.
        """

    def close(self) -> None:
        """Close what the looks have opened. It is not used any more."""


@dataclass(frozen=True, kw_only=True)
class Sight:
    """comes: whether the instance is at the moment. seen: what was seen, in words. facts: the same as JSON values."""

    comes: bool
    seen: str
    facts: Mapping[str, object] = field(default_factory=dict)


class InstanceView(Protocol):
    """What brokers report of one instance of an application, with regard to one `Moment`. For one thread."""

    @property
    def seen(self) -> str:
        """At the last wait or look, in words."""

    def wait(self, limit: float) -> bool:
        """Wait until the moment may have come, for `limit` seconds at most. Whether it may. Raises OSError, and
        NeverComes."""

    def look(self) -> Sight:
        """Ask the brokers for everything that decides whether it has come. Raises OSError without an answer."""

    def close(self) -> None: ...
