"""Reset: every TCP connection of a node breaks at once, and new ones can be made right after."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import ClassVar

from nemesis.effects.lease_table import chain, table
from nemesis.faults.fault import Fault, FaultContext, Proof
from nemesis.faults.serving import serving

LASTS = 0.3
"""Seconds for which packets are answered with a reset: connections of a broker are hardly silent for longer."""

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

# Both ends are told: the peer by the answer to its packet, this node when it sends. What is still open then has been
# silent for the whole time, and is closed by the kernel where that is possible.
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

    One that is silent for the whole time may stay, where the kernel cannot be told to close it.
    """

    name: ClassVar[str] = "reset"
    momentary: ClassVar[bool] = True
    down: ClassVar[bool] = False
    needs: ClassVar[frozenset[str]] = frozenset({"nft"})

    def inject(self, context: FaultContext) -> None:
        context.notes["status"], context.notes["output"] = context.process.shell(COMMAND)

    def verify_injected(self, context: FaultContext) -> Proof:
        output = context.notes["output"]
        resets = sum(map(int, re.findall(r"packets (\d+)", output)))
        found = dict(re.findall(r"(open|left) (\d+)", output))
        if context.notes["status"] or len(found) < 2:
            return Proof(False, {"status": context.notes["status"], "output": output})
        were, left = int(found["open"]), int(found["left"])
        return Proof(resets > 0 and left < were, {"resets": resets, "connections": were, "left": left})

    def verify_healed(self, context: FaultContext) -> Proof:
        return serving(context)
