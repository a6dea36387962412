"""Reset: every TCP connection of a node breaks at once. New ones can be opened right after."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from nemesis.effects.lease_table import chain, table
from nemesis.event import Event
from nemesis.fault import Draw, Fault
from nemesis.fault_context import FaultContext, Proof
from nemesis.steps.serving import verify_serving

LASTS = 0.3
"""Seconds for which packets are answered with a reset. Connections of a broker are hardly silent for longer."""

TABLE = "kafkacheck_reset"

RULES = table(
    TABLE,
    [
        chain(
            "input",
            [
                'iifname "eth0" ip protocol tcp counter reject with tcp reset',
                'iifname "eth0" ip6 nexthdr tcp counter reject with tcp reset',
            ],
        ),
        chain("output", ['oifname "eth0" tcp flags & rst == 0 counter reject with tcp reset']),
    ],
)

# Both ends get a reset: the peer as the answer to its packet, this node when it sends. A connection that is still
# open after that was silent for the whole time; ``ss -K`` closes it where the kernel supports that.
COMMAND = f"""
before=$(ss -Htn state established | awk '{{print $3, $4}}' | sort)
nft {shlex.quote(RULES)} || exit 1
sleep {LASTS}
nft list table inet {TABLE} | grep -o 'packets [0-9]*'
nft delete table inet {TABLE}
ss -Ktn state established >/dev/null 2>&1
after=$(ss -Htn state established | awk '{{print $3, $4}}' | sort)
echo "open $(printf '%s\\n' "$before" | grep -c .)"
echo "left $(comm -12 <(printf '%s\\n' "$before" | grep .) <(printf '%s\\n' "$after" | grep .) | wc -l)"
"""


@dataclass(frozen=True, kw_only=True)
class Reset(Fault):
    """Effective when packets were answered with a reset, and fewer of the old connections are left.

    A connection that is silent for the whole time may stay, where the kernel cannot close it on request.
    """

    name = "reset"
    family = "network"
    proved_by = "packets were answered with a reset, and fewer of the old connections are left"
    draw = Draw(weight=1)
    momentary = True
    takes_nodes_down = False
    needs = frozenset({"nft"})

    def inject(self, context: FaultContext) -> None:
        context.notes["status"], context.notes["output"] = context.node.shell(COMMAND)

    def verify_injected(self, context: FaultContext) -> Proof:
        output = context.notes["output"]
        resets = sum(map(int, re.findall(r"packets (\d+)", output)))
        counts = dict(re.findall(r"(open|left) (\d+)", output))
        if context.notes["status"] or len(counts) < 2:
            return Proof(False, {"status": context.notes["status"], "output": output})
        before, left = int(counts["open"]), int(counts["left"])
        return Proof(resets > 0 and left < before, {"resets": resets, "connections": before, "left": left})

    def verify_healed(self, context: FaultContext) -> Proof:
        return verify_serving(context)


def reset(target: str | int, *, at: float = 0, after: str | None = None) -> Event:
    """All TCP connections of the node break; new ones can be opened at once."""
    return Event.of(Reset(), target, at=at, after=after)
