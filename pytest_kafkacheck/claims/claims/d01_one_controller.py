"""The active controller is killed, then stands still, then is cut off; every broker is asked who it is all the time.

Exercised: after each fault another controller was seen.
"""

from __future__ import annotations

import threading

from nemesis.faults.isolate import isolate
from nemesis.faults.kill import kill
from nemesis.faults.pause import pause
from pytest_kafkacheck.claims.claim import Answer, Case, Claim
from pytest_kafkacheck.claims.clusters import CONTROLLERS_APART
from pytest_kafkacheck.claims.context import ScenarioContext
from workloads.clients import requests

PAUSE = 0.1
"""Seconds between two rounds of questions."""


def show(context: ScenarioContext) -> Answer:
    leaders: dict[int, set[int]] = {}
    went_back, seen, ended = [], dict.fromkeys(context.cluster.brokers, -1), threading.Event()

    def watch(node: int) -> None:
        while not ended.wait(PAUSE):
            try:
                quorum = requests.quorum(context.ask(node))
            except OSError:
                continue
            if quorum is None:
                continue
            leaders.setdefault(quorum.epoch, set()).add(quorum.leader)
            if quorum.epoch < seen[node]:
                went_back.append((node, seen[node], quorum.epoch))
            seen[node] = quorum.epoch

    threads = [threading.Thread(target=watch, args=(node,), daemon=True) for node in seen]
    for thread in threads:
        thread.start()
    times = {}
    try:
        for fault in (kill, pause, isolate):
            before = context.cluster.controller()
            assert before is not None
            with context.cluster.fault(fault(before)):
                times[fault.__name__] = context.require(
                    lambda before=before: context.cluster.controller() not in (None, before),  # type: ignore[misc]
                    20,
                    f"another controller after {fault.__name__}",
                )
            context.cluster.wait_settled()
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    several = [epoch for epoch, nodes in leaders.items() if len(nodes) > 1]
    return Answer(
        holds=not several and not went_back,
        seen=f"{len(leaders)} controller epochs, {len(several)} of them with two controllers; a broker saw an older "
        f"epoch {len(went_back)} times",
        figures={
            "controller epochs": len(leaders),
            **{f"new one after {name} (s)": round(seconds, 1) for name, seconds in times.items()},
        },
    )


CLAIM = Claim(
    id="D1",
    title="one active controller",
    text="There is at most one active controller in each epoch, and the epoch only grows, however a "
    "controller fails.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-595%3A+A+Raft+Protocol+for+the+Metadata+Quorum",
    cases=(Case(name="4.1.1 controllers apart", cluster=CONTROLLERS_APART),),
    show=show,
)
