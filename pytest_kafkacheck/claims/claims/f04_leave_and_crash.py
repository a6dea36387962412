"""A member in another process ends, first by SIGTERM and then by SIGKILL; its partition has to move to the member
here.

Exercised: both members had a partition each time.
"""

from __future__ import annotations

import time

from pytest_kafkacheck.claims import timeline
from pytest_kafkacheck.claims.claim import Answer, Claim, Picture
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.members import HEARTBEAT, SESSION, Member
from pytest_kafkacheck.report.lane import Group, Row, Strip

BEFORE, AFTER = 1.0, 6.0
"""Seconds of the picture around the end of the member."""


def show(context: ScenarioContext) -> Answer:
    topic = context.topic(context.brokers, context.brokers)
    group = f"{topic}-group"
    member = context.member(group, topic)
    context.require(lambda: len(member.partitions) == 2, 20, "the first member has both partitions")
    noticed, groups = {}, []
    writer = context.writer(topic, partitions=2)
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
        context.wait(lambda end=began + AFTER: time.monotonic() > end, AFTER)  # type: ignore[misc]
        groups.append(_group(name, member, timeline.Window(began - BEFORE, began + AFTER)))
        process.wait()
    writer.stop()
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
        picture=Picture(groups=tuple(groups), span=round((BEFORE + AFTER) * 1000)),
    )


def _group(name: str, member: Member, window: timeline.Window) -> Group:
    rows = tuple(
        Row(
            name=f"reads partition {number}",
            spans=timeline.bursts(
                [at for at, partition, _ in member.consumed if partition == number], window, pause=0.3
            ),
        )
        for number in range(2)
    )
    title = {"leave": "The other member leaves", "crash": "The other member crashes"}[name]
    return Group(title=f"{title} at {BEFORE:g} s", lanes=(Strip(title="", about="", rows=rows),))


CLAIM = Claim(
    id="F4",
    title="leaving and crashing",
    text="A member that closes leaves its group, which is noticed at once. A crash is noticed after "
    "session.timeout.ms.",
    source="https://kafka.apache.org/documentation/#consumerconfigs_session.timeout.ms",
    cases=CURRENT,
    show=show,
)
