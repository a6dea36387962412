"""A member in another process ends, first by SIGTERM and then by SIGKILL; its partition has to move to the member
here.

Exercised: both members had a partition each time.
"""

from __future__ import annotations

import time

from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.members import HEARTBEAT, SESSION


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(context.brokers, context.brokers)
    group = f"{topic}-group"
    member = context.member(group, topic)
    context.require(lambda: len(member.partitions) == 2, 20, "the first member has both partitions")
    noticed = {}
    for name in ("leave", "crash"):
        process = context.member_process(group, topic)
        context.require(lambda: len(member.partitions) == 1, 30, "both members have a partition")
        # The other one has to have its assignment, too, and a heartbeat behind it.
        context.wait(lambda: False, 2 * HEARTBEAT)
        began = time.monotonic()
        if name == "leave":
            process.terminate()
        else:
            process.kill()
        context.require(lambda: len(member.partitions) == 2, 30, f"the partitions move after a {name}")
        noticed[name] = time.monotonic() - began
        process.wait()
    return Answer(
        holds=noticed["leave"] < SESSION - HEARTBEAT
        and SESSION - HEARTBEAT <= noticed["crash"] < 2 * SESSION,
        seen=f"the partition moved {noticed['leave']:.1f} s after the member had left, and {noticed['crash']:.1f} s "
        f"after the crash; session.timeout.ms is {SESSION:g} s",
        figures={
            "after a leave (s)": round(noticed["leave"], 1),
            "after a crash (s)": round(noticed["crash"], 1),
            "session timeout (s)": SESSION,
        },
    )


CLAIM = Claim(
    id="F4",
    title="leaving and crashing",
    text="A member that closes leaves its group, which is noticed at once. A crash is noticed after "
    "session.timeout.ms.",
    source="https://kafka.apache.org/documentation/#consumerconfigs_session.timeout.ms",
    cases=CURRENT,
    show=show,
)
