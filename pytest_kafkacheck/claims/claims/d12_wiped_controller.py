"""One of three controllers is cut off, and a topic is created and written. Of the two controllers that know it, one
is killed, and the other one loses its disk and returns. It elects the one that was cut off, which returns as well.
Then everything that has ended is started again.

Exercised: the log of the controller that was cut off lacked committed metadata, which the other one had; something
was removed from the disk of that one, and the first one became the active controller.
"""

from __future__ import annotations

import time
from contextlib import ExitStack

from nemesis.faults.isolate import isolate
from pytest_kafkacheck.claims.claim import Answer, Case, Claim
from pytest_kafkacheck.claims.clusters import CONTROLLERS_APART
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.steps import killed
from pytest_kafkacheck.cluster.kafka import metadata_views

RECORDS = 100

_FIND = "find /k/data -mindepth 1 -maxdepth 1 ! -name lost+found"
WIPE = f"{_FIND} | wc -l; {_FIND} -exec rm -rf {{}} +; {_FIND} | wc -l"
"""Removes everything from a node's disk, and prints how much there was, and how much is left."""


def show(context: ScenarioContext) -> Answer:
    cluster = context.cluster
    active = cluster.controller()
    assert active is not None
    behind, wiped = (node for node in cluster.controllers if node != active)
    kept, topic = context.topic(), ""
    context.write(kept, ["kept"])
    with ExitStack() as away:
        with cluster.fault(isolate(behind)):
            topic = context.topic(config={"min.insync.replicas": 2})
            context.write(topic, (f"v{number}" for number in range(RECORDS)))
            quorum = metadata_views.quorum(cluster.brokers)
            assert quorum is not None
            ends = {node: quorum.ends[node] for node in (behind, wiped)}
            exercised(
                ends[behind] < quorum.high_watermark <= ends[wiped],
                f"the metadata is committed up to {quorum.high_watermark}, controllers have it up to {ends}",
            )
            away.enter_context(killed(context, active))
            with killed(context, wiped):
                status, output = cluster.nodes[wiped].disk.run(WIPE)
            exercised(not status and output.split()[1:] == ["0"] and output[0] != "0", f"wiped: {output}")
        healed = time.monotonic()
        context.require(
            lambda: all(cluster.nodes[node].state() == "stopped" for node in cluster.brokers),
            20,
            "all brokers have ended",
        )
        ended = time.monotonic() - healed
    for node in cluster.brokers:
        cluster.nodes[node].start()
    cluster.wait_settled()
    exercised(cluster.controller() == behind, f"{cluster.controller()} is the controller, not {behind}")
    known = {
        name for node in cluster.brokers for name, _ in metadata_views.metadata(cluster.brokers[node], None)
    }
    is_lost = topic not in known
    return Answer(
        holds=is_lost and kept in known and [*context.read(kept).values()] == ["kept"],
        seen=f"all {len(cluster.brokers)} brokers, which knew more than the new controller, ended themselves; after "
        f"their start the topic was {'gone' if is_lost else 'there'}, with {RECORDS} acknowledged records; an older "
        f"topic was {'there' if kept in known else 'gone'}",
        figures={
            "brokers that ended": len(cluster.brokers),
            "ended after (s)": round(ended, 1),
            "lost": RECORDS if is_lost else 0,
        },
    )


CLAIM = Claim(
    id="D12",
    title="a wiped controller votes",
    text="With static voters a controller votes although it has lost its disk. With one that is behind, it makes up "
    "a quorum that lacks committed metadata: brokers that have it end themselves, and when they return, topics are "
    "gone with their acknowledged records.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-853%3A+KRaft+Controller+Membership+Changes",
    cases=(Case(name="4.1.1 controllers apart", cluster=CONTROLLERS_APART),),
    show=show,
)
