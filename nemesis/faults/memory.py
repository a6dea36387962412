"""Memory pressure: the kernel has hardly any memory left to cache files, and must reclaim it all the time.

The heap of a broker grows. With little spare memory it may need more than the limit allows, and then the kernel kills
the broker: on a machine with three busy processes, 8 MiB lasted for less than 8 s in 2 of 3 runs. The pressure was in
force all the same, and the evidence says that it ended in a kill.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

from nemesis.cluster import Node
from nemesis.effects.reconciler import MEMORY, limit_above_use
from nemesis.event import OPEN, Event
from nemesis.fault import Fault, FaultContext, Proof
from nemesis.faults.memory_app import memory_app
from nemesis.steps.serving import verify_serving
from nemesis.targets import names_application
from nemesis.validation import count

LIMIT = 10.0
"""Seconds for the process to run again, if the kernel killed it."""

ATTEMPTS = 5
"""To set a limit. The kernel refuses one below the use, which may grow by more than the spare memory while the limit
is being set: by 9 MiB on a machine with three busy processes."""

FILE = "/tmp/.kafkacheck-pressure"
"""A file that the kernel would cache if it had the memory."""


@dataclass(frozen=True, kw_only=True)
class Memory(Fault):
    """spare_mb: MiB that the node's container may use in addition to what it uses already."""

    spare_mb: int = 8

    name = "memory"
    family = "resources"
    proved_by = (
        "a file larger than the spare memory was written, and use grew by less than half of its size; or the kernel "
        "killed the broker for memory, which the evidence says"
    )
    end_proved_by = "the limit is far above what is in use, and the node serves"
    changes_cluster = True
    takes_nodes_down = False
    needs_process = True
    needs = frozenset({"limits"})

    def __post_init__(self) -> None:
        count("memory spare_mb", self.spare_mb)

    def inject(self, context: FaultContext) -> None:
        for attempt in Retrying(
            retry=retry_if_exception_type(OSError), stop=stop_after_attempt(ATTEMPTS), reraise=True
        ):
            with attempt:
                limit = limit_above_use(context.node, self.spare_mb << 20)
                context.notes["requested"] = True
                context.resources.want(context.event, context.node_id, MEMORY, limit)

    def verify_injected(self, context: FaultContext) -> Proof:
        """Effective when a file larger than the spare memory was written, and use grew by less than half of its size.
        Also when the kernel has killed the process for memory.

        The limit alone is weak proof: a broker's use grows by megabytes while it is set. And in neither version of
        control groups must the kernel count how often it had to reclaim memory.
        """
        try:
            return self._measured(context.node)
        except Exception:  # a container whose process the kernel has killed takes no commands
            if not _is_killed(context.node):
                raise
            return Proof(True, {"killed_for_memory": True})

    def _measured(self, node: Node) -> Proof:
        size = 4 * self.spare_mb << 20
        before, _ = node.memory()
        try:
            status, output = node.execute(f"head -c {size} /dev/zero > {FILE}")
            used, allowed = node.memory()
        finally:
            with contextlib.suppress(Exception):  # the kernel may have killed the process
                node.execute(f"rm -f {FILE}")
        evidence = {
            "bytes_before": before,
            "bytes_written": size,
            "bytes_used": used,
            "bytes_allowed": allowed,
            "said": output.strip(),
        }
        return Proof(status == 0 and used <= allowed and used - before < size // 2, evidence)

    def heal(self, context: FaultContext) -> None:
        with contextlib.suppress(Exception):  # for the evidence only
            context.notes["killed"] = _is_killed(context.node)
        try:
            context.resources.release(context.event, context.node_id, MEMORY)
        finally:
            # Start the process if the kernel killed it and no other fault keeps it down.
            context.processes.release(context.event, context.node_id)

    def verify_healed(self, context: FaultContext) -> Proof:
        if context.resources.wanted(MEMORY, context.node_id) is not None:
            return Proof(True, {"held_by": list(context.others)})
        if (state := context.processes.wanted(context.node_id)) != "running":
            return Proof(True, {"not_checked": f"{', '.join(context.others)} keeps it {state}"})
        if not context.wait_until(lambda: context.node.state() == "running", LIMIT):
            return Proof(False, {"state": context.node.state()})
        used, allowed = context.node.memory()
        evidence = {
            "bytes_used": used,
            "bytes_allowed": allowed,
            "killed_for_memory": context.notes.get("killed", "unknown"),
        }
        if "requested" in context.notes and allowed <= used + 2 * (self.spare_mb << 20):
            return Proof(False, evidence)
        served = verify_serving(context)
        return Proof(served.effective, {**evidence, **served.evidence})


def _is_killed(node: Node) -> bool:
    return node.state() == "stopped" and node.killed_for_memory()


def memory(
    target: str | int, *, lasting: float = OPEN, at: float = 0, after: str | None = None, spare_mb: int = 8
) -> Event:
    """The container may use no more memory than it uses now and ``spare_mb`` MiB. If it needs more, the kernel kills
    the broker, which is started again at the end. Of an application, all processes of an instance.
    """
    if names_application(target):
        return memory_app(str(target), at=at, after=after, lasting=lasting, spare_mb=spare_mb)
    return Event.of(Memory(spare_mb=spare_mb), target, at=at, after=after, lasting=lasting)
