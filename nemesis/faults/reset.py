"""Reset: every TCP connection of a node breaks at once. New ones can be opened right after."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from nemesis.effects.nft import chain, table
from nemesis.event import Event
from nemesis.fault import Draw, Fault, FaultContext, Proof
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
established() {{ ss -Htn state established | awk '{{print $3, $4}}' | sort; }}
resets() {{ awk '$1 == "Tcp:" && ++line == 2 {{ print $9 }}' /proc/net/snmp; }}
before=$(established)
earlier=$(resets)
nft {shlex.quote(RULES)} || exit 1
sleep {LASTS}
nft list table inet {TABLE} | grep -o 'packets [0-9]*'
nft delete table inet {TABLE}
ss -Ktn state established >/dev/null 2>&1
left=$(comm -12 <(printf '%s\n' "$before" | grep .) <(established))
echo "resets $(($(resets) - earlier))"
echo "open $(printf '%s\n' "$before" | grep -c .)"
echo "left $(printf '%s\n' "$left" | grep -c .)"
ss -HtniO state established | awk '{{ print "socket", $3, $4, $0 }}' | grep -F -f <(printf '%s\n' "$left" | grep .)
true
"""


@dataclass(frozen=True, kw_only=True)
class Reset(Fault):
    """Effective when every old connection is gone that was not silent, and the kernel counted resets.

    A connection that is silent for the whole time may stay, where the kernel cannot close it on request. One that a
    program closes at that moment is gone without a reset.
    """

    name = "reset"
    family = "network"
    proved_by = "the old connections are gone, but for silent ones, and the node's kernel counted resets"
    end_proved_by = "the node serves"
    draw = Draw(weight=1)
    momentary = True
    takes_nodes_down = False
    needs_process = True
    needs = frozenset({"nft"})

    def inject(self, context: FaultContext) -> None:
        context.notes["status"], context.notes["output"] = context.node.shell(COMMAND)

    def verify_injected(self, context: FaultContext) -> Proof:
        status, output = context.notes["status"], context.notes["output"]
        counts = {
            name: int(value) for name, value in re.findall(r"^(resets|open|left) (-?\d+)", output, re.M)
        }
        if status or len(counts) < 3:
            return Proof(False, {"status": status, "output": output})
        gone = counts["open"] - counts["left"]
        talking = counts["left"] - sum(map(was_silent, re.findall(r"^socket .*", output, re.M)))
        evidence = {
            "answered_packets": sum(map(int, re.findall(r"^packets (\d+)", output, re.M))),
            "resets": counts["resets"],
            "connections": counts["open"],
            "left": counts["left"],
            "left_and_not_silent": talking,
            "percent": round(100 * gone / counts["open"], 1) if counts["open"] else None,
        }
        return Proof(gone > 0 and counts["resets"] > 0 and not talking, evidence)

    def verify_healed(self, context: FaultContext) -> Proof:
        return verify_serving(context)


def was_silent(line: str) -> bool:
    """Whether a line of ``ss -i`` shows a connection that neither sent nor received while packets were answered.

    ``ss`` leaves out a time of 0 ms.
    """
    last = {name: int(ms) for name, ms in re.findall(r"\b(lastsnd|lastrcv):(\d+)", line)}
    return min(last.get("lastsnd", 0), last.get("lastrcv", 0)) >= LASTS * 1000


def reset(target: str | int, *, at: float = 0, after: str | None = None) -> Event:
    """All TCP connections of the node break; new ones can be opened at once."""
    return Event.of(Reset(), target, at=at, after=after)
