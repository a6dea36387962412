"""Power loss: the process is gone, and so is everything that was not synced to the disk."""

from __future__ import annotations

import re
from dataclasses import dataclass

from nemesis.event import OPEN, Event
from nemesis.fault import Draw, FaultContext, Proof
from nemesis.steps.processes import EndsProcess, end_process, note_process

COUNT = """cd /k/data || exit 1
echo "written $(cat */*.log 2>/dev/null | wc -c)"
[ -z "$DEVICE" ] || for log in */*.log; do echo "stat /$log"; done | debugfs -f - "$DEVICE" 2>/dev/null |
  awk '/^User:/ { size += $NF } END { print "device " size + 0 }'"""
"""Prints how many bytes all logs have for their readers, and how many of them the device has."""


@dataclass(frozen=True, kw_only=True)
class PowerLoss(EndsProcess):
    """The process is stopped, and its disk refuses access, so that nothing more is synced; then it is killed.

    It stops first, because a broker that sees its disk fail reports that to its peers. A loss that destroyed nothing,
    because everything was synced already, was no more than a kill: it is not proved.
    """

    name = "power-loss"
    family = "storage"
    proved_by = (
        "the disk refused access before the kill, and the logs are shorter after it: the evidence has the bytes that "
        "were written, that the device had before, and that are left"
    )
    draw = Draw(least=8.0)
    changes_cluster = True
    destroys_records = True
    needs = frozenset({"disks"})

    def inject(self, context: FaultContext) -> None:
        disk = context.node.disk
        disk.run("true")  # starts the sidecar, for which a stopped process need not wait
        note_process(context)
        if context.notes["before"] == "running":
            context.node.signal("STOP")
        status, output = disk.run(COUNT)
        found = {name: int(size) for name, size in re.findall(r"(written|device) (\d+)", output)}
        if status or "written" not in found:
            raise OSError(f"the logs could not be counted (status {status}): {output.strip()}")
        context.notes |= found
        disk.shut_down()
        # Without this check, a kill alone would look the same.
        status, _ = disk.run("touch /k/data/.probe && rm /k/data/.probe")
        context.notes["refused"] = status != 0
        end_process(context)
        disk.wait_unmounted()

    def verify_injected(self, context: FaultContext) -> Proof:
        proof, is_refused = super().verify_injected(context), context.notes["refused"]
        written, on_device = context.notes["written"], context.notes.get("device")
        evidence = {
            **proof.evidence,
            "access_refused": is_refused,
            "log_bytes_written": written,
            "log_bytes_unflushed": None if on_device is None else written - on_device,
        }
        if not proof.effective or not is_refused:
            return Proof(False, evidence)
        status, output = context.node.disk.run(COUNT)
        left = re.search(r"written (\d+)", output)
        if status or left is None:
            return Proof(False, {**evidence, "log_bytes_left": f"unknown: {output.strip()}"})
        lost = written - int(left[1])
        evidence |= {"log_bytes_left": int(left[1]), "log_bytes_lost": lost}
        if lost <= 0:
            evidence["nothing"] = "nothing unflushed existed: all that the broker had written was on its disk"
        return Proof(lost > 0, evidence)


def power_loss(target: str | int, *, lasting: float = OPEN, at: float = 0, after: str | None = None) -> Event:
    """The process is gone, and so is everything that was not synced to the disk; started again at the end."""
    return Event.of(PowerLoss(), target, at=at, after=after, lasting=lasting)
