"""What a workload declares about itself, as one value: which checks judge it, what it needs of the brokers, which
anomalies it allows, and why.

`Workload.allowed` and `Workload.least_release` follow from it, and so do the tables of docs/workloads.md and the
names of ``kafkacheck workload`` (see docs/generate).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

Applies = Callable[[Any], bool]
"""Whether something is true of a workload, which has the fields of its class."""


def always(_: Any) -> bool:
    return True


def never(_: Any) -> bool:
    return False


@dataclass(frozen=True, kw_only=True)
class Need:
    """What a workload needs of the brokers beyond Kafka's defaults.

    what     in words; Markdown.
    why      the reason, or what is so without it; Markdown.
    release  the first release of Kafka that has it, such as (4, 0). Earlier ones are refused before a run starts.
    when     which configurations need it, in words; empty for all.
    applies  whether a workload is one of these.
    """

    what: str
    why: str
    release: tuple[int, int] = (0, 0)
    when: str = ""
    applies: Applies = always


@dataclass(frozen=True, kw_only=True)
class Allowed:
    """Anomalies that a workload does not promise to prevent: they are reported, and the run stays valid.

    anomalies  their names (docs/anomalies.md).
    why        Markdown.
    when       which configurations allow them, in words; empty for all.
    applies    whether a workload is one of these.
    """

    anomalies: tuple[str, ...]
    why: str
    when: str = ""
    applies: Applies = always


@dataclass(frozen=True, kw_only=True)
class Uses:
    """What a workload uses of its client library. A client process states what it is capable of
    (docs/client_protocol.md); one that lacks something is refused before a run starts.

    capability  its name in the protocol.
    applies     whether a workload uses it.
    """

    capability: str
    applies: Applies = always


def uses(*capabilities: str, applies: Applies = always) -> tuple[Uses, ...]:
    return tuple(Uses(capability=each, applies=applies) for each in capabilities)


def assignor_uses() -> tuple[Uses, ...]:
    """Of a workload whose members share partitions by its field `assignor`."""
    return tuple(
        Uses(capability=f"assignor-{name}", applies=partial(_assigns_by, name))
        for name in ("range", "roundrobin", "sticky", "cooperative-sticky")
    )


def _assigns_by(name: str, workload: Any) -> bool:
    # The brokers decide with another protocol.
    return getattr(workload, "protocol", "classic") == "classic" and bool(workload.assignor == name)


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What a workload says about itself. The defaults are those of a workload that promises everything.

    name       on the command line; empty for a workload that is not there.
    does       what its clients do, in one sentence without a full stop; Markdown.
    page       where it is described, as a link within docs.
    judged_by  names of families of anomalies, and of single ones, that it is about. All checks that find rows to
               judge apply, whatever it says.
    uses       what it uses of its client library.
    example    values of the fields that have no default, for the documents.
    deletes_records  whether its clients delete records. What only a deletion could excuse is judged live without.
    fixed_partitions  why its clients go on with the partitions that a topic was created with; Markdown. Empty: they
               also use those that are added during a run.
    """

    name: str = ""
    does: str = ""
    page: str = ""
    judged_by: tuple[str, ...] = ()
    needs: tuple[Need, ...] = ()
    allows: tuple[Allowed, ...] = ()
    uses: tuple[Uses, ...] = ()
    example: Mapping[str, Any] = field(default_factory=dict)
    deletes_records: Applies = never
    fixed_partitions: str = ""

    def allowed(self, workload: Any) -> frozenset[str]:
        """Names of the anomalies that this configuration allows."""
        return frozenset(name for each in self.allows if each.applies(workload) for name in each.anomalies)

    def capabilities(self, workload: Any) -> frozenset[str]:
        """What this configuration uses of its client library."""
        return frozenset(each.capability for each in self.uses if each.applies(workload))

    def least_release(self, workload: Any) -> tuple[int, int]:
        """The first release of Kafka that has all that this configuration needs; (0, 0) for any."""
        return max((each.release for each in self.needs if each.applies(workload)), default=(0, 0))


def declaration_of(workload: Any) -> Declaration:
    """Also of a workload that does not inherit from `Workload`, and need not have one."""
    found: Declaration = getattr(type(workload), "declaration", Declaration())
    return found
